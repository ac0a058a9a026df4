"""The tables of the kit hold every kind of unusual value."""

from __future__ import annotations

import math

import pytest

from celosia.testing.engines.reference_rows import clean_value
from celosia.testing.engines.tables import SCHEMA, nasty_rows, nasty_tables


@pytest.mark.parametrize("name", SCHEMA)
def test_every_column_has_nulls_and_values(name: str) -> None:
    column = nasty_rows().column(name)
    assert 0 < column.null_count < len(column) / 2


def test_numbers_are_extreme() -> None:
    rows = nasty_rows().to_pydict()
    assert {2**63 - 1, -(2**63)} <= set(rows["age"])
    assert {math.inf, -math.inf, 5e-324, 1e308} <= set(rows["weight"])
    assert any(value is not None and math.isnan(value) for value in rows["weight"])


@pytest.mark.parametrize("name", [name for name, kind in SCHEMA.items() if kind.axis is not None])
def test_some_numbers_are_clipped_and_some_are_not(name: str) -> None:
    clean = [clean_value(value, SCHEMA[name]) for value in nasty_rows().column(name).to_pylist()]
    assert len({value for value in clean if value is not None}) >= 2


def test_persons_have_few_rows_and_many() -> None:
    persons = nasty_rows().column("person").to_pylist()
    counts = {persons.count(person) for person in set(persons)}
    assert min(counts) < 20 < max(counts)


def test_tables_are_of_rows_persons_and_public() -> None:
    tables = nasty_tables()
    assert {name for name, table in tables.items() if table.person is not None} == {
        "people",
        "texts",
        "notes",
        "written",
    }
    assert {name for name, table in tables.items() if table.public} == {"book"}
