"""Tampering: every field of every line and every derived row, deletions, swaps, insertions, and a chain made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from celosia.core import Event, GuaranteedEvent, LedgerError, ParameterError, PureDP, Release
from celosia.ledger import Ledger, LogHead, Request, open_ledger
from celosia.ledger.log.chain import canonical_json, line_hash
from celosia.ledger.verification import expected_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TENTH = GuaranteedEvent(guarantee=PureDP(epsilon="0.1"))
RELEASE: Release[int] = Release(value=42, event=TENTH, guarantee=PureDP(epsilon="0.1"))


def written(url: str) -> Ledger:
    ledger = open_ledger(url)
    ledger.set_budget(PureDP(epsilon=1), dataset="deaths")
    ledger.set_budget(PureDP(epsilon=1), analyst="eve")
    first = ledger.reserve(
        TENTH, dataset="deaths", analyst="ana", fingerprint="f", request=Request(key="k", digest="d")
    )
    ledger.commit(first, RELEASE, text="42")
    ledger.reserve(TENTH, dataset="deaths", analyst="eve", fingerprint="f", request=Request(key="k", digest="e"))
    ledger.reserve(TENTH, dataset="deaths", analyst="eve", fingerprint="f")
    ledger.fail(ledger.reserve(TENTH, dataset="deaths", kind="local"))
    ledger.reserve(TENTH, dataset="deaths", question="left by a crash")
    ledger.record("user", {"name": "eve"})
    assert ledger.verify().ok
    return ledger


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with written("memory://") as ledger:
        yield ledger


def change(ledger: Ledger, statement: str, **values: Any) -> int:
    with ledger.store.transaction() as connection:
        return connection.execute(text(statement), values).rowcount


def rows(ledger: Ledger, table: str) -> list[dict[str, Any]]:
    with ledger.store.reading() as connection:
        return [dict(row) for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()]


KEYS = {
    "celosia_log": ("sequence",),
    "celosia_head": ("id",),
    "celosia_reservations": ("id",),
    "celosia_requests": ("analyst", "key"),
    "celosia_answers": ("id",),
}


def other(value: Any) -> Iterator[Any]:
    """Values that are near another."""
    if value is None:
        yield "x"
    elif isinstance(value, int):
        yield value + 1000
    elif isinstance(value, bytes):
        yield value + b" "
        yield b""
    else:
        yield value + " "
        yield value.replace("0.1", "0.2") if "0.1" in value else value[::-1] + "x"
        yield ""


@pytest.mark.parametrize("table", KEYS)
def test_every_edit_of_every_field_is_found(table: str, ledger: Ledger) -> None:
    there = rows(ledger, table)
    assert there
    for row in there:
        where = " AND ".join(f"{key} = :key_{key}" for key in KEYS[table])
        keys = {f"key_{key}": row[key] for key in KEYS[table]}
        for column in row:
            if (table, column) == ("celosia_head", "id"):
                continue  # a head of another number is no head: seen where it is lost
            for value in other(row[column]):
                assert change(ledger, f"UPDATE {table} SET {column} = :value WHERE {where}", value=value, **keys)
                found = ledger.verify()
                assert not found.ok, (table, row, column, value)
                assert found.problem
                moved = {f"key_{key}": value if key == column else row[key] for key in KEYS[table]}
                change(ledger, f"UPDATE {table} SET {column} = :value WHERE {where}", value=row[column], **moved)
        assert ledger.verify().ok


@pytest.mark.parametrize("table", KEYS)
def test_every_deletion_is_found(table: str, ledger: Ledger) -> None:
    for row in rows(ledger, table):
        where = " AND ".join(f"{key} = :{key}" for key in KEYS[table])
        assert change(ledger, f"DELETE FROM {table} WHERE {where}", **{key: row[key] for key in KEYS[table]}) == 1
        assert not ledger.verify().ok
        change(
            ledger, f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", **row
        )
        assert ledger.verify().ok


def test_every_swap_of_two_lines_is_found(ledger: Ledger) -> None:
    for place in range(1, ledger.head.sequence):
        for swapped in (True, False):  # and swapped back
            change(ledger, "UPDATE celosia_log SET sequence = -1 WHERE sequence = :n", n=place)
            change(ledger, "UPDATE celosia_log SET sequence = :n WHERE sequence = :m", n=place, m=place + 1)
            change(ledger, "UPDATE celosia_log SET sequence = :m WHERE sequence = -1", m=place + 1)
            assert ledger.verify().ok is not swapped


def test_swapped_answers_are_found(ledger: Ledger) -> None:
    second = ledger.reserve(TENTH, dataset="deaths", fingerprint="g")
    ledger.commit(second, RELEASE, text="43")
    [one, two] = rows(ledger, "celosia_answers")
    for row, content in ((one, two), (two, one)):
        change(
            ledger,
            "UPDATE celosia_answers SET text = :text, digest = :digest WHERE id = :id",
            text=content["text"],
            digest=content["digest"],
            id=row["id"],
        )
    assert ledger.verify().problem == "A stored answer is not the one that the log speaks of."


def rewrite(ledger: Ledger, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change lines and make all hashes anew, head included, as somebody with the whole database can."""
    with ledger.store.transaction() as connection:
        lines = [
            dict(row) for row in connection.execute(text("SELECT * FROM celosia_log ORDER BY sequence")).mappings()
        ]
        previous = "0" * 64
        for line in lines:
            edit(line)
            line["previous"] = previous
            line["hash"] = previous = line_hash(
                sequence=line["sequence"], at=line["at"], kind=line["kind"], body=line["body"], previous=previous
            )
            connection.execute(
                text(
                    "UPDATE celosia_log SET at = :at, kind = :kind, body = :body, previous = :previous, hash = :hash"
                    " WHERE sequence = :sequence"
                ),
                line,
            )
        connection.execute(text("UPDATE celosia_head SET hash = :hash"), {"hash": previous})


