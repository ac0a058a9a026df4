"""What the engines of Ibis have in common: silence about errors, one query for all sums, keys as they are."""

from __future__ import annotations

import datetime as dt
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import EngineError, ParameterError, QueryError
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.ibis import hide_driver_errors
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.query.sql.expressions import parse_expression
from celosia.statistics import ContributionBounds, Distinct, FirstMoments, Mode, RowCount, Total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ibis.expr import types as ir

COUNT = (Aggregate(kind="count", name="count"),)
AGE = cl.Integer(0, 120)
ROWS = pa.table(
    {
        "who": [1, 1, 2, 2, 3],
        "age": [34, 71, 5, 18, 90],
        "sex": ["F", "M", "F", "F", "M"],
        "town": ["A", "B", "A", None, "C"],
        "day": [dt.date(2020, 1, day) for day in (1, 2, 2, 3, 3)],
    }
)
SCHEMA = cl.Schema(age=AGE, sex=cl.Category("F", "M"), town=cl.Text(), day=cl.Date("2020-01-01", "2020-01-31"))
SECRET = (1, 2, 3, 4)


class Watching(DuckDBEngine):
    """Remembers how many queries were run."""

    ran = 0

    def execute(self, query: ir.Table, *args: Any, **kwargs: Any) -> Iterator[pa.RecordBatch]:
        self.ran += 1
        return super().execute(query, *args, **kwargs)


def of_rows() -> Watching:
    return Watching({"t": cl.table(ROWS, schema=SCHEMA, name="t")})


def of_persons(groups: int = 1) -> Watching:
    table = cl.table(ROWS, schema=SCHEMA, name="t", person="who", max_groups_per_person=groups, max_rows_per_group=1)
    return Watching({"t": table})


def need(measure: Any, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=(), distinct=distinct)


def plan(*keys: str) -> Plan:
    made = tuple(Key(name=f"k{place}", expression=parse_expression(text)) for place, text in enumerate(keys))
    return Plan(relation=Base("t"), keys=made, aggregates=COUNT)


def test_all_sums_take_one_query() -> None:
    sums = [
        need(RowCount()),
        need(FirstMoments(AGE.axis), "age"),
        need(Total(AGE.axis), "age"),
        need(RowCount(), "town"),
    ]
    for engine in (of_rows(), of_persons()):
        with engine:
            engine.summaries(plan("sex"), sums, ContributionBounds(cells=2), SECRET, Cells.product([("F", "M")]))
            assert engine.ran == 1
            more = [*sums, need(Mode(candidates=2), "sex"), need(Distinct(), "town", distinct="values")]
            engine.summaries(plan("sex"), more, ContributionBounds(cells=2), SECRET, Cells.product([("F", "M")]))
            assert engine.ran == 4


def test_results_come_in_the_order_of_the_requests() -> None:
    requests = [
        need(Mode(candidates=2), "sex"),
        need(RowCount()),
        need(Distinct(), "town", distinct="values"),
        need(Total(AGE.axis), "age"),
    ]
    with of_rows() as engine:
        found = engine.summaries(plan(), requests, ContributionBounds(), SECRET, Cells.product([]))
    assert [array.tolist() for array in found] == [[[3, 2]], [[5]], [[3]], [[218]]]


def test_no_cells_take_no_query() -> None:
    with of_rows() as engine:
        found = engine.summaries(
            plan("town"), [need(FirstMoments(AGE.axis), "age")], ContributionBounds(), SECRET, Cells.from_rows([], 1)
        )
        assert [array.shape for array in found] == [(0, 2)]
        assert engine.ran == 0


def test_keys_that_occur_come_in_their_own_types() -> None:
    with of_rows() as engine:
        batches = list(engine.key_counts(plan("town", "day", "age > 30"), ContributionBounds(cells=9), SECRET))
    table = pa.Table.from_batches(batches)
    assert table.schema.types == [pa.string(), pa.date32(), pa.bool_(), pa.int64()]
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == [
        ("A", dt.date(2020, 1, 1), True, 1),
        ("A", dt.date(2020, 1, 2), False, 1),
        ("B", dt.date(2020, 1, 2), True, 1),
        ("C", dt.date(2020, 1, 3), True, 1),
    ]


@pytest.mark.parametrize("groups", [1, 2])
def test_a_person_has_so_many_keys_and_not_more(groups: int) -> None:
    with of_persons(groups) as engine:
        batches = list(
            engine.key_counts(plan("town"), ContributionBounds(groups=groups, cells=9, unit="person"), SECRET)
        )
    units = {
        key: n for batch in batches for key, n in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    }
    assert sum(units.values()) == (4 if groups == 2 else 3)
    assert units["C"] == 1


def test_plans_are_checked_without_a_query() -> None:
    with of_rows() as engine:
        engine.check(plan("sex", "day"))
        with pytest.raises(QueryError, match="no column 'weight'"):
            engine.check(plan("weight"))
        assert engine.ran == 0


class Failing(Watching):
    """Engine that fails on a row and quotes it."""

    def execute(self, *_: Any, **__: Any) -> Iterator[pa.RecordBatch]:
        message = "value out of range: 34"
        raise ValueError(message)
        yield


def test_what_the_engine_says_is_kept_back() -> None:
    with Failing({"t": cl.table(ROWS, schema=SCHEMA, name="t")}) as engine:
        for ask in (
            lambda: engine.summaries(plan(), [need(RowCount())], ContributionBounds(), SECRET, Cells.product([])),
            lambda: list(engine.key_counts(plan("town"), ContributionBounds(), SECRET)),
        ):
            with pytest.raises(EngineError) as caught:
                ask()
            assert "34" not in str(caught.value)
            assert (caught.value.__context__, caught.value.__cause__) == (None, None)


def test_our_own_errors_pass() -> None:
    def refuses() -> None:
        message = "epsilon must be greater than 0"
        raise ParameterError(message)

    with pytest.raises(ParameterError, match="epsilon"):
        hide_driver_errors(refuses)()


def test_interrupts_pass() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hide_driver_errors(interrupted)()


def test_several_threads_may_ask() -> None:
    found: list[Any] = []
    with of_persons() as engine:

        def ask() -> None:
            cells = Cells.product([("F", "M")])
            found.append(
                engine.summaries(plan("sex"), [need(RowCount())], ContributionBounds(cells=2), SECRET, cells)[
                    0
                ].tolist()
            )

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 4
    assert all(answer == found[0] for answer in found)


def test_nothing_is_kept_after_a_query() -> None:
    with of_persons() as engine:
        names = "SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'celosia_small%'"
        engine.summaries(
            plan("sex"), [need(RowCount())], ContributionBounds(cells=2), SECRET, Cells.product([("F", "M")])
        )
        assert engine.backend.con.execute(names).fetchall() == []
