"""Bounds of truncated and moved dates are those of the calendar, also at its ends."""

from __future__ import annotations

import calendar
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Date, Integer, Kind, Timestamp
from celosia.query.plan.calendar_rules import UNITS, add_months, truncate_time
from celosia.query.plan.expressions import kind_of
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    import datetime as dt

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "day": Date("2021-01-31", "2021-12-31"),
    "ever": Date("0001-01-01", "9999-12-31"),
    "seen": Timestamp("2021-01-31 12:30:00", "2021-02-01 00:00:00"),
}


def test_results() -> None:
    cases: list[tuple[str, Kind]] = [
        ("DATE_TRUNC('year', day)", Date("2021-01-01", "2021-01-01")),
        ("DATE_TRUNC('quarter', day)", Date("2021-01-01", "2021-10-01")),
        ("DATE_TRUNC('month', day)", Date("2021-01-01", "2021-12-01")),
        ("DATE_TRUNC('week', day)", Date("2021-01-25", "2021-12-27")),
        ("DATE_TRUNC('week', ever)", Date("0001-01-01", "9999-12-27")),
        ("DATE_TRUNC('hour', seen)", Timestamp("2021-01-31 12:00:00", "2021-02-01 00:00:00")),
        ("DATE_TRUNC('day', seen)", Timestamp("2021-01-31", "2021-02-01")),
        ("day + INTERVAL 1 MONTH", Date("2021-02-28", "2022-01-31")),
        ("day - INTERVAL '1' YEAR", Date("2020-01-31", "2020-12-31")),
        ("seen + INTERVAL 1 MONTH", Timestamp("2021-02-28 12:30:00", "2021-03-01 00:00:00")),
        ("seen - INTERVAL 13 HOUR", Timestamp("2021-01-30 23:30:00", "2021-01-31 11:00:00")),
        ("seen + 1", Timestamp("2021-02-01 12:30:00", "2021-02-02 00:00:00")),
        ("day - INTERVAL 2 WEEK", Date("2021-01-17", "2021-12-17")),
    ]
    for text, kind in cases:
        assert kind_of(parse_expression(text), KINDS) == kind


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("DATE_TRUNC('hour', day)", "takes year, quarter, month, week, day in quotes"),
        ("DATE_TRUNC('fortnight', seen)", "takes year, quarter, month, week, day, hour"),
        ("DATE_TRUNC('month', age)", "for dates and times, not for age"),
        ("age + INTERVAL 1 MONTH", "for dates and times"),
        ("day + INTERVAL 1 HOUR", "times only"),
        ("ever + INTERVAL 1 MONTH", "years 1 to 9999"),
        ("day - INTERVAL 3000 YEAR", "years 1 to 9999"),
        ("seen + INTERVAL 99999999999 HOUR", "at most|years 1 to 9999"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            kind_of(parse_expression(text), KINDS)


@given(st.datetimes(), st.integers(-200_000, 200_000))
def test_months_are_added_as_one_counts_them(moment: dt.datetime, number: int) -> None:
    months = 12 * moment.year + moment.month - 1 + number
    found = add_months(moment, number)
    if not 12 <= months < 120_000:
        assert found is None
        return
    last = calendar.monthrange(months // 12, months % 12 + 1)[1]
    assert found == moment.replace(year=months // 12, month=months % 12 + 1, day=min(moment.day, last))


@given(st.datetimes(), st.datetimes(), st.sampled_from(UNITS))
def test_beginnings_keep_the_order(one: dt.datetime, other: dt.datetime, unit: str) -> None:
    first, second = sorted([one, other])
    assert truncate_time(first, unit) <= truncate_time(second, unit) <= second
    assert truncate_time(truncate_time(one, unit), unit) == truncate_time(one, unit)
