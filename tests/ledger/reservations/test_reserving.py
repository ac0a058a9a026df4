from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core import (
    ZCDP,
    BudgetExceededError,
    ComposedEvent,
    Event,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    ParameterError,
    PostProcessedEvent,
    PureDP,
    ReplaceOne,
)
from celosia.ledger import Ledger, Policy, Request, Window, open_ledger
from celosia.ledger.reservations.reserving import SpendRequest, draw_id, price_under

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Release
    from celosia.core.exact import Exact

    Make = Callable[[Exact], Event]
    Answer = Callable[[Event], Release[int]]

LAPLACE = LaplaceEvent(scale=10, sensitivity=1)


def spent(ledger: Ledger) -> dict[tuple[str | None, str | None], Any]:
    return {
        (line.scope.dataset, line.scope.analyst): getattr(line.spent, "epsilon", None) for line in ledger.statement()
    }


def test_every_scope_must_have_room(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon="0.5"), analyst="ana")
    ledger.set_budget(PureDP(epsilon="0.3"), dataset="deaths", analyst="ana")
    ledger.reserve(event("0.3"), dataset="deaths", analyst="ana")
    before = ledger.head
    with pytest.raises(
        BudgetExceededError, match=r"PureDP\(epsilon='0.1'\), and analyst 'ana' on data set 'deaths' has"
    ):
        ledger.reserve(event("0.1"), dataset="deaths", analyst="ana")
    ledger.set_budget(PureDP(epsilon=1), dataset="births")
    ledger.reserve(event("0.2"), dataset="births", analyst="ana")
    with pytest.raises(BudgetExceededError, match=r"and analyst 'ana' has PureDP.* left: it is used up"):
        ledger.reserve(event("0.1"), dataset="births", analyst="ana")
    ledger.reserve(event("0.7"), dataset="deaths", analyst="eve")
    with pytest.raises(BudgetExceededError, match="data set 'deaths' has"):
        ledger.reserve(event("0.1"), dataset="deaths")
    assert ledger.head.sequence == before.sequence + 3
    with pytest.raises(BudgetExceededError, match=r"ask for an epsilon of at most 0\.8, or ask the owner"):
        ledger.reserve(event("0.9"), dataset="births")


def test_an_answer_that_was_given_costs_the_data_set_nothing_and_an_analyst_once(
    ledger: Ledger, event: Make, release: Answer
) -> None:
    for name in ("ana", "eve"):
        ledger.set_budget(PureDP(epsilon=1), analyst=name)
        ledger.set_budget(PureDP(epsilon=1), dataset="deaths", analyst=name)
    tenth = event("0.1")
    first = ledger.reserve(tenth, dataset="deaths", analyst="ana", fingerprint="f")
    assert ledger.reserve(
        tenth, dataset="deaths", analyst="ana", fingerprint="f"
    ).fresh  # not answered yet: both are paid
    ledger.commit(first, release(tenth), text="42")
    half = spent(ledger)
    assert half["deaths", None] == half[None, "ana"] == tenth.guarantee.epsilon * 2  # type: ignore[attr-defined]
    again = ledger.reserve(tenth, dataset="deaths", analyst="ana", fingerprint="f")
    assert (again.state, again.answer, again.fresh) == ("repeated", "42", False)
    assert again.id != first.id
    assert spent(ledger) == half
    for _ in range(3):
        other = ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f")
        assert (other.state, other.answer) == ("repeated", "42")
    assert ledger.reserve(tenth, dataset="deaths", fingerprint="f").answer == "42"  # the owner has nothing to pay from
    after = spent(ledger)
    assert after["deaths", None] == half["deaths", None]
    assert after[None, "ana"] == half[None, "ana"]
    assert after[None, "eve"] == after["deaths", "eve"] == tenth.guarantee.epsilon  # type: ignore[attr-defined]
    assert ledger.verify().ok


