from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    GaussianEvent,
    GuaranteeMismatchError,
    NotPricedError,
    ParameterError,
    PureDP,
    RenyiDP,
    ReplaceOne,
)
from celosia.ledger import Policy, Scope, Window, open_ledger
from celosia.ledger.budgets.opening import applies_to_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger

    Make = Callable[[Exact], Event]
    Fork = Callable[[Callable[[], None]], int]

DEATHS = Scope(dataset="deaths")


def test_a_limit_can_be_raised_and_lowered(ledger: Ledger, event: Make) -> None:
    ledger.reserve(event("0.6"), dataset="deaths")
    ledger.set_budget(PureDP(epsilon="0.5"), dataset="deaths")
    account = ledger.account("deaths")
    assert (account.spent, account.remaining) == (PureDP(epsilon="0.6"), PureDP(epsilon=0))
    for cost in (0, "1e-9"):  # below what was spent nothing fits, not even what costs nothing
        with pytest.raises(BudgetExceededError):
            ledger.reserve(event(cost), dataset="deaths")
    ledger.set_budget(PureDP(epsilon=2), dataset="deaths")
    assert account.remaining == PureDP(epsilon="1.4")
    assert ledger.budgets == {DEATHS: Policy(limit=PureDP(epsilon=2))}
    assert ledger.verify().ok


def test_the_same_budget_again_writes_nothing(ledger: Ledger) -> None:
    before = ledger.head
    ledger.set_budget(Policy(limit=PureDP(epsilon=1)), dataset="deaths")
    assert ledger.head == before


def test_the_log_says_who_set_a_budget(ledger: Ledger) -> None:
    ledger.set_budget(PureDP(epsilon=1), analyst="ana", by="curator-1")
    assert [line.body["by"] for line in ledger.entries() if line.kind == "budget"] == ["owner", "curator-1"]
    for by in ("", None, 7):
        with pytest.raises(ParameterError, match="by must be a text"):
            ledger.set_budget(PureDP(epsilon=2), analyst="ana", by=by)  # type: ignore[arg-type]


def test_the_accountant_stays_once_something_was_spent(ledger: Ledger, event: Make) -> None:
    approx = ApproxDP(epsilon=1, delta="1e-6")
    ledger.set_budget(approx, dataset="deaths")
    ledger.set_budget(Policy(limit=approx, accountant="zcdp"), dataset="deaths")  # nothing was spent yet
    ledger.reserve(event("0.1"), dataset="deaths")
    for other in (approx, ZCDP(rho=1), Policy(limit=approx, accountant="renyi"), PureDP(epsilon=1)):
        if other == ZCDP(rho=1):
            ledger.set_budget(other, dataset="deaths")  # rho is still what is added up
            continue
        with pytest.raises(ParameterError, match="something was spent under 'zcdp', which therefore stays"):
            ledger.set_budget(other, dataset="deaths")


