"""Summaries of rows: every cell has its number, and rows outside all cells are dropped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.execution.row_level import RowLevel, Summary, plan_count, plan_sums
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Base, Key
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import Mode, RowCount, Total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ibis.expr import types as ir

SCHEMA = cl.Schema(sex=cl.Category("F", "M"), age=cl.Integer(0, 3), town=cl.Text(null="none"))
COUNT = Measurement(measure=RowCount(), columns=(), answers=())


class InSmallBatches(DuckDBEngine):
    """Hands results on two rows at a time."""

    def execute(self, query: ir.Table, *args: Any, **kwargs: Any) -> Iterator[pa.RecordBatch]:
        for batch in super().execute(query, *args, **kwargs):
            yield from (batch.slice(start, 2) for start in range(0, batch.num_rows, 2))


Row = tuple[str | None, int | None, str | None]


def opened(rows: list[Row]) -> InSmallBatches:
    sex, age, town = zip(*rows, strict=True) if rows else ((), (), ())
    source = pa.table(
        {"sex": pa.array(sex, pa.string()), "age": pa.array(age, pa.int64()), "town": pa.array(town, pa.string())}
    )
    return InSmallBatches({"t": cl.table(source, schema=SCHEMA, name="t")})


def level(engine: DuckDBEngine, cells: Cells, *keys: str) -> RowLevel:
    made = [Key(name=key, expression=Column(key)) for key in keys]
    return RowLevel(rows_of(Base("t"), engine), made, cells)


def answers(engine: DuckDBEngine, summary: Summary) -> list[Any]:
    return summary.add_up(engine.execute(summary.query, most_rows=summary.most_rows))


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["F", "M", "X", None]),
        st.sampled_from([0, 1, 2, 3, 9, None]),
        st.sampled_from(["A", "B", "", None]),
    ),
    max_size=25,
)


@settings(max_examples=12)
@given(ROWS)
def test_every_row_is_counted_in_its_cell(rows: list[Row]) -> None:
    cells = Cells.product([("M", "F"), (3, 0, 1)])
    with opened(rows) as engine:
        counted = level(engine, cells, "sex", "age").sums(plan_sums([COUNT], rows_of(Base("t"), engine)))
        (found,) = answers(engine, counted)
    right = Counter((sex, None if age is None else min(age, 3)) for sex, age, _ in rows)
    assert found[:, 0].tolist() == [right[key] for key in zip(*cells.columns(), strict=True)]


@settings(max_examples=12)
@given(ROWS)
def test_null_rules_hold_for_keys(rows: list[Row]) -> None:
    cells = Cells.from_rows([("none",), ("A",), ("Z",)], 1)
    total = Measurement(measure=Total(cl.Integer(0, 3).axis), columns=(Column("age"),), answers=())
    with opened(rows) as engine:
        summed = level(engine, cells, "town").sums(plan_sums([total], rows_of(Base("t"), engine)))
        (found,) = answers(engine, summed)
    right: Counter[str] = Counter()
    for _, age, town in rows:
        right["none" if town is None else town] += 0 if age is None else min(age, 3)
    assert found[:, 0].tolist() == [right["none"], right["A"], 0]


@settings(max_examples=12)
@given(ROWS)
def test_values_are_counted_in_their_cells(rows: list[Row]) -> None:
    cells = Cells.product([("F", "M")])
    mode = Measurement(measure=Mode(candidates=4), columns=(Column("age"),), answers=())
    with opened(rows) as engine:
        made = level(engine, cells, "sex")
        (found,) = answers(engine, made.counts(plan_count(mode, rows_of(Base("t"), engine))))
        (different,) = answers(engine, made.distinct(rows_of(Base("t"), engine).value(Column("town"))))
    right = Counter((sex, min(age, 3)) for sex, age, _ in rows if age is not None)
    assert found.tolist() == [[right[sex, age] for age in range(4)] for sex in ("F", "M")]
    towns = {sex: {town or ("" if town == "" else "none") for s, _, town in rows if s == sex} for sex in ("F", "M")}
    assert different.tolist() == [[len(towns["F"])], [len(towns["M"])]]


def test_unknown_keys_are_dropped_as_they_come() -> None:
    """Many keys outside the query take no memory: the arrays are as large as the cells."""
    source = pa.table({"town": pa.array([str(number) for number in range(300_000)])})
    table = cl.table(source, schema=cl.Schema(town=cl.Text()), name="t")
    largest = 0
    with DuckDBEngine({"t": table}) as engine:

        def watched(summary: Summary) -> Iterator[pa.RecordBatch]:
            nonlocal largest
            for batch in engine.execute(summary.query, most_rows=summary.most_rows):
                largest = max(largest, batch.num_rows)
                yield batch

        rows = rows_of(Base("t"), engine)
        keys = [Key(name="town", expression=Column("town"))]
        summary = RowLevel(rows, keys, Cells.from_rows([("7",), ("x",)], 1)).sums(plan_sums([COUNT], rows))
        (found,) = summary.add_up(watched(summary))
    assert found.tolist() == [[1], [0]]
    assert largest <= 100_000


@pytest.mark.parametrize("rows", [[], [("X", None, None)]])
def test_nothing_is_counted_of_nothing(rows: list[Row]) -> None:
    with opened(rows) as engine:
        inputs = plan_sums([COUNT], rows_of(Base("t"), engine))
        (found,) = answers(engine, level(engine, Cells.product([("F", "M")]), "sex").sums(inputs))
        (whole,) = answers(engine, level(engine, Cells.product([])).sums(inputs))
    assert found.tolist() == [[0], [0]]
    assert whole.tolist() == [[len(rows)]]
    assert found.dtype == np.int64
