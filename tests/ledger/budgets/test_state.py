from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import LaplaceEvent, LedgerError, PureDP
from celosia.ledger import Policy, Scope
from celosia.ledger.budgets.state import Charge, LogState, parse_charge
from celosia.ledger.log.chain import GENESIS, canonical_json, line_hash
from celosia.ledger.log.lines import StoredLine, read_lines_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger
    from celosia.ledger.log.chain import JSON

    Make = Callable[[Exact], Event]

AT = "2026-01-01T00:00:00.000000Z"


def line(previous: StoredLine | None, kind: str, body: dict[str, JSON], at: str = AT) -> StoredLine:
    number, before = (1, GENESIS) if previous is None else (previous.sequence + 1, previous.hash)
    text = canonical_json(body)
    return StoredLine(
        number, at, kind, text, before, line_hash(sequence=number, at=at, kind=kind, body=text, previous=before)
    )


def test_feeding_all_at_once_or_one_by_one_is_the_same(ledger: Ledger, event: Make) -> None:
    ledger.set_budget(PureDP(epsilon=1), analyst="ana")
    for number in range(6):
        ledger.reserve(event("0.1"), dataset="deaths", analyst="ana" if number % 2 else None)
    with ledger.store.reading() as connection:
        lines = list(read_lines_after(connection, 0))
    whole, parts = LogState(), LogState()
    whole.apply(lines)
    for one in lines:
        parts.apply([one])
        for scope in parts.policies:
            parts.tracker(scope)
    for scope in (Scope(dataset="deaths"), Scope(analyst="ana")):
        assert whole.tracker(scope).spent == parts.tracker(scope).spent
        assert whole.charges(scope) == parts.charges(scope)
    assert whole.tracker(Scope(dataset="deaths")).spent == PureDP(epsilon="0.6")
    assert whole.tracker(Scope(analyst="ana")).spent == PureDP(epsilon="0.3")


def test_lines_that_do_not_follow_are_refused() -> None:
    first = line(None, "opened", {"format": 1})
    second = line(first, "note", {})
    third = line(second, "note", {})
    for lines in ([second], [first, third], [first, first], [first, second, second], [first._replace(hash="x")]):
        with pytest.raises(LedgerError, match="of the log"):
            LogState().apply(lines)
    with pytest.raises(LedgerError, match="Line 2 of the log is missing"):
        LogState().apply([first, third])
    with pytest.raises(LedgerError, match="does not follow"):
        LogState().apply([first, line(first, "note", {}, at="2025-01-01T00:00:00.000000Z")])
    with pytest.raises(LedgerError, match="does not follow"):
        LogState().apply([first, line(first, "opened", {"format": 1})])
    with pytest.raises(LedgerError, match="does not follow"):
        LogState().apply([line(None, "note", {})])


def test_a_line_that_readers_may_read_in_two_ways_is_refused() -> None:
    text = '{"format":2,"format":1}'
    digest = line_hash(sequence=1, at=AT, kind="opened", body=text, previous=GENESIS)
    with pytest.raises(LedgerError, match="Line 1 of the log cannot be understood"):
        LogState().apply([StoredLine(1, AT, "opened", text, GENESIS, digest)])


def test_lines_of_a_newer_release_are_refused() -> None:
    with pytest.raises(LedgerError, match="written by a newer release"):
        LogState().apply([line(None, "opened", {"format": 2})])
    first = line(None, "opened", {"format": 1})
    bodies: list[dict[str, JSON]] = [
        {},
        {"dataset": "d", "analyst": None, "policy": {}},
        {"dataset": 7, "analyst": None, "policy": None},
    ]
    for body in bodies:
        with pytest.raises(LedgerError, match="Line 2 of the log cannot be understood"):
            LogState().apply([first, line(first, "budget", body)])
    bodies = [{}, {"dataset": "d", "analyst": None}]
    for body in bodies:
        with pytest.raises(LedgerError, match="Line 2 of the log cannot be understood"):
            LogState().apply([first, line(first, "reserved", body)])
    state = LogState()
    state.apply([first, line(first, "reserved", {"dataset": "d", "analyst": None, "event": {"kind": "New"}})])
    with pytest.raises(LedgerError, match="an event that is not understood"):
        state.new_tracker(Scope(dataset="d"), Policy(limit=PureDP(epsilon=1)))


def test_kinds_of_lines() -> None:
    first, scope, event = line(None, "opened", {"format": 1}), Scope(dataset="d"), {"kind": "New"}
    body: dict[str, JSON] = {"dataset": "d", "analyst": None, "event": event}
    for kind, known in [("local", "local"), ("query", "query"), ("microdata", "other")]:
        state = LogState()
        state.apply([first, line(first, "reserved", body | {"kind": kind})])
        assert list(state.charges(scope, known).values()) == [1]  # type: ignore[arg-type]
        assert list(state.charges(scope, "model").values()) == []
        assert list(state.charges(scope).values()) == [1]
    wrong: list[JSON] = [None, 7, ["local"], {}]
    for bad in wrong:
        with pytest.raises(LedgerError, match="Line 2 of the log cannot be understood"):
            LogState().apply([first, line(first, "reserved", body | {"kind": bad})])


def test_who_is_charged() -> None:
    event = LaplaceEvent(scale=10, sensitivity=1).to_json()
    scopes = [
        Scope(dataset="d"),
        Scope(analyst="a"),
        Scope(dataset="d", analyst="a"),
        Scope(dataset="e"),
        Scope(analyst="b"),
    ]
    for whole, expected in [(True, [True, True, True, False, False]), (False, [False, True, True, False, False])]:
        assert [Charge("d", "a", event, whole).applies_to(scope) for scope in scopes] == expected
    assert [Charge("d", None, event, charges_dataset=True).applies_to(scope) for scope in scopes] == [
        True,
        *[False] * 4,
    ]
    assert parse_charge(line(None, "committed", {})) is None


def test_many_different_events_do_not_stay_in_mind(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger, event: Make
) -> None:
    monkeypatch.setattr("celosia.ledger.budgets.state._MAX_CACHED_EVENTS", 3)
    ledger.set_budget(PureDP(epsilon=100), dataset="deaths")
    for number in range(1, 11):
        ledger.reserve(event(number), dataset="deaths")
    assert ledger.account("deaths").spent == PureDP(epsilon=55)
    assert len(ledger.state._state._events) <= 3
