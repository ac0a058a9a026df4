from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from celosia.core import LedgerError
from celosia.ledger import Request
from celosia.ledger.reservations.records import (
    _BY_FINGERPRINT,
    _PAID,
    digest_answer,
    find_answers,
    find_request,
    find_reservation,
    list_reservations,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Event, Release
    from celosia.core.exact import Exact
    from celosia.ledger import Ledger

    Make = Callable[[Exact], Event]
    Answer = Callable[[Event], Release[int]]


def test_what_was_remembered_is_found(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    one = ledger.reserve(
        tenth, dataset="deaths", analyst="ana", fingerprint="f", question="?", request=Request(key="k", digest="d")
    )
    ledger.commit(one, release(tenth), text="42")
    again = ledger.reserve(tenth, dataset="deaths", analyst="eve", fingerprint="f")
    with ledger.store.reading() as connection:
        found = find_reservation(connection, one.id)
        assert found is not None
        assert (found.fingerprint, found.source) == ("f", None)
        assert (found.reservation.state, found.reservation.answer, found.reservation.event) == (
            "committed",
            "42",
            tenth,
        )
        repeated = find_reservation(connection, again.id)
        assert repeated is not None
        assert (repeated.source, repeated.reservation.answer) == (one.id, "42")
        request = find_request(connection, "ana", "k")
        assert request is not None
        assert (request[0].digest, request[1].reservation.id) == ("d", one.id)
        for analyst, paid in [("ana", True), ("eve", True), ("bob", False), (None, True)]:
            [(answer, has_paid)] = find_answers(connection, "deaths", "f", analyst)
            assert (answer.reservation.id, has_paid) == (one.id, paid)
        assert find_answers(connection, "births", "f", "ana") == []
        assert [item.id for item in list_reservations(connection, analyst="eve")] == [again.id]
        assert list_reservations(connection, unnamed=True) == ()
        assert [item.state for item in list_reservations(connection, dataset="deaths")] == ["committed", "repeated"]
        assert all(item.answer is None for item in list_reservations(connection))


def test_an_answer_is_found_among_many_repeats_of_it(ledger: Ledger) -> None:
    """A dashboard repeats one question a hundred thousand times: no search reads all of these rows."""
    with ledger.store.reading() as connection:
        for statement, index in ((_BY_FINGERPRINT, "answer"), (_PAID, "paid")):
            sql, order, fixed = statement._compile(connection.dialect)
            given = [fixed.get(name, "x") for name in order or ()]
            plan = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {sql}", given).fetchall()
            assert any(f"INDEX celosia_reservations_{index} (" in step[-1] for step in plan), plan
            used = next(step[-1] for step in plan if f"celosia_reservations_{index}" in step[-1])
            assert used.count("=?") == {"answer": 3, "paid": 2}[index], used


def test_an_answer_of_another_event_is_not_handed_out(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    one = ledger.reserve(tenth, dataset="deaths", fingerprint="f")
    ledger.commit(one, release(tenth), text="42")
    other = ledger.reserve(event("0.2"), dataset="deaths", fingerprint="f")
    assert (other.state, other.answer, other.fresh) == ("reserved", None, True)


def test_an_answer_that_was_changed_is_not_handed_out(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    one = ledger.reserve(tenth, dataset="deaths", fingerprint="f")
    ledger.commit(one, release(tenth), text="42")
    with ledger.store.transaction() as connection:
        connection.execute(text("UPDATE celosia_answers SET text = :other"), {"other": b"\xff\xfe"})
    with pytest.raises(LedgerError, match=r"stored answer .* was changed"):
        ledger.reservation(one.id)
    with pytest.raises(LedgerError, match=r"stored answer .* was changed"):
        ledger.reserve(tenth, dataset="deaths", fingerprint="f")


def test_an_answer_without_text_is_not_stored(ledger: Ledger, event: Make, release: Answer) -> None:
    tenth = event("0.1")
    one = ledger.reserve(tenth, dataset="deaths", fingerprint="f")
    ledger.commit(one, release(tenth))
    found = ledger.reservation(one.id)
    assert found is not None
    assert (found.state, found.answer) == ("committed", None)
    assert ledger.reserve(tenth, dataset="deaths", fingerprint="f").fresh


def test_digests_differ() -> None:
    assert len({digest_answer(answer) for answer in ("", "42", "43", "é", "\ud800")}) == 5
