"""Summaries of persons equal the reference and stay within bounds, for any rows and keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.execution.hashing import KeyedOrder
from celosia.query.execution.person_level import PersonLevel
from celosia.query.execution.row_level import Summary, plan_count, plan_sums
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, Distinct, Mode, RowCount, Total
from celosia.testing.engines.reference_engine import ReferenceEngine

SECRET = (5, 6)
AGE, SEX = cl.Integer(-2, 3), cl.Category("F", "M", null="M")
SCHEMA = cl.Schema(sex=SEX, age=AGE, town=cl.Text())
Row = tuple[int, str | None, int | None, str | None]


def tables(rows: list[Row]) -> dict[str, Any]:
    who, sex, age, town = zip(*rows, strict=True) if rows else ((), (), (), ())
    source = pa.table(
        {
            "who": pa.array(who, pa.int64()),
            "sex": pa.array(sex, pa.string()),
            "age": pa.array(age, pa.int64()),
            "town": pa.array(town, pa.string()),
        }
    )
    return {"t": cl.table(source, schema=SCHEMA, name="t", person="who", max_groups_per_person=9, max_rows_per_group=9)}


def need(measure: Any, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=(), distinct=distinct)


def answers(engine: DuckDBEngine, summary: Summary) -> list[Any]:
    return summary.add_up(engine.execute(summary.query, most_rows=summary.most_rows))


CELLS = [
    (["sex"], Cells.product([("M", "F")])),
    (["age"], Cells.product([(-2, -1, 0, 1, 2, 3)])),
    (["age", "sex"], Cells.product([(3, 0), ("F",)])),
    (["town", "sex"], Cells.from_rows([("A", "F"), ("B", "M"), ("A", "M")], 2)),
    ([], Cells.product([])),
]
ROWS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from(["F", "M", "X", None]),
        st.sampled_from([-9, -1, 0, 3, None]),
        st.sampled_from(["A", "B", None]),
    ),
    max_size=20,
)


@settings(max_examples=3 if settings().derandomize else 15)  # queries of six kinds each
@given(rows=ROWS, grouped=st.sampled_from(CELLS), groups=st.integers(1, 4), most=st.integers(1, 3))
def test_it_agrees_with_the_reference(
    rows: list[Row], grouped: tuple[list[str], Cells], groups: int, most: int
) -> None:
    names, cells = grouped
    keys = tuple(Key(name=name, expression=Column(name)) for name in names)
    bounding = ContributionBounds(groups=min(groups, len(cells)), rows=most, cells=len(cells), unit="person")
    sums = [need(RowCount()), need(Total(AGE.axis), "age"), need(RowCount(), "town")]
    mode, towns = need(Mode(candidates=2), "sex"), need(Distinct(), "town", distinct="values")
    made = tables(rows)
    with DuckDBEngine(made) as engine:
        known = rows_of(Base("t"), engine)
        level = PersonLevel(known, keys, cells, bounding, KeyedOrder(SECRET))
        summaries = [
            level.sums(plan_sums(sums, known)),
            level.counts(plan_count(mode, known)),
            level.distinct(known.value(Column("town"))),
            level.persons(),
        ]
        found = [array for summary in summaries for array in answers(engine, summary)]
    plan = Plan(relation=Base("t"), keys=keys, aggregates=(Aggregate(kind="count", name="count"),))
    asked = [*sums, mode, towns, need(Distinct(), distinct="persons")]
    right = ReferenceEngine(made).summaries(plan, asked, bounding, SECRET, cells)
    assert [array.tolist() for array in found] == [array.tolist() for array in right]


@pytest.mark.parametrize("groups", [1, 2])
def test_rows_within_the_limits_all_count(groups: int) -> None:
    rows: list[Row] = [(1, "F", 0, "A"), (1, "F", 3, "A"), (2, "M", 1, None)]
    bounding = ContributionBounds(groups=groups, rows=2, cells=2, unit="person")
    keys = (Key(name="sex", expression=Column("sex")),)
    with DuckDBEngine(tables(rows)) as engine:
        known = rows_of(Base("t"), engine)
        level = PersonLevel(known, keys, Cells.product([("F", "M")]), bounding, KeyedOrder(SECRET))
        count, total = answers(engine, level.sums(plan_sums([need(RowCount()), need(Total(AGE.axis), "age")], known)))
    assert (count.tolist(), total.tolist()) == ([[2], [1]], [[3], [1]])


def test_keys_outside_the_query_cost_a_person_nothing() -> None:
    rows: list[Row] = [(1, "F", age, "A") for age in (-2, -1, 0, 1, 2)]
    bounding = ContributionBounds(groups=1, rows=1, cells=1, unit="person")
    keys = (Key(name="age", expression=Column("age")),)
    with DuckDBEngine(tables(rows)) as engine:
        known = rows_of(Base("t"), engine)
        level = PersonLevel(known, keys, Cells.from_rows([(2,)], 1), bounding, KeyedOrder(SECRET))
        (count,) = answers(engine, level.sums(plan_sums([need(RowCount())], known)))
    assert count.tolist() == [[1]]
