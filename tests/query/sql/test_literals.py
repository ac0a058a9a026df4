"""Numbers, dates and times are read exactly or refused."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Literal
from celosia.query.sql.literals import date_literal, interval_literal, number_literal, time_literal
from celosia.query.sql.syntax import condition_tree


@given(st.one_of(st.integers(-(2**62), 2**62), st.floats(-1e90, 1e90).filter(lambda x: x == 0 or abs(x) > 1e-90)))
def test_numbers_come_back(value: float) -> None:
    assert number_literal(repr(value)) == Literal(value)


def test_numbers_as_sql_writes_them() -> None:
    for text in ("1.", ".5", "1e3", "1E+3", "1.5e-3", "0001"):
        assert number_literal(text).value == float(text)


def test_what_is_no_number_is_refused() -> None:
    cases: list[str] = [
        "",
        "-",
        "nan",
        "inf",
        "1e",
        "1e999",
        "9" * 30,
        "9" * 31,
        "1" * 500,
        "0x1F",
        "1_000",
        "١",
        "1e-400",
        "1,5",
    ]
    for text in cases:
        with pytest.raises(QueryError):
            number_literal(text)


def test_dates_and_times() -> None:
    assert date_literal("2020-02-29") == Literal(dt.date(2020, 2, 29))
    midnight = dt.datetime(2021, 12, 31, tzinfo=dt.UTC)
    assert time_literal("2021-12-31").value == midnight
    assert time_literal("2021-12-31 23:59").value == midnight.replace(hour=23, minute=59)
    assert time_literal("2021-12-31T23:59:58").value == midnight.replace(hour=23, minute=59, second=58)


def test_dates_that_do_not_exist_are_refused() -> None:
    cases: list[str] = [
        "2021-02-29",
        "2021-13-01",
        "0000-01-01",
        "20210101",
        "2021-1-1",
        "2021-01-01 ",
        "today",
        "",
        "٢٠٢١-01-01",
    ]
    for text in cases:
        with pytest.raises(QueryError, match="DATE '2021-12-31'"):
            date_literal(text)


def test_times_that_are_none_are_refused() -> None:
    cases: list[str] = [
        "2021-01-01 24:00:00",
        "2021-01-01 00:00:00+02",
        "2021-01-01 00:00:00.5",
        "2021-01-01 00:00:60",
        "now",
        "epoch",
    ]
    for text in cases:
        with pytest.raises(QueryError, match="in UTC"):
            time_literal(text)


def test_intervals() -> None:
    cases: list[tuple[str, str, int]] = [
        *((text, "days", 3) for text in ["INTERVAL 3 DAY", "INTERVAL '3' DAY", "INTERVAL '3 days'", "INTERVAL 3 days"]),
        ("INTERVAL '2' WEEK", "days", 14),
        ("INTERVAL '-1' MONTH", "months", -1),
        ("INTERVAL 2 quarters", "months", 6),
        ("INTERVAL '1 year'", "months", 12),
        ("INTERVAL 5 HOUR", "seconds", 18_000),
        ("INTERVAL 5 MINUTE", "seconds", 300),
        ("INTERVAL 5 SECONDS", "seconds", 5),
    ]
    for text, unit, number in cases:
        assert interval_literal(condition_tree(text)) == (unit, Literal(number))


def test_other_intervals_are_refused() -> None:
    cases: list[str] = ["INTERVAL 3 FORTNIGHT", "INTERVAL '1.5' DAY", "INTERVAL '3 days 2 hours'", "INTERVAL 'x' DAY"]
    for text in cases:
        with pytest.raises(QueryError):
            interval_literal(condition_tree(text))
