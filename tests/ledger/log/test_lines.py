from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from celosia.core import LedgerError
from celosia.ledger.log.chain import GENESIS
from celosia.ledger.log.lines import StoredLine, parse_line, read_head, read_line_at, read_lines_after, read_lines_since
from celosia.ledger.opening import open_ledger

if TYPE_CHECKING:
    from celosia.ledger import Ledger


def test_time_never_goes_back() -> None:
    times = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (12, 11, 13, 0, 14)]
    remaining = iter(times)
    with open_ledger("memory://", clock=lambda: next(remaining)) as ledger:
        for _ in range(4):
            ledger.record("note", {})
        assert [line.at.hour for line in ledger.entries()] == [12, 12, 13, 13, 14]
        assert ledger.verify().ok


def test_lines_are_read_in_order_and_in_pages(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    monkeypatch.setattr("celosia.ledger.log.lines._PAGE_SIZE", 3)
    for number in range(10):
        ledger.record("note", {"number": number})
    with ledger.store.reading() as connection:
        assert [line.sequence for line in read_lines_after(connection, 0)] == list(range(1, 13))
        assert [line.sequence for line in read_lines_after(connection, 4, 7)] == list(range(5, 12))
        assert [line.sequence for line in read_lines_after(connection, 4, 6)] == list(range(5, 11))
        assert list(read_lines_after(connection, 12)) == []
        head, _ = read_head(connection)
        last = read_line_at(connection, 12)
        assert last is not None
        assert (head.sequence, head.hash) == (12, last.hash)
        assert last.is_intact
        assert read_line_at(connection, 13) is None
        first = parse_line(last).at
        assert list(read_lines_since(connection, first + timedelta(seconds=1))) == []
        assert len(list(read_lines_since(connection, first - timedelta(days=1)))) == 12


def test_every_field_is_under_the_hash(ledger: Ledger) -> None:
    with ledger.store.reading() as connection:
        line = read_line_at(connection, 2)
    assert line is not None
    changed: list[dict[str, Any]] = [
        {"sequence": 3},
        {"at": line.at + "0"},
        {"kind": "x"},
        {"body": "{}"},
        {"previous": GENESIS},
    ]
    for change in changed:
        assert not line._replace(**change).is_intact


def test_a_log_without_a_head_is_told(ledger: Ledger) -> None:
    with ledger.store.transaction() as connection:
        connection.execute(text("DELETE FROM celosia_head"))
    with pytest.raises(LedgerError, match="has lost its head"):
        ledger.record("note", {})
    assert not ledger.verify().ok


def test_bodies_that_are_no_objects_are_told() -> None:
    cases: list[str] = ["", "[]", "7", "{", "[" * 100_000]
    for body in cases:
        with pytest.raises(LedgerError, match="Line 1 of the log cannot be read"):
            parse_line(StoredLine(1, "2026-01-01T00:00:00.000000Z", "note", body, GENESIS, ""))
