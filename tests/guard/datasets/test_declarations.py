from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from celosia.data.schema_file import SchemaFile, parse_schema_file
from celosia.guard.datasets.declarations import check_same_unit, declared_table, replace_bounds, schema_text
from celosia.serving.errors import NotFoundError

FILE = SchemaFile(
    schema=cl.Schema(
        age=cl.Integer(0, 120, null=0),
        weight=cl.Real(0, 300, grid="0.1"),
        day=cl.Date("2021-01-01", "2021-12-31"),
        at=cl.Timestamp("2021-01-01", "2021-12-31"),
        sex=cl.Category("F", "M"),
    )
)
NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=20)


@given(person=st.none() | NAMES, groups=st.integers(1, 2**31), rows=st.integers(1, 2**31), bounded=st.booleans())
def test_the_text_says_all_of_it(person: str | None, groups: int, rows: int, bounded: bool) -> None:  # noqa: FBT001
    limits: dict[str, Any] = (
        {}
        if person is None
        else {"max_groups_per_person": groups, "max_rows_per_group": rows, "max_rows_per_person": 9}
    )
    file = replace(FILE, person=person, adjacency=cl.ReplaceOne if bounded else cl.AddRemove, **limits)
    assert parse_schema_file(schema_text(file)) == file
    table = declared_table("people", file)
    assert (table.person, table.adjacency, table.schema) == (person, file.adjacency, FILE.schema)
    assert table.unit == ("row" if person is None else "person")


@pytest.mark.parametrize(
    ("column", "low", "high", "expected"),
    [
        ("age", 0, 100, cl.Integer(0, 100, null=0)),
        ("age", "-5", "1e2", cl.Integer(-5, 100, null=0)),
        ("age", 0, 100.0, cl.Integer(0, 100, null=0)),
        ("weight", "0.5", 250, cl.Real("0.5", 250, grid="0.1")),
        ("day", "2020-01-01", "2021-06-30", cl.Date("2020-01-01", "2021-06-30")),
        ("at", "2021-01-01 12:00:00", "2021-06-30", cl.Timestamp("2021-01-01 12:00:00", "2021-06-30")),
    ],
)
def test_bounds_are_changed_and_nothing_else(column: str, low: Any, high: Any, expected: Any) -> None:
    changed = replace_bounds(FILE, column, low, high).schema
    assert changed[column] == expected
    assert {name: kind for name, kind in changed.items() if name != column} == {
        name: kind for name, kind in FILE.schema.items() if name != column
    }
    assert list(changed) == list(FILE.schema)


def test_bounds_without_a_meaning_are_refused() -> None:
    cases: list[tuple[str, Any, Any]] = [
        ("age", 120, 0),
        ("age", 1, 120),  # nulls are taken as 0, which would be outside
        ("age", "0.5", 120),
        ("age", None, 120),
        ("age", "x", 120),
        ("age", float("nan"), 120),
        ("age", True, 120),
        ("age", [], {}),
        ("weight", 0, 0),
        ("weight", "1e400", 0),
        ("day", 3, 4),
        ("day", "2021-13-01", "2021-12-31"),
        ("day", None, None),
        ("at", "x", "y"),
    ]
    for column, low, high in cases:
        with pytest.raises((ParameterError, SchemaError)):
            replace_bounds(FILE, column, low, high)


def test_columns_without_bounds_and_columns_that_are_not_there_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"'sex' is Category.*has no bounds"):
        replace_bounds(FILE, "sex", 0, 1)
    with pytest.raises(NotFoundError, match="no column 'height'"):
        replace_bounds(FILE, "height", 0, 1)


def test_whom_a_table_protects_stays() -> None:
    person = replace(FILE, person="id", max_groups_per_person=1, max_rows_per_group=1)
    check_same_unit(person, replace(person, max_rows_per_group=5))
    for other in (FILE, replace(person, person="household"), replace(person, adjacency=cl.ReplaceOne)):
        with pytest.raises(CelosiaError, match="must keep person and adjacency"):
            check_same_unit(person, other)
