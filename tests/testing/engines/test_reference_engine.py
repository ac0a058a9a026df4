"""The reference engine, by counting on one's fingers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Integer, Text
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Database
from celosia.data.table import Table, table
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, Distinct, FirstMoments, Mode, Quantiles, RowCount
from celosia.testing.engines.reference_engine import ReferenceEngine

AGE, SEX = Integer(0, 10), Category("F", "M")
ROWS = {
    "who": [1, 1, 1, 1, 2],
    "age": [3, 3, None, 20, 7],
    "sex": ["F", "F", "F", "M", "X"],
    "town": ["A", "B", "A", None, "A"],
}
PLAN = Plan(
    relation=Base("t"),
    keys=(Key(name="sex", expression=Column("sex")),),
    aggregates=(Aggregate(kind="count", name="count"),),
)
CELLS = Cells.product([SEX.values])


def engine(*, persons: bool) -> ReferenceEngine:
    schema, rows = Schema(age=AGE, sex=SEX, town=Text()), pa.table(ROWS)
    made = (
        table(rows, schema=schema, name="t", person="who", max_groups_per_person=1, max_rows_per_group=1)
        if persons
        else table(rows, schema=schema, name="t")
    )
    return ReferenceEngine({"t": made})


def asked(bounding: ContributionBounds, *needs: Measurement, persons: bool) -> list[list[list[int]]]:
    found = engine(persons=persons).summaries(PLAN, needs, bounding, (1, 2), CELLS)
    return [array.tolist() for array in found]


def need(measure: object, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=(), distinct=distinct)  # type: ignore[arg-type]


def test_rows_are_added_up_and_counted() -> None:
    axis = Axis(0, 10, AGE.axis.grid)
    found = asked(
        ContributionBounds(cells=2),
        need(RowCount()),
        need(RowCount(), "age"),
        need(FirstMoments(axis), "age"),
        need(Mode(candidates=2), "sex"),
        need(Quantiles(axis=axis, quantiles=("1/2",)), "age"),
        need(Distinct(), "age", distinct="values"),
        persons=False,
    )
    assert found[:4] == [[[3], [1]], [[2], [1]], [[6, 14], [10, 0]], [[3, 0], [0, 1]]]
    assert np.argwhere(found[4]).tolist() == [[0, 3], [1, 10]]
    assert found[5] == [[1], [1]]


def test_a_person_counts_within_bounds() -> None:
    two = ContributionBounds(groups=2, rows=1, cells=2)
    found = asked(two, need(RowCount()), need(FirstMoments(AGE.axis), "age"), persons=True)
    assert found == [[[1], [1]], [[3, 7], [10, 0]]]
    one = ContributionBounds(groups=1, rows=2, cells=2)
    found = asked(one, need(RowCount()), need(Distinct(), distinct="persons"), persons=True)
    assert found in ([[[2], [0]], [[1], [0]]], [[[0], [1]], [[0], [1]]])


def test_keys_that_occur_are_counted_in_units() -> None:
    plan = dataclasses.replace(PLAN, keys=(Key(name="town", expression=Column("town")),), outputs=())
    (batch,) = engine(persons=False).key_counts(plan, ContributionBounds(cells=5), (1, 2))
    assert batch.to_pydict() == {"k0": ["A", "B"], "units": [3, 1]}
    (batch,) = engine(persons=True).key_counts(plan, ContributionBounds(groups=2, cells=5), (1, 2))
    assert batch.to_pydict() == {"k0": ["A", "B"], "units": [2, 1]}
    (batch,) = engine(persons=True).key_counts(plan, ContributionBounds(groups=1, cells=5), (1, 2))
    assert sum(batch.column("units").to_pylist()) == 2


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from("FMX"), st.integers(0, 10)), max_size=12), st.integers(1, 3)
)
def test_bounds_hold_whatever_the_rows(rows: list[tuple[int, str, int]], most: int) -> None:
    who, sex, age = zip(*rows, strict=True) if rows else ((), (), ())
    source = pa.table(
        {"who": pa.array(who, pa.int64()), "sex": pa.array(sex, pa.string()), "age": pa.array(age, pa.int64())}
    )
    made: Table = table(
        source,
        schema=Schema(age=AGE, sex=SEX),
        name="t",
        person="who",
        max_groups_per_person=1,
        max_rows_per_group=most,
    )
    needs = [
        need(RowCount()),
        need(FirstMoments(AGE.axis), "age"),
        need(Mode(candidates=2), "sex"),
        need(Distinct(), "age", distinct="values"),
    ]
    found = ReferenceEngine({"t": made}).summaries(PLAN, needs, ContributionBounds(rows=most, cells=2), (1, 2), CELLS)
    persons = len(set(who))
    for array, each in zip(found, (most, 10 * most, most, most), strict=True):
        assert array.sum() <= persons * each


def test_only_frames_are_read() -> None:
    made = dataclasses.replace(engine(persons=False).tables["t"], source=Database("postgresql://nowhere/none", "t"))
    with pytest.raises(TypeError, match="reads frames"):
        ReferenceEngine({"t": made}).summaries(PLAN, [need(RowCount())], ContributionBounds(cells=2), (1, 2), CELLS)
