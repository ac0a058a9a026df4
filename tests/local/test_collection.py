from __future__ import annotations

from typing import Any

import pytest

from celosia.core import (
    ApproxDP,
    BudgetExceededError,
    EngineError,
    GuaranteeMismatchError,
    ParameterError,
    PureDP,
    ReplaceOne,
)
from celosia.ledger import InMemoryBudget, Ledger, open_ledger
from celosia.local import LOLOHA, DirectEncoding, collect

PROTOCOL = DirectEncoding(domain=4, epsilon=1)


def open_phones(epsilon: int = 3) -> Ledger:
    ledger = open_ledger("memory://")
    ledger.set_budget(PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit="person"), dataset="phones")
    return ledger


def test_a_collection_is_paid_for_once_however_many_report() -> None:
    with open_phones() as ledger:
        with collect(PROTOCOL, budget=ledger.account("phones", "ana")) as aggregate:
            assert [one.state for one in ledger.reservations()] == ["reserved"]  # before the first report
            aggregate.absorb_all(PROTOCOL.batches([0, 1, 2, 3] * 50, size=20))
        assert aggregate.reports == 200
        [reservation] = ledger.reservations()
        assert (reservation.state, reservation.kind, reservation.analyst) == ("committed", "local", "ana")
        assert (reservation.event, reservation.question) == (PROTOCOL.event, "DirectEncoding")
        assert ledger.account("phones").spent == PROTOCOL.guarantee
        assert ledger.verify().ok


def test_several_reports_of_a_person_cost_their_event() -> None:
    memoised = LOLOHA(domain=100, epsilon="0.5", epsilon_infinity=1, g=2)
    with open_phones(epsilon=20) as ledger:
        account = ledger.account("phones")
        with collect(PROTOCOL, budget=account, event=PROTOCOL.lifetime(2), question="two days"):
            pass
        year = memoised.plain_lifetime(10, values=1)
        with collect(memoised, budget=account, event=year):
            pass
        assert [one.question for one in account.history] == ["two days", "LOLOHA"]
        [total] = ledger.statement()[0].kinds or ()
        assert (total.kind, total.releases) == ("local", 2)
        assert total.cost == PROTOCOL.guarantee + PROTOCOL.guarantee + account.cost(year)


def test_a_collection_that_is_not_paid_for_does_not_begin() -> None:
    begun: list[Any] = []
    with open_phones() as ledger:
        ledger.set_budget(ApproxDP(epsilon=1, delta="1e-6"), dataset="rows")
        account, head = ledger.account("phones"), ledger.head
        for wrong, budget, error in [
            (DirectEncoding(domain=4, epsilon=4), account, BudgetExceededError),
            (PROTOCOL, ledger.account("rows"), GuaranteeMismatchError),
            (PROTOCOL, PureDP(epsilon=3), ParameterError),
            ("rappor", account, ParameterError),
        ]:
            one: Any = wrong
            with pytest.raises(error), collect(one, budget=budget) as aggregate:
                begun.append(aggregate)
        assert ledger.head == head
    assert begun == []


def test_a_failed_collection_stays_paid_for() -> None:
    own = InMemoryBudget(PureDP(epsilon=3, adjacency=ReplaceOne, unit="person"))
    with open_phones() as ledger:
        for account in (ledger.account("phones"), own):
            with pytest.raises(EngineError, match="The collection failed") as caught, collect(PROTOCOL, budget=account):
                raise RuntimeError("a report of Ana")
            assert "Ana" not in str(caught.value)
            assert caught.value.__context__ is None
            assert account.history[0].state == "failed"
            assert account.spent == PROTOCOL.guarantee