def test_who_cannot_pay_for_a_stored_answer_does_not_get_it(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    ledger.commit(ledger.reserve(tenth, dataset="deaths", fingerprint="f"), release(tenth), text="42")
    ledger.set_budget(PureDP(epsilon="0.05"), analyst="eve")
    with pytest.raises(BudgetExceededError, match="analyst 'eve'"):
        ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f")
    ledger.set_budget(PureDP(epsilon="0.1"), dataset="deaths")  # the data set is used up, its answers are not
    with pytest.raises(BudgetExceededError, match="data set 'deaths'"):
        ledger.reserve(tenth, dataset="deaths", fingerprint="g")
    assert ledger.reserve(tenth, dataset="deaths", analyst="bob", fingerprint="f").answer == "42"


def test_an_answer_is_repeated_only_to_the_same_question(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    ledger.set_budget(PureDP(epsilon=1), dataset="births")
    one = ledger.reserve(tenth, dataset="deaths", fingerprint="f")
    ledger.commit(one, release(tenth), text="42")
    assert ledger.reserve(tenth, dataset="births", fingerprint="f").fresh
    assert ledger.reserve(tenth, dataset="deaths").fresh
    assert ledger.reserve(event("0.2"), dataset="deaths", fingerprint="f").fresh  # a fingerprint that knows too little
    failed = ledger.reserve(tenth, dataset="deaths", fingerprint="g")
    ledger.fail(failed)
    assert ledger.reserve(tenth, dataset="deaths", fingerprint="g").fresh


def test_an_analyst_who_paid_for_one_of_two_answers_gets_that_one(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    both = [ledger.reserve(tenth, dataset="deaths", analyst=name, fingerprint="f") for name in ("ana", "eve")]
    ledger.commit(both[0], release(tenth), text="ana's")
    ledger.commit(both[1], release(tenth), text="eve's")
    ledger.set_budget(PureDP(epsilon="0.1"), analyst="eve")
    assert ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f").answer == "eve's"
    assert ledger.reserve(tenth, dataset="deaths", analyst="ana", fingerprint="f").answer == "ana's"
    assert ledger.reserve(tenth, dataset="deaths", analyst="bob", fingerprint="f").answer == "ana's"
    assert ledger.verify().ok


def test_a_repeated_answer_has_its_request(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    ledger.set_budget(PureDP(epsilon=1), analyst="eve")
    ledger.commit(ledger.reserve(tenth, dataset="deaths", fingerprint="f"), release(tenth), text="42")
    request = Request(key="k", digest="d")
    first = ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f", request=request)
    again = ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f", request=request)
    assert (first.id, first.answer, first.state) == (again.id, again.answer, again.state)
    assert spent(ledger)[None, "eve"] == tenth.guarantee.epsilon  # type: ignore[attr-defined]


def test_windows_close_and_open_again(event: Make) -> None:
    now = [datetime(2026, 1, 1, 23, 59, tzinfo=UTC)]
    with open_ledger("memory://", clock=lambda: now[0]) as ledger:
        daily = Window(seconds=86_400, limit=PureDP(epsilon=1))
        ledger.set_budget(Policy(limit=PureDP(epsilon="2.5"), window=daily), dataset="deaths")
        ledger.reserve(event(1), dataset="deaths")
        with pytest.raises(
            BudgetExceededError, match=r"left until 2026-01-02 00:00 UTC: it is used up, so ask .*, or wait"
        ):
            ledger.reserve(event("0.1"), dataset="deaths")
        assert not ledger.account("deaths").admits(event("0.1"))
        now[0] += timedelta(minutes=1)
        assert ledger.account("deaths").admits(event("0.1"))
        ledger.reserve(event(1), dataset="deaths")
        now[0] -= timedelta(hours=2)  # the clock goes back: the window does not
        with pytest.raises(BudgetExceededError, match="until 2026-01-03"):
            ledger.reserve(event("0.1"), dataset="deaths")
        now[0] += timedelta(days=365)
        with pytest.raises(BudgetExceededError, match=r"has PureDP\(epsilon=0.5\) left: ask"):  # the limit for good
            ledger.reserve(event("0.6"), dataset="deaths")
        ledger.reserve(event("0.5"), dataset="deaths")
        assert ledger.verify().ok


def test_a_window_that_is_set_later_counts_what_was_spent_in_it(event: Make) -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    with open_ledger("memory://", clock=lambda: now) as ledger:
        ledger.set_budget(PureDP(epsilon=10), dataset="deaths")
        ledger.reserve(event(1), dataset="deaths")
        daily = Window(seconds=86_400, limit=PureDP(epsilon="1.5"))
        ledger.set_budget(Policy(limit=PureDP(epsilon=10), window=daily), dataset="deaths")
        assert ledger.statement()[0].window_spent == PureDP(epsilon=1)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(event("0.6"), dataset="deaths")


def test_real_arithmetic_needs_a_policy_that_allows_it(ledger: Ledger) -> None:
    cases: list[Event] = [
        LaplaceEvent(scale=10, sensitivity=1, arithmetic="real"),
        ComposedEvent(events=(LAPLACE, LaplaceEvent(scale=10, sensitivity=1, arithmetic="real"))),
        PostProcessedEvent(event=LaplaceEvent(scale=10, sensitivity=1, arithmetic="real"), by="rounding"),
        GuaranteedEvent(guarantee=PureDP(epsilon="0.1"), arithmetic="real"),
    ]
    for event in cases:
        ledger.set_budget(Policy(limit=PureDP(epsilon=1)), dataset="deaths")
        with pytest.raises(ParameterError, match=r"data set 'deaths' takes exact noise only"):
            ledger.reserve(event, dataset="deaths")
        ledger.set_budget(Policy(limit=PureDP(epsilon=1), allow_real=True), dataset="deaths")
        assert ledger.reserve(event, dataset="deaths").fresh


def test_other_neighbours_and_units_are_refused(ledger: Ledger) -> None:
    for event in (
        LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne),
        LaplaceEvent(scale=10, sensitivity=1, unit="person"),
    ):
        with pytest.raises(GuaranteeMismatchError):
            ledger.reserve(event, dataset="deaths")
    assert ledger.account("deaths").spent == PureDP(epsilon=0)


def test_questions_that_make_no_sense_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"event": 1},
        {"event": None},
        {"dataset": ""},
        {"dataset": None},
        {"analyst": ""},
        {"analyst": 7},
        {"text": None},
        {"text": "x" * 100_001},
        {"fingerprint": ""},
        {"fingerprint": b"f"},
        {"request": "k"},
        {"request": {"key": "k"}},
    ]
    for wrong in cases:
        given: dict[str, Any] = {"event": LAPLACE, "dataset": "deaths"} | wrong
        with pytest.raises(ParameterError):
            SpendRequest(**given)


def test_a_data_set_without_a_budget_is_not_asked(ledger: Ledger) -> None:
    ledger.set_budget(PureDP(epsilon=1), analyst="ana")
    with pytest.raises(ParameterError, match="no budget for data set 'births': open one with set_budget"):
        ledger.reserve(LAPLACE, dataset="births", analyst="ana")


def test_ids_do_not_repeat() -> None:
    drawn = {draw_id() for _ in range(1000)}
    assert len(drawn) == 1000
    assert all(len(one) == 32 and int(one, 16) >= 0 for one in drawn)


def test_costs_are_in_the_kind_of_the_accountant() -> None:
    person = PureDP(epsilon=1, unit="person")
    assert price_under(Policy(limit=person), LaplaceEvent(scale=2, sensitivity=1, unit="person")) == PureDP(
        epsilon="0.5", unit="person"
    )
    assert isinstance(price_under(Policy(limit=ZCDP(rho=1)), LAPLACE), ZCDP)


def test_the_tightest_limit_is_named() -> None:
    ledger = cl.open_ledger("memory://")
    week = Window(seconds=7 * 86_400, limit=cl.PureDP(epsilon="0.7"))
    ledger.set_budget(Policy(limit=cl.PureDP(epsilon=3), window=week), dataset="deaths")
    ledger.set_budget(cl.PureDP(epsilon="0.5"), dataset="deaths", analyst="ana")
    event = cl.mechanisms.Laplace(epsilon=5, sensitivity=1).event
    with pytest.raises(BudgetExceededError, match=r"analyst 'ana' on data set 'deaths' has PureDP\(epsilon=0.5\) left"):
        ledger.reserve(event, dataset="deaths", analyst="ana")
    with pytest.raises(BudgetExceededError, match=r"data set 'deaths' has PureDP\(epsilon='?0.7'?\) left until"):
        ledger.reserve(event, dataset="deaths", analyst="leo")
    assert len(list(ledger.entries())) == 3
