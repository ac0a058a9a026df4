"""What can be wrong with a query is found from the schemas alone, before anything is paid for or read."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, PerPerson, Plan, Projection
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.cells import MAX_CELLS
from tests.query.samples import ask, persons_table, question, rows_table

if TYPE_CHECKING:
    from celosia.data.table import Table

COUNT = (Aggregate(kind="count", name="count"),)


def moments() -> Table:
    schema = cl.Schema(
        day=cl.Date("2020-01-01", "2020-01-31"),
        at=cl.Timestamp("2020-01-01", "2020-01-02"),
        size=cl.Real(0, 1, grid="0.25"),
        code=cl.Category(1, 2),
        far=cl.Integer(0, 10**9),
    )
    types = {"day": pa.date32(), "at": pa.timestamp("us"), "size": pa.float64(), "code": pa.int64(), "far": pa.int64()}
    return cl.table(pa.table({name: pa.array([], kind) for name, kind in types.items()}), schema=schema, name="visits")


def test_public_keys_make_a_cell_for_every_combination() -> None:
    asked = question(ask().group_by("sex", "alive").count())
    assert asked.cells is not None
    assert asked.cells.columns() == [["F", "F", "M", "M"], [False, True, False, True]]
    assert asked.dimension == 4


def test_private_keys_have_no_cells_yet() -> None:
    asked = question(ask().group_by("sex", "town").count())
    assert asked.cells is None
    assert asked.dimension == asked.bounding.cells == MAX_CELLS


def test_a_person_is_in_no_more_groups_than_there_are() -> None:
    table = persons_table(groups=5, rows=4)
    assert question(ask(table).group_by("sex").count(), table).bounding.groups == 2
    assert question(ask(table).count(), table).bounding.groups == 1
    assert question(ask(table).group_by("town").count(), table).bounding.groups == 5
    assert question(ask(table).group_by("sex").count(), table).bounding.unit == "person"


def test_listed_keys_are_read_as_values_of_the_column() -> None:
    cases: list[tuple[str, list[Any], list[Any]]] = [
        ("day", ["2020-01-02", dt.date(2020, 1, 1)], [dt.date(2020, 1, 2), dt.date(2020, 1, 1)]),
        ("at", ["2020-01-01 12:00:00"], [dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)]),
        ("size", ["0.25", 1], [0.25, 1.0]),
        ("size", ["0.3"], [0.25]),  # a real is looked up by its step
        ("code", [2], [2]),
        ("far", [0, 10**9], [0, 10**9]),
    ]
    for column, keys, expected in cases:
        asked = question(ask(moments()).group_by(column, keys=keys).count(), moments())
        assert asked.cells is not None
        assert asked.cells.columns() == [expected]


def test_a_key_that_the_column_never_has_is_refused() -> None:
    """Else an engine would compare values of two types, and whether it can may depend on the rows."""
    cases: list[tuple[str, object]] = [
        ("day", "2021-01-01"),
        ("day", 7),
        ("day", "yesterday"),
        ("at", "2020-01-03"),
        ("size", "1.5"),
        ("size", "much"),
        ("size", float("nan")),
        ("code", 3),
        ("code", "1"),
        ("code", True),
        ("far", -1),
        ("far", "1"),
        ("far", 1.0),
        ("far", None),
    ]
    for column, key in cases:
        with pytest.raises(QueryError, match=f"{column} is never"):
            question(ask(moments()).group_by(column, keys=[key]).count(), moments())


def test_combinations_are_read_column_by_column() -> None:
    listed = ask(moments()).group_by("code", "day", keys=[(1, "2020-01-01"), (2, "2020-01-01")])
    asked = question(listed.count(), moments())
    assert asked.cells is not None
    assert asked.cells.columns() == [[1, 2], [dt.date(2020, 1, 1)] * 2]
    with pytest.raises(QueryError, match="code is never 3"):
        question(ask(moments()).group_by("code", "day", keys=[(3, "2020-01-01")]).count(), moments())


def test_what_cannot_be_asked_is_refused() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda q: q.group_by("code", keys=[]).count(), "no key to answer for"),
        (lambda q: q.group_by("size", keys=["0.25", 0.25]).count(), "given twice"),
        (lambda q: q.group_by("far").count(), "too many values"),
        (lambda q: q.group_by("size").count(), "too many values"),
        (lambda q: q.where("far + 1").count(), "not a condition"),
        (lambda q: q.where("nothing > 1").count(), "no column 'nothing'"),
        (lambda q: q.group_by("nothing").count(), "no column 'nothing'"),
        (lambda q: q.count().having("count > 'x'"), "cannot combine"),
        (lambda q: q.count().having("count + 1"), "HAVING needs a condition"),
        (lambda q: q.group_by("code").mode("day").order_by("mode_day + count"), "no column 'count'"),
    ]
    for asked, words in cases:
        with pytest.raises(QueryError, match=words):
            question(asked(ask(moments())), moments())


def test_the_filter_of_a_subquery_is_a_condition_too() -> None:
    cases: list[type] = [Projection, PerPerson]
    for kind in cases:
        columns = (("x", Column("age")),) if kind is Projection else (("x", "max", Column("age")),)
        inner = kind(relation=Base("deaths"), columns=columns, filter=Column("age"))
        outer = Projection(relation=inner, columns=(("x", Column("x")),))
        with pytest.raises(QueryError, match="not a condition"):
            question(Plan(relation=outer, aggregates=COUNT), persons_table())


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(QueryError, match="1,000,000 cells"):
        question(ask().group_by(a="age", b="age", c="age").count())


def test_nothing_is_read() -> None:
    """The source of the table is gone, and nobody notices."""
    table = dataclasses.replace(rows_table(), source=None)  # type: ignore[arg-type]
    plan = ask().where("age < 18").group_by("sex").count().mean("age").median("weight").plan
    assert len(analyze_plan(plan, {"deaths": table}).aggregate_measurements) == 2
