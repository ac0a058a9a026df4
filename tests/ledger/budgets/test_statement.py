from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ZCDP, ApproxDP, GaussianDP, GaussianEvent, Guarantee, PureDP, Release
from celosia.ledger import KindTotal, Policy, Scope, StatementLine, Window, open_ledger
from celosia.ledger.budgets.release_kind import RELEASE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger

LIMITS: tuple[Guarantee, ...] = (ApproxDP(epsilon=900, delta="1e-6"), ZCDP(rho=900), GaussianDP(mu=900))
EVENTS = tuple(GaussianEvent(variance=variance, sensitivity_squared=1) for variance in (4, 9, 25))
SPENDING = st.tuples(
    st.sampled_from(RELEASE_KINDS),
    st.sampled_from([None, "ana", "eva"]),
    st.sampled_from(["d", "e"]),
    st.sampled_from(range(len(EVENTS))),
    st.sampled_from(["open", "failed", "committed"]),
    st.booleans(),  # whether a statement is made at once: the next spending then meets trackers
)


def test_a_statement_tells_limit_spent_left_and_the_window(event: Callable[[Exact], Event]) -> None:
    now = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    policy = Policy(limit=PureDP(epsilon=9), window=Window(seconds=3600, limit=PureDP(epsilon=1)))
    with open_ledger("memory://", clock=lambda: now) as ledger:
        ledger.set_budget(policy, dataset="deaths")
        ledger.reserve(event("0.4"), dataset="deaths")
        assert ledger.statement() == (
            StatementLine(
                scope=Scope(dataset="deaths"),
                policy=policy,
                spent=PureDP(epsilon="0.4"),
                remaining=PureDP(epsilon="8.6"),
                window_spent=PureDP(epsilon="0.4"),
                window_remaining=PureDP(epsilon="0.6"),
                renews=datetime(2026, 1, 1, 13, tzinfo=UTC),
                kinds=(KindTotal(kind="query", releases=1, cost=PureDP(epsilon="0.4")),),
            ),
        )


def test_a_statement_shows_what_bears_on_a_question() -> None:
    with open_ledger("memory://") as ledger:
        for dataset, analyst in [
            ("d", None),
            ("e", None),
            (None, "a"),
            (None, "b"),
            ("d", "a"),
            ("d", "b"),
            ("e", "a"),
        ]:
            ledger.set_budget(PureDP(epsilon=1), dataset=dataset, analyst=analyst)

        def shown(dataset: str | None = None, analyst: str | None = None) -> list[tuple[str | None, str | None]]:
            return [(line.scope.dataset, line.scope.analyst) for line in ledger.statement(dataset, analyst)]

        assert len(shown()) == 7
        assert shown("d", "a") == [(None, "a"), ("d", None), ("d", "a")]
        assert shown("d") == [(None, "a"), (None, "b"), ("d", None), ("d", "a"), ("d", "b")]
        assert shown(analyst="b") == [(None, "b"), ("d", None), ("d", "b"), ("e", None)]


def spend(ledger: Ledger, kind: Any, analyst: str | None, dataset: str, number: int, end: str) -> None:
    event = EVENTS[number]
    reservation = ledger.reserve(event, dataset=dataset, analyst=analyst, fingerprint=f"{number}", kind=kind)
    if reservation.state == "repeated" or end == "open":
        return
    if end == "failed":
        ledger.fail(reservation)
    else:
        ledger.commit(reservation, Release(value=1, event=event, guarantee=PureDP(epsilon=1)), text="1")


def list_charges(ledger: Ledger, scope: Scope) -> list[tuple[str, Event]]:
    """Return the kind and the event of every line that a scope pays for, read from the log."""
    found = []
    reservations = {one.id: one for one in ledger.reservations()}
    for line in ledger.entries():
        body: Any = line.body
        whole = line.kind == "reserved"
        if whole or (line.kind == "repeated" and body["charged"]):
            pays = scope.analyst == body["analyst"] if scope.analyst is not None else whole
            if pays and scope.dataset in (None, body["dataset"]):
                found.append((body.get("kind", "query"), reservations[body["id"]].event))
    return found


