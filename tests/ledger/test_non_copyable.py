"""What keeps a budget is never two."""

from __future__ import annotations

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, clone

import celosia as cl
from celosia.core.errors import BudgetExceededError, CelosiaError, ParameterError
from celosia.ledger import Account, InMemoryBudget, Ledger
from celosia.ledger.non_copyable import NonCopyable

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT = cl.mechanisms.Laplace(epsilon="0.6", sensitivity=1).event


def in_memory() -> InMemoryBudget:
    return InMemoryBudget(cl.PureDP(epsilon=1))


def ledger() -> Ledger:
    opened: Ledger = cl.open_ledger("memory://")
    opened.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    return opened


def account() -> Account:
    return ledger().account("deaths")


def session() -> cl.Session:
    deaths = cl.table(pa.table({"age": [34, 71]}), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    return cl.Session(deaths, budget=cl.PureDP(epsilon=1))


def session_on_ledger() -> cl.Session:
    deaths = cl.table(pa.table({"age": [34, 71]}), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    return cl.Session(deaths, ledger=ledger())


KEEPERS = [in_memory, ledger, account, session, session_on_ledger]


class Learner(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """An estimator with a budget among its parameters."""

    def __init__(self, *, budget: object = None) -> None:
        self.budget = budget


@pytest.mark.parametrize("made", KEEPERS)
def test_a_copy_is_the_thing_itself(made: Callable[[], Any]) -> None:
    keeper = made()
    assert isinstance(keeper, NonCopyable)
    assert copy.copy(keeper) is keeper
    assert copy.deepcopy(keeper) is keeper
    assert copy.deepcopy({"budget": [keeper]})["budget"][0] is keeper


def test_it_cannot_be_sent_elsewhere() -> None:
    for made in KEEPERS:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            keeper = made()
            with pytest.raises(ParameterError, match="cannot be sent to another process") as refused:
                pickle.dumps(keeper, protocol=protocol)
            assert isinstance(refused.value, CelosiaError)
            assert type(keeper).__name__ in str(refused.value)
            with pytest.raises(ParameterError):
                pickle.Pickler(io.BytesIO(), protocol).dump([keeper])


@pytest.mark.parametrize("made", KEEPERS)
def test_clones_of_an_estimator_share_it(made: Callable[[], Any]) -> None:
    keeper = made()
    assert clone(clone(Learner(budget=keeper))).budget is keeper


def test_what_a_copy_spends_the_original_has_spent() -> None:
    cases: list[Callable[[], Any]] = [in_memory, account]
    for made in cases:
        keeper = made()
        copy.deepcopy(keeper).reserve(EVENT, question="How many?")
        assert keeper.remaining == cl.PureDP(epsilon="0.4")
        with pytest.raises(BudgetExceededError):
            copy.deepcopy(keeper).reserve(EVENT, question="How many?")


def test_threads_with_copies_spend_once() -> None:
    keeper = in_memory()

    def spend(_: int) -> bool:
        try:
            copy.deepcopy(keeper).reserve(EVENT, question="How many?")
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(8))) == 1


def test_a_session_for_another_analyst_is_another_session() -> None:
    first = session_on_ledger()
    second = first.for_analyst("ana")
    assert second is not first
    assert second.for_analyst(None) is not second
    second.query().count().release(epsilon="0.1")
    assert first.spent == cl.PureDP(epsilon="0.1")
    assert (len(first.history), len(second.history)) == (0, 1)