def test_a_chain_that_was_made_anew_is_found_by_a_head_that_was_kept(ledger: Ledger) -> None:
    kept = ledger.head
    ledger.record("note", {})
    assert ledger.verify(kept).ok  # an older head is still in the log
    assert ledger.verify(str(kept)).ok
    assert ledger.verify(kept.hash).ok
    assert not ledger.verify(LogHead(sequence=kept.sequence + 1, hash=kept.hash)).ok

    def cheaper(line: dict[str, Any]) -> None:
        line["body"] = line["body"].replace('"epsilon":"1/10"', '"epsilon":"0"')

    rewrite(ledger, cheaper)
    assert ledger.verify().ok  # nothing inside tells
    found = ledger.verify(kept)
    assert not found.ok
    assert found.problem is not None
    assert "rewritten" in found.problem


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("committed", {"id": "0" * 32}),
        ("failed", {"id": "0" * 32}),
        ("repeated", {"charged": None}),
        ("repeated", {"answer": "0" * 32}),
        ("repeated", {"fingerprint": "other"}),
        ("repeated", {"dataset": "births"}),
        ("reserved", {"request": 7}),
        ("reserved", {"id": None}),
        ("reserved", {"event": {"kind": "New"}}),
    ],
)
def test_a_chain_made_anew_must_still_make_sense(ledger: Ledger, kind: str, changes: dict[str, Any]) -> None:
    import json

    def edit(line: dict[str, Any]) -> None:
        if line["kind"] == kind:
            line["body"] = canonical_json(json.loads(line["body"]) | changes)

    rewrite(ledger, edit)
    assert not ledger.verify().ok


def test_bodies_written_otherwise_are_found(ledger: Ledger) -> None:
    rewrite(ledger, lambda line: line.update(body=line["body"].replace(",", ", ")))
    assert ledger.verify().problem == "Line 1 of the log is not written as it should be."


def test_values_of_other_types_and_encodings_are_found() -> None:
    changes = {
        "UPDATE celosia_answers SET text = '42'": "A stored answer is not the one that the log speaks of.",
        "UPDATE celosia_log SET at = x'ff41' WHERE sequence = 4": "Line 4 of the log was changed, or does not follow",
        "UPDATE celosia_log SET kind = x'ff41' WHERE sequence = 4": "Line 4 of the log was changed, or does not follow",
    }
    for statement, problem in changes.items():
        with written("memory://") as ledger:
            change(ledger, statement)
            assert str(ledger.verify().problem).startswith(problem)
    with written("memory://") as ledger:
        change(ledger, "UPDATE celosia_log SET body = CAST(x'ff736563726574' AS TEXT) WHERE sequence = 4")
        for use in (ledger.verify, lambda: list(ledger.entries())):
            with pytest.raises(LedgerError, match="did not answer") as raised:
                use()
            assert "secret" not in str(raised.value)  # the driver quotes what is stored


def test_numbers_that_are_not_json_are_found(ledger: Ledger) -> None:
    rewrite(ledger, lambda line: line.update(body=line["body"].replace('{"name":"eve"}', '{"name":NaN}')))
    assert ledger.verify().problem == f"Line {ledger.head.sequence} of the log is not written as it should be."


def test_equal_events_are_parsed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    with written(url) as ledger:
        for number in range(12):
            event = GuaranteedEvent(guarantee=PureDP(epsilon=f"0.00{1 + number % 3}"))
            ledger.reserve(event, dataset="deaths", analyst="ana")
    parsed: list[str] = []
    parse = Event.from_json

    def count(text: str) -> Event:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(Event, "from_json", count)
    for use in (Ledger.verify, Ledger.statement):
        with open_ledger(url) as ledger:
            use(ledger)
        assert sorted(parsed) == sorted(set(parsed))
        assert len(parsed) == 4
        parsed.clear()


def test_lines_and_rows_that_were_added_are_found(ledger: Ledger) -> None:
    change(ledger, "INSERT INTO celosia_requests VALUES ('ana', 'new', 'd', :id)", id="0" * 32)
    assert ledger.verify().problem == "A stored request is not the one that the log speaks of."


def test_what_holds_is_counted(ledger: Ledger) -> None:
    whole = ledger.verify()
    assert (whole.ok, whole.lines, whole.head, whole.problem) == (True, ledger.head.sequence, ledger.head, None)
    change(ledger, "UPDATE celosia_log SET kind = 'x' WHERE sequence = 5")
    broken = ledger.verify()
    assert (broken.ok, broken.lines) == (False, 4)
    assert broken.problem == "Line 5 of the log was changed, or does not follow from the one before."


def test_a_shared_ledger_is_verified_too(shared: str) -> None:
    with written(shared) as ledger:
        assert ledger.verify(ledger.head).ok
        change(ledger, "UPDATE celosia_log SET body = '{}' WHERE sequence = 4")
        assert not ledger.verify().ok
        again = open_ledger(shared)
        with pytest.raises(LedgerError, match="Line 4 of the log was changed"):
            again.statement()
        again.close()


def test_heads_that_are_none_are_refused(ledger: Ledger) -> None:
    cases: list[Any] = ["", "ab", "g" * 64, "1:xyz", 7, 1.5]
    for head in cases:
        with pytest.raises(ParameterError, match="head must be"):
            ledger.verify(head)
        assert expected_head(None) is None
