"""Between the kinds of columns and what typing rules work with nothing is lost."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from celosia.core.errors import ParameterError, QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.intervals import constant, divide, integers_between, of_axis
from celosia.query.plan.types import FAMILIES, Derivation, Scalar, ValueType, to_kind, type_of_kind, type_of_literal

FIVE = "2021-01-01 05:00:00"
KINDS: list[Kind] = [
    Integer(-5, 120),
    Integer(0, 0, null=0),
    Real(0, 300, grid="0.5"),
    Real(-1, 1, null=0),
    Boolean(),
    Boolean(null=False),
    Category("F", "M"),
    Category(3, 1, 2),
    Text(),
    Text(null=""),
    Date("2020-01-01", "2021-12-31"),
    Timestamp("2020-01-01", "2021-12-31 23:00:00"),
]


def test_kinds_come_back() -> None:
    for kind in KINDS:
        back = to_kind(type_of_kind(kind, "x"))
        if isinstance(kind, Real):
            assert isinstance(back, Real)
            assert (back.low, back.high, back.nullable) == (kind.low, kind.high, kind.nullable)
            assert back.axis.steps <= 2**30
        else:
            assert back == kind
        assert type_of_kind(kind, "x").family in FAMILIES


def test_values_that_are_always_there_say_so() -> None:
    assert not to_kind(type_of_kind(Category("F", "M", null="M"), "x")).nullable
    assert not to_kind(type_of_kind(Date("2020-01-01", "2020-01-02", null="2020-01-02"), "x")).nullable
    assert not to_kind(type_of_literal(0.5)).nullable


def test_constants_are_columns_too() -> None:
    cases: list[tuple[Scalar, Kind]] = [
        (7, Integer(7, 7, null=7)),
        (-7, Integer(-7, -7, null=-7)),
        (0.5, Real(0, "0.5", null="0.5")),
        (-0.5, Real("-0.5", 0, null="-0.5")),
        (0.0, Real(0, 1, null=0)),
        (True, Boolean(null=False)),
        ("F", Category("F", null="F")),
        (dt.date(2021, 1, 1), Date("2021-01-01", "2021-01-01", null="2021-01-01")),
        (dt.datetime(2021, 1, 1, 5, tzinfo=dt.UTC), Timestamp(FIVE, FIVE, null=FIVE)),
    ]
    for value, kind in cases:
        assert to_kind(type_of_literal(value)) == kind


def test_axis_bounds_cover_what_a_grid_moves_outwards() -> None:
    kind = Real("0.05", "0.95", grid="0.1")
    ends = type_of_kind(kind, "x").ends
    assert ends.low <= Fraction(0) < Fraction(1) <= ends.high + Fraction(1, 10**12)


def test_null_alone_has_no_kind() -> None:
    with pytest.raises(QueryError, match="NULL alone"):
        to_kind(type_of_literal(None))


def test_open_bounds_are_refused_with_the_way_out() -> None:
    quotient = ValueType(family="number", source="x / y", interval=divide(constant(1), of_axis(Real(0, 1).axis)))
    with pytest.raises(QueryError, match=r"x / y has no bounds .* CLIP"):
        to_kind(quotient)


def test_bounds_that_no_column_can_have_are_refused() -> None:
    huge = ValueType(family="number", source="x * y", interval=constant(1e50))
    with pytest.raises(QueryError, match="x \\* y cannot be a column"):
        to_kind(huge)
    dropped = ValueType(family="text", source=Derivation("query.label_result", "CASE"), values=("drop", "keep"))
    with pytest.raises(QueryError, match=r"the result of CASE cannot be a column .* null rule"):
        to_kind(dropped)


def test_what_has_no_order_has_no_ends() -> None:
    with pytest.raises(QueryError, match="cannot be ordered"):
        _ = type_of_literal("F").ends


def test_only_kinds_have_types() -> None:
    with pytest.raises(ParameterError, match="column kind"):
        type_of_kind("age", "age")  # type: ignore[arg-type]


def test_messages_call_things_by_their_names() -> None:
    assert type_of_kind(Integer(0, 1), "age").description == "age (a number)"
    assert type_of_literal(dt.date(2021, 1, 1)).description == "'2021-01-01' (a date)"
    assert type_of_literal(None).description == "NULL"
    assert ValueType(family="number", source="x", interval=integers_between(0, 1)).ends == integers_between(0, 1)
