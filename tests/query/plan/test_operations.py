"""The table of operations is complete: each has a rule, an arity and a meaning, and can be written and read."""

from __future__ import annotations

import pytest

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Date, Integer, Kind, Timestamp
from celosia.query.plan.expressions import Call, Column, Literal, kind_of
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.to_sql import render
from celosia.query.sql.expressions import parse_expression

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "day": Date("2021-01-05", "2021-01-20"),
    "month": Date("2021-03-01", "2021-05-31", null="2021-03-01"),
    "years": Date("0001-01-01", "9999-12-31"),
    "noon": Timestamp("2021-01-05 09:00:00", "2021-01-05 17:30:00"),
    "seen": Timestamp("2021-01-31 23:59:59", "2021-02-01 00:00:00"),
}


WRITTEN = {"date_trunc": Literal("month"), "add_months": Literal(-3), "add_seconds": Literal(3600)}


def test_every_operation_can_be_written_and_read() -> None:
    for name in OPERATIONS:
        operation = OPERATIONS[name]
        made = Call(name, tuple(Column("abcdefgh"[i]) for i in range(operation.least)))
        if name in WRITTEN:
            made = Call(name, (Column("a"), WRITTEN[name]))
        assert parse_expression(render(made)) == made
        assert operation.meaning


def test_too_few_and_too_many_arguments_are_refused() -> None:
    for name in OPERATIONS:
        operation = OPERATIONS[name]
        with pytest.raises(QueryError, match="takes"):
            Call(name, (Literal(1),) * (operation.least - 1))
        if operation.most is not None:
            with pytest.raises(QueryError, match="takes"):
                Call(name, (Literal(1),) * (operation.most + 1))


def test_parts_of_dates_are_bounded_by_the_calendar() -> None:
    cases: list[tuple[str, Kind]] = [
        ("YEAR(day)", Integer(2021, 2021)),
        ("YEAR(years)", Integer(1, 9999)),
        ("QUARTER(month)", Integer(1, 2, null=1)),
        ("QUARTER(years)", Integer(1, 4)),
        ("MONTH(month)", Integer(3, 5, null=3)),
        ("MONTH(years)", Integer(1, 12)),
        ("DAY(day)", Integer(5, 20)),
        ("DAY(month)", Integer(1, 31, null=1)),
        ("ISODOW(day)", Integer(1, 7)),
        ("ISODOW(DATE '2021-01-04')", Integer(1, 1, null=1)),
        ("HOUR(noon)", Integer(9, 17)),
        ("HOUR(seen)", Integer(0, 23)),
        ("MONTH(seen)", Integer(1, 2)),
        ("DAY(seen)", Integer(1, 31)),
        ("DATE(seen)", Date("2021-01-31", "2021-02-01")),
        ("CAST(seen AS DATE)", Date("2021-01-31", "2021-02-01")),
        ("seen::DATE", Date("2021-01-31", "2021-02-01")),
        ("CAST(day AS DATE)", Date("2021-01-05", "2021-01-20")),
        ("EXTRACT(year FROM seen)", Integer(2021, 2021)),
        ("DATE_PART('month', seen)", Integer(1, 2)),
        ("DATE_DIFF('day', DATE '2021-01-01', day)", Integer(4, 19)),
    ]
    for text, kind in cases:
        assert kind_of(parse_expression(text), KINDS) == kind


def test_parts_of_what_is_no_date_are_refused() -> None:
    cases: list[str] = ["YEAR(age)", "HOUR(day)", "DATE(age)", "MONTH('2021-01-01')"]
    for text in cases:
        with pytest.raises(QueryError, match=r"for dates|for times|a time"):
            kind_of(parse_expression(text), KINDS)
