"""The public keys of a DATE_TRUNC are the beginnings between its bounds, and no other day."""

from __future__ import annotations

import datetime as dt

from celosia.data.schema.columns import Category, Date, Kind, Text, Timestamp
from celosia.query.plan.calendar_rules import UNITS, truncate_time
from celosia.query.plan.expressions import Call, Column, Literal, kind_of
from celosia.query.plan.nodes import Base, Join, Projection
from celosia.query.planning.analysis import key_domain, original
from celosia.query.sql.expressions import parse_expression

KINDS: dict[str, Kind] = {
    "day": Date("2019-11-05", "2021-03-02"),
    "seen": Timestamp("2020-02-28 22:30:00", "2020-03-02 01:00:00"),
    "last": Date("9999-11-30", "9999-12-31"),
    "long": Timestamp("0001-01-01", "9999-12-31"),
}


def test_dates() -> None:
    for unit in UNITS[:-1]:
        expression = parse_expression(f"DATE_TRUNC('{unit}', day)")
        first, last = dt.datetime(2019, 11, 5), dt.datetime(2021, 3, 2)  # noqa: DTZ001 - days
        days = [first + dt.timedelta(days=place) for place in range((last - first).days + 1)]
        wanted = dict.fromkeys(truncate_time(day, unit).date() for day in days)
        assert key_domain(expression, kind_of(expression, KINDS)) == tuple(wanted)


def test_times() -> None:
    for unit in UNITS:
        expression = parse_expression(f"DATE_TRUNC('{unit}', seen)")
        first = dt.datetime(2020, 2, 28, 22, 30, tzinfo=dt.UTC)
        times = [first + dt.timedelta(minutes=30 * place) for place in range(102)]
        assert times[-1] == dt.datetime(2020, 3, 2, 1, tzinfo=dt.UTC)
        wanted = dict.fromkeys(truncate_time(time, unit) for time in times)
        assert key_domain(expression, kind_of(expression, KINDS)) == tuple(wanted)


def test_the_calendar_ends() -> None:
    for unit, keys in (("year", 1), ("month", 2), ("week", 5), ("day", 32)):
        expression = parse_expression(f"DATE_TRUNC('{unit}', last)")
        assert len(key_domain(expression, kind_of(expression, KINDS)) or ()) == keys


def test_too_many_are_none() -> None:
    expression = parse_expression("DATE_TRUNC('hour', long)")
    assert key_domain(expression, kind_of(expression, KINDS)) is None


def test_other_keys_have_the_values_of_their_kind() -> None:
    assert key_domain(Column("sex"), Category("F", "M")) == ("F", "M")
    assert key_domain(Column("city"), Text()) is None


def test_columns_of_subqueries_are_what_they_were_made_of() -> None:
    month = Call("date_trunc", (Column("day"), Literal("month")))
    inner = Projection(relation=Base("t"), columns=(("m", month),))
    outer = Projection(relation=inner, columns=(("again", Column("m")),))
    assert original(Column("again"), outer) == month
    assert original(Column("m"), Join(left=inner, right=Base("k"), on=(("m", "day"),))) == Column("m")
