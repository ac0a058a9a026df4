"""The reference's cleaning, by hand-worked values."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.table import table
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection
from celosia.query.sql.expressions import parse_expression
from celosia.testing.engines.reference_rows import clean_rows, clean_value, step_on, whole_value

NOON = dt.datetime(2020, 2, 29, 12, 0, 0, 999_999, tzinfo=dt.UTC)


def test_values_are_cleaned() -> None:
    cases: list[tuple[Any, Kind, Any]] = [
        (None, Integer(0, 5), None),
        (None, Integer(0, 5, null=2), 2),
        (7, Integer(0, 5), 5),
        (-(2**70), Integer(0, 5), 0),
        (2.5, Integer(0, 5), 3),
        (-0.5, Integer(-5, 5), 0),
        (math.nan, Integer(0, 5, null=1), 1),
        (math.inf, Real(0, 5), None),
        (0.25, Real(0, 1, grid="0.5"), 0.5),
        (Decimal("0.24"), Real(0, 1, grid="0.5"), 0.0),
        (-5e-324, Real(-1, 1, grid="0.5"), 0.0),
        (1, Boolean(), True),
        (2, Boolean(), None),
        (2, Boolean(null=True), True),
        ("x", Category("F", "M"), None),
        ("x", Category("F", "M", null="M"), "M"),
        (3.0, Category(1, 3), 3),
        (12, Text(), "12"),
        (dt.date(1, 1, 1), Date("2020-01-01", "2020-12-31"), dt.date(2020, 1, 1)),
        (NOON, Date("2020-01-01", "2020-12-31"), dt.date(2020, 2, 29)),
        (NOON, Timestamp("2020-01-01", "2021-01-01"), NOON.replace(microsecond=0)),
        (dt.date(2020, 5, 5), Timestamp("2020-01-01", "2021-01-01"), dt.datetime(2020, 5, 5, tzinfo=dt.UTC)),
    ]
    for raw, kind, expected in cases:
        found = clean_value(raw, kind)
        assert (type(found), found) == (type(expected), expected)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-20, 20), st.integers(1, 20))
def test_reals_are_on_their_grid_and_within_their_bounds(x: float, low: int, width: int) -> None:
    kind = Real(low, low + width, grid="1/8")
    clean = clean_value(x, kind)
    assert clean * 8 == math.floor(clean * 8)
    assert low <= clean <= low + width
    assert abs(clean - min(max(x, low), low + width)) <= 1 / 16


@given(st.integers(0, 1000), st.integers(2, 500))
def test_a_coarser_step_is_the_nearest(value: int, most: int) -> None:
    fine = Integer(0, 1000)
    axis = fine.axis.coarsen(most)
    step = step_on(value, fine, axis)
    assert step is not None
    assert 0 <= step <= axis.steps
    assert abs((step + axis.lowest) * axis.grid - value) <= axis.grid / 2


def test_categories_step_by_their_place() -> None:
    kind = Category("low", "middle", "high", ordered=True)
    assert [step_on(value, kind, Axis(0, 2, Fraction(1))) for value in (*kind.values, None)] == [0, 1, 2, None]


@pytest.mark.parametrize(
    ("value", "kind", "whole"),
    [
        (dt.date(1969, 12, 31), Date("1960-01-01", "2020-12-31"), -1),
        (NOON, Timestamp("2020-01-01", "2021-01-01"), 1_582_977_600),
        (True, Boolean(), 1),
        (0.5, Real(0, 1, grid="0.1"), 5),
        ("F", Category("F"), "F"),
        (None, Real(0, 1), None),
    ],
)
def test_values_stand_for_whole_numbers(value: Any, kind: Kind, whole: Any) -> None:
    assert whole_value(value, kind) == whole


LIMITS = {"max_groups_per_person": 2, "max_rows_per_group": 2}
VISITS = table(
    pa.table({"who": [1, 1, 2, None, 3], "cost": [1.0, 2.5, None, 4.0, 9.0], "code": ["a", "b", "a", "a", None]}),
    schema=Schema(cost=Real(0, 5, grid="0.5"), code=Category("a", "b")),
    name="visits",
    person="who",
    max_groups_per_person=2,
    max_rows_per_group=2,
)
BOOK = table(
    pa.table({"code": ["a", "c"], "price": [3, 9]}),
    schema=Schema(code=Category("a", "c"), price=Integer(0, 5, null=1)),
    name="book",
    public=True,
    key="code",
)
TABLES = {"visits": VISITS, "book": BOOK}


def test_rows_without_a_person_are_left_out() -> None:
    rows = clean_rows(Base("visits"), TABLES)
    assert rows.persons == [1, 1, 2, 3]
    assert rows.columns == {"cost": [1.0, 2.5, None, 5.0], "code": ["a", "b", "a", None]}


@pytest.mark.parametrize(("how", "prices"), [("inner", [3, 3]), ("left", [3, 1, 3, 1])])
def test_joins_by_key(how: str, prices: list[int]) -> None:
    joined = Join(left=Base("visits"), right=Base("book"), on=(("code", "code"),), how=how)
    assert clean_rows(joined, TABLES).columns["price"] == prices


def test_joins_on_the_person_multiply_rows_of_one_person_only() -> None:
    twice = Projection(relation=Base("visits"), columns=(("again", Column("cost")),))
    rows = clean_rows(Join(left=Base("visits"), right=twice, by="person"), TABLES)
    assert rows.persons == [1, 1, 1, 1, 2, 3]
    assert rows.columns["again"] == [1.0, 2.5, 1.0, 2.5, None, 5.0]


def test_subqueries_filter_and_round() -> None:
    columns = (("third", parse_expression("cost / 3")),)
    rows = clean_rows(Projection(relation=Base("visits"), columns=columns, filter=parse_expression("cost > 1")), TABLES)
    grid = float(rows.kinds["third"].axis.grid)  # type: ignore[union-attr] # of a number
    assert rows.columns["third"] == [math.floor(x / 3 / grid + 0.5) * grid for x in (2.5, 5.0)]


def test_one_row_of_each_person() -> None:
    columns = (("n", "count", None), ("known", "count", Column("cost")), ("least", "min", Column("cost")))
    rows = clean_rows(PerPerson(relation=Base("visits"), columns=columns), TABLES)
    assert rows.single
    assert rows.columns == {"n": [2, 1, 1], "known": [2, 0, 1], "least": [1.0, None, 5.0]}
