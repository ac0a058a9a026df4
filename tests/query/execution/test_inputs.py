"""What the requests of a query need of each row."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.query.engines.duckdb import DuckDBDialect, open_relation
from celosia.query.execution.row_level import is_counted, plan_count, plan_sums
from celosia.query.execution.rows import Rows
from celosia.query.plan.expressions import Column
from celosia.query.planning.measurements import Measurement
from celosia.statistics import Bins, CrossMoments, Distinct, FirstMoments, Mode, Quantiles, RowCount, Total
from tests.query.computed import all_computed

KINDS = {
    "age": cl.Integer(-5, 10),
    "weight": cl.Real(0, 1, grid="0.5"),
    "sex": cl.Category("F", "M"),
    "level": cl.Category("low", "high", ordered=True),
    "town": cl.Text(),
}
ROWS = pa.table(
    {
        "age": [3, None, 20, 4],
        "weight": [0.5, 0.9, None, 0.2],
        "sex": ["F", "X", None, "M"],
        "level": ["high", "low", None, "none"],
        "town": ["A", None, "B", "A"],
    }
)


def rows_of(table: Any) -> Rows:
    names = {name: name for name in KINDS}
    return Rows(table=table, kinds=KINDS, names=names, dialect=DuckDBDialect(), raw=True, persons=False)


def need(measure: Any, *columns: str) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=())


def axis(name: str) -> Axis:
    found = KINDS[name].axis
    assert found is not None
    return found


def sums(request: Measurement) -> list[int]:
    """The sums over all rows, in DuckDB."""
    backend = ibis.duckdb.connect(threads=1)
    backend.con.register("rows", ROWS)
    (made,) = plan_sums([request], rows_of(open_relation(backend, "rows")))
    table = made_table = open_relation(backend, "rows")
    table = made_table.select(**made.columns) if made.columns else made_table
    values = {f"s{place}": value for place, value in enumerate(made.sums(table, DuckDBDialect()))}
    found = backend.con.sql(backend.compile(table.aggregate(n=made.count(table), **values))).fetchall()
    backend.disconnect()
    return [int(number) for number in found[0]]


def test_features_are_added_up() -> None:
    cases: list[tuple[Measurement, list[int]]] = [
        (need(RowCount()), [4, 4]),
        (need(RowCount(), "age"), [3, 3]),
        (need(RowCount(), "sex"), [2, 2]),
        (need(RowCount(), "age", "weight"), [2, 2]),
        (need(Total(axis("age")), "age"), [3, 3 + 10 + 4]),
        (need(FirstMoments(axis("age")), "age"), [3, 8 + 15 + 9, 7 + 0 + 6]),
        (need(FirstMoments(axis("weight")), "weight"), [3, 1 + 2 + 0, 1 + 0 + 2]),
        (
            need(CrossMoments(axis("age"), axis("weight"), degree=1), "age", "weight"),
            [2, 7 * 1 + 6 * 2, 7 * 1 + 0, 8 * 1 + 9 * 2, 8 * 1 + 0],
        ),
    ]
    for request_, expected in cases:
        assert sums(request_) == expected


def check_steps_are_counted_by_bin(request_: Measurement, codes: list[int | None]) -> None:
    found = all_computed(ROWS, lambda table: {"code": plan_count(request_, rows_of(table)).value})
    assert found.column("code").to_pylist() == codes
    assert plan_count(request_, rows_of(ibis.table(ROWS.schema, name="t"))).known is None


def test_steps_are_counted_by_bin() -> None:
    cases: list[tuple[Measurement, list[int | None]]] = [
        (need(Quantiles(axis=axis("age"), quantiles=("1/2",)), "age"), [8, None, 15, 9]),
        (need(Quantiles(axis=axis("age"), quantiles=("1/2",), bins=4), "age"), [2, None, 3, 2]),
        (need(Quantiles(axis=Axis(0, 1, Fraction(1)), quantiles=("1/2",)), "level"), [1, 0, None, None]),
    ]
    for request_, codes in cases:
        check_steps_are_counted_by_bin(request_, codes)


def test_values_are_counted_by_their_place() -> None:
    table = ibis.table(ROWS.schema, name="t")
    assert plan_count(need(Mode(candidates=2), "sex"), rows_of(table)).known == ["F", "M"]
    assert plan_count(need(Bins(16), "age"), rows_of(table)).known == list(range(-5, 11))


def test_values_must_be_public_and_as_many_as_candidates() -> None:
    cases: list[tuple[Mode, str]] = [(Mode(candidates=3), "sex"), (Mode(candidates=2), "town")]
    for measure, column in cases:
        with pytest.raises(QueryError, match="public values"):
            plan_count(need(measure, column), rows_of(ibis.table(ROWS.schema, name="t")))


def test_requests_are_classified() -> None:
    assert is_counted(need(Bins(3), "age"))
    assert is_counted(need(Mode(candidates=2), "sex"))
    assert not is_counted(need(Distinct(), "sex"))
    table = ibis.table(ROWS.schema, name="t")
    both = [need(Total(axis("age")), "age"), need(FirstMoments(axis("weight")), "weight")]
    assert [made.reach for made in plan_sums(both, rows_of(table))] == [((-5, 10),), ((0, 2), (0, 2))]