@given(st.sampled_from(LIMITS), st.lists(SPENDING, max_size=12))
def test_every_spending_is_in_one_kind(limit: Guarantee, spending: list[tuple[Any, ...]]) -> None:
    with open_ledger("memory://") as ledger:
        for dataset, analyst in [("d", None), ("e", None), (None, "ana"), ("d", "ana"), ("d", "eva")]:
            ledger.set_budget(limit, dataset=dataset, analyst=analyst)
        for *what, look in spending:
            spend(ledger, *what)
            if look:
                ledger.statement()
        for line in ledger.statement():
            charged, kinds = list_charges(ledger, line.scope), line.kinds or ()
            assert {one.kind: one.releases for one in kinds} == Counter(kind for kind, _ in charged)
            assert [one.kind for one in kinds] == [kind for kind in RELEASE_KINDS if kind in dict(charged)]
            for one in kinds:
                alone = line.policy.open()
                for kind, event in charged:
                    if kind == one.kind:
                        alone.count(event)
                assert one.cost == alone.spent
                assert one.cost == line.spent if len(kinds) == 1 else one.cost <= line.spent
            if isinstance(limit, ZCDP):
                assert sum(one.cost for one in kinds) == (line.spent if kinds else 0)
                assert line.sum_note is None
            assert (line.sum_note is None) is (len(kinds) < 2 or isinstance(limit, ZCDP))
        assert ledger.verify().ok


def test_a_query_is_written_as_before_there_were_kinds(ledger: Ledger, event: Callable[[Exact], Event]) -> None:
    for kind in RELEASE_KINDS:
        ledger.reserve(event("0.1"), dataset="deaths", kind=kind)
    bodies = [line.body for line in ledger.entries() if line.kind == "reserved"]
    assert set(bodies[0]) == {"analyst", "dataset", "event", "fingerprint", "id", "question", "request"}
    assert [body.get("kind") for body in bodies] == [None, *RELEASE_KINDS[1:]]
    [line] = ledger.statement()
    assert line.kinds == tuple(KindTotal(kind=kind, releases=1, cost=PureDP(epsilon="0.1")) for kind in RELEASE_KINDS)
    found = line.to_json()["kinds"]
    assert [one["kind"] for one in found] == list(RELEASE_KINDS)
    assert found[2]["cost"]["epsilon"] == "1/10"


def test_another_process_spends_beside(
    tmp_path: Path, event: Callable[[Exact], Event], forked: Callable[[Callable[[], None]], int]
) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    with open_ledger(url) as ledger:
        ledger.set_budget(PureDP(epsilon=1), dataset="deaths")
        ledger.reserve(event("0.1"), dataset="deaths")
        assert [one.kind for one in ledger.statement()[0].kinds or ()] == ["query"]

        def collect() -> None:
            with open_ledger(url, create=False) as other:
                for _ in range(2):
                    other.account("deaths").reserve(event("0.2"), question="phones", kind="local")

        _, status = os.waitpid(forked(collect), 0)
        assert status == 0
        [line] = ledger.statement()
        assert line.kinds == (
            KindTotal(kind="query", releases=1, cost=PureDP(epsilon="0.1")),
            KindTotal(kind="local", releases=2, cost=PureDP(epsilon="0.4")),
        )
        assert line.spent == PureDP(epsilon="0.5")
        assert ledger.verify().ok


def test_a_changed_budget_prices_the_kinds_anew(ledger: Ledger, event: Callable[[Exact], Event]) -> None:
    for kind in ("query", "local"):
        ledger.reserve(event("0.1"), dataset="deaths", kind=kind)
    before = ledger.statement()[0].kinds
    ledger.set_budget(PureDP(epsilon=5), dataset="deaths")
    ledger.set_budget(PureDP(epsilon=2), dataset="deaths", analyst="ana")  # late, and charged with nothing
    late, line = sorted(ledger.statement(), key=lambda one: one.scope.analyst is None)
    assert (late.kinds, line.kinds) == ((), before)
