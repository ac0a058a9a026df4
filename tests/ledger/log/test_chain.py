from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import LedgerError, ParameterError
from celosia.ledger import LogHead, LogLine
from celosia.ledger.log.chain import GENESIS, canonical_json, format_timestamp, line_hash, parse_timestamp

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(body=st.dictionaries(st.text(), JSON, max_size=4), kind=st.text(), number=st.integers(1, 10**9))
def test_the_hash_is_that_of_the_json_as_anybody_would_write_it(body: dict[str, Any], kind: str, number: int) -> None:
    at = "2026-01-01T00:00:00.000000Z"
    text = json.dumps([number, at, kind, body, GENESIS], sort_keys=True, separators=(",", ":"))
    found = line_hash(sequence=number, at=at, kind=kind, body=canonical_json(body), previous=GENESIS)
    assert found == hashlib.sha256(text.encode()).hexdigest()
    assert canonical_json(json.loads(canonical_json(body))) == canonical_json(body)
    assert canonical_json(body).isascii()


@given(
    first=st.tuples(st.integers(1, 99), st.text(), st.text(), JSON),
    other=st.tuples(st.integers(1, 99), st.text(), st.text(), JSON),
)
def test_different_lines_have_different_hashes(
    first: tuple[int, str, str, Any], other: tuple[int, str, str, Any]
) -> None:
    hashes = [
        line_hash(sequence=number, at=at, kind=kind, body=canonical_json(body), previous=GENESIS)
        for number, at, kind, body in (first, other)
    ]
    same = [canonical_json(list(parts)) for parts in (first, other)]
    assert (hashes[0] == hashes[1]) == (same[0] == same[1])


@given(
    at=st.datetimes(timezones=st.just(UTC)), later=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=9))
)
def test_texts_are_in_order_when_moments_are(at: datetime, later: timedelta) -> None:
    try:
        then = at + later
    except OverflowError:
        return
    assert parse_timestamp(format_timestamp(at)) == at
    assert format_timestamp(at) <= format_timestamp(then)
    assert (format_timestamp(at) == format_timestamp(then)) == (at == then)


def test_other_zones_are_brought_to_utc() -> None:
    assert (
        format_timestamp(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-01T00:00:00.000000Z"
    )


def test_moments_written_otherwise_are_refused() -> None:
    cases: list[Any] = ["", "2026-01-01", "2026-01-01T00:00:00Z", "2026-1-01T00:00:00.000000Z", None, 7]
    cases += [f"2026-{rest}Z" for rest in ("02-30T00:00:00.000000", "01-01T24:00:00.000000", "01-01T00:60:00.000000")]
    cases += ["2026-01-01T00:00:00.000000+00:00", "2026-01-01 00:00:00.000000Z", "２026-01-01T00:00:00.000000Z"]
    cases += ["2026-01-01T00:00:00.000000Z\n", "2026-01-01T00:00:00.0000000Z", b"2026-01-01T00:00:00.000000Z"]
    for text in cases:
        with pytest.raises(LedgerError):
            parse_timestamp(text)


def test_heads_written_otherwise_are_refused() -> None:
    cases: list[Any] = ["", "12", "12:ab", "x:" + "a" * 64, "1:" + "A" * 64, "-1:" + "a" * 64, None, 7, "²:" + "a" * 64]
    for text in cases:
        with pytest.raises(ParameterError, match="head must be written"):
            LogHead.parse(text)


def test_what_is_no_json_is_refused() -> None:
    cases: list[Any] = [float("nan"), float("inf"), {1, 2}, object(), b"x", {"a": b"x"}]
    for value in cases:
        with pytest.raises(ParameterError, match="must be JSON"):
            canonical_json(value)
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(ParameterError, match="must be JSON"):
            canonical_json(deep)


def test_a_line_is_exported_whole() -> None:
    line = LogLine(sequence=3, at=datetime(2026, 1, 1, tzinfo=UTC), kind="note", body={"é": 1}, previous="p", hash="h")
    assert json.loads(line.to_json()) == {
        "sequence": 3,
        "at": "2026-01-01T00:00:00.000000Z",
        "kind": "note",
        "body": {"é": 1},
        "previous": "p",
        "hash": "h",
    }