def test_the_orders_of_a_curve_stay_too(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(RenyiDP(orders=(2, 8), epsilons=(1, 4)), dataset="curve")
    ledger.reserve(event("0.1"), dataset="curve")
    ledger.set_budget(RenyiDP(orders=(2, 8), epsilons=(2, 8)), dataset="curve")
    for other in (
        RenyiDP(orders=(2, 16), epsilons=(2, 8)),
        Policy(limit=ApproxDP(epsilon=1, delta="1e-6"), accountant="renyi"),
    ):
        with pytest.raises(ParameterError, match="stays"):
            ledger.set_budget(other, dataset="curve")


def test_a_scope_is_charged_with_what_was_spent_before_it_had_a_budget(ledger: Ledger, event: Make) -> None:
    ledger.reserve(event("0.4"), dataset="deaths", analyst="ana")
    ledger.set_budget(PureDP(epsilon="0.5"), analyst="ana")
    with pytest.raises(BudgetExceededError, match="analyst 'ana'"):
        ledger.reserve(event("0.2"), dataset="deaths", analyst="ana")


def test_a_budget_under_which_the_past_has_no_price_is_refused(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(ZCDP(rho=1), dataset="rho")
    ledger.reserve(GaussianEvent(variance=100, sensitivity_squared=1), dataset="rho", analyst="ana")
    before = ledger.head
    with pytest.raises(NotPricedError):
        ledger.set_budget(PureDP(epsilon=1), analyst="ana")
    ledger.reserve(event("0.1"), dataset="deaths", analyst="eve")
    for limit in (PureDP(epsilon=1, unit="person"), PureDP(epsilon=1, adjacency=ReplaceOne)):
        with pytest.raises(GuaranteeMismatchError):
            ledger.set_budget(limit, analyst="eve")
        with pytest.raises(GuaranteeMismatchError):
            ledger.set_budget(limit, dataset="deaths")
    assert ledger.head.sequence == before.sequence + 1


def test_budgets_are_guarantees_or_policies(ledger: Ledger) -> None:
    cases: list[Any] = [None, 1, "1", {"epsilon": 1}]
    for limit in cases:
        with pytest.raises(ParameterError, match="limit must be a guarantee"):
            ledger.set_budget(limit, dataset="deaths")
        with pytest.raises(ParameterError, match="give dataset or analyst"):
            ledger.set_budget(PureDP(epsilon=1))


def test_windows_come_and_go(ledger: Ledger) -> None:
    hourly = Policy(limit=PureDP(epsilon=1), window=Window(seconds=3600, limit=PureDP(epsilon="0.1")))
    ledger.set_budget(hourly, dataset="deaths")
    assert ledger.statement()[0].window_remaining == PureDP(epsilon="0.1")
    narrower = Policy(limit=PureDP(epsilon=1), window=Window(seconds=3600, limit=PureDP(epsilon="0.01")))
    ledger.set_budget(narrower, dataset="deaths")  # a window that is being watched follows at once
    assert ledger.statement()[0].window_remaining == PureDP(epsilon="0.01")
    ledger.set_budget(PureDP(epsilon=1), dataset="deaths")
    assert ledger.statement()[0].window_remaining is None


def test_what_bears_on_a_question() -> None:
    assert applies_to_query(DEATHS, None, None)
    assert applies_to_query(Scope(dataset="deaths", analyst="ana"), "deaths", "ana")
    assert not applies_to_query(Scope(dataset="deaths", analyst="ana"), "deaths", "eve")
    assert not applies_to_query(DEATHS, "births", None)


def test_the_first_budget_stands_and_all_are_told_which_it_is(shared: str, forked: Fork) -> None:
    begin_read, begin_write = os.pipe()
    told_read, told_write = os.pipe()

    def work(number: int) -> None:
        with open_ledger(shared) as mine:
            os.read(begin_read, 1)
            policy = mine.open_budget(PureDP(epsilon=number), dataset="deaths")
            os.write(told_write, f"{policy.limit}\n".encode())

    open_ledger(shared).close()
    children = [forked(lambda number=number: work(number)) for number in range(1, 9)]  # type: ignore[misc]
    os.write(begin_write, b"." * 8)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    for end in (told_write, begin_read, begin_write):
        os.close(end)
    with os.fdopen(told_read) as told, open_ledger(shared) as opened:
        assert list(told) == [f"{opened.budgets[DEATHS].limit}\n"] * 8
        assert [line.kind for line in opened.entries()] == ["opened", "budget"]
        assert opened.verify().ok


def test_threads_that_open_a_budget_in_memory_find_one() -> None:
    start = threading.Barrier(8)
    with open_ledger("memory://") as opened, ThreadPoolExecutor(8) as pool:

        def work(number: int) -> Policy:
            start.wait()
            return opened.open_budget(PureDP(epsilon=number), dataset="deaths")

        assert set(pool.map(work, range(1, 9))) == {opened.budgets[DEATHS]}
        opened.set_budget(PureDP(epsilon=100), dataset="deaths")  # an owner who means it changes it
        assert opened.open_budget(PureDP(epsilon=1), dataset="deaths").limit == PureDP(epsilon=100)
