"""What is suggested to an owner depends on names and types, and not on the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celosia.core import ParameterError
from celosia.data.drafting.answers import suggest_kind
from celosia.data.drafting.inspection import InspectedColumn, inspect_source
from celosia.data.sources.classify import Frame

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("id_paciente", "edad", "peso", "alta", "importe", "nota")


def test_two_files_of_the_same_types_suggest_the_same(tmp_path: Path) -> None:
    """The second file has values far outside of what the first has."""
    near = [f"{i};{20 + i};{60 + i},5;{1 + i}/12/2021;{i},25;n{i}" for i in range(20)]
    far = [f"{10**9 + i};{900 + i};{-7_000_000 - i},5;{1 + i}/1/2919;{10**12 + i},25;Zenobia" for i in range(20)]
    found = []
    for name, rows in (("a", near), ("b", far)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "altas.csv").write_text("\n".join([";".join(NAMES), *rows]), encoding="latin-1")
        found.append(inspect_source(str(tmp_path / name / "altas.csv")))
        typed = pa.table({"edad": [int(row.split(";")[1]) for row in rows], "peso": [1.5] * 20})
        pq.write_table(typed, tmp_path / name / "altas.parquet")
        found.append(inspect_source(str(tmp_path / name / "altas.parquet")))
    csv, parquet, other_csv, other_parquet = (replace(one, source=Frame(None)) for one in found)
    nowhere = found[0].source
    assert replace(csv, source=nowhere) == replace(other_csv, source=nowhere)
    assert replace(parquet, source=nowhere) == replace(other_parquet, source=nowhere)
    assert [repr(suggest_kind(column)) for column in csv.columns] == [
        "None", "Integer(0, 120)", "Real(0, 300)", "Date('1900-01-01', '2100-01-01')", "None", "Text()",
    ]  # fmt: skip
    assert csv.person == "id_paciente"


def test_columns_that_cannot_be_asked_about_are_left_out() -> None:
    found = inspect_source(pa.table({"age": [1], "scan": [b"x"], "a\nb": [1]}), name="people")
    assert [column.name for column in found.columns] == ["age"]
    assert [column.name for column in found.left_out] == ["scan", "a\nb"]
    assert (found.name, found.untyped, found.columns[0].type) == ("people", False, "int64")


def test_a_column_without_a_kind_suggests_nothing() -> None:
    column = InspectedColumn(name="edad")
    assert (column.kind, column.domain, column.identifying) == (None, None, False)


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(ParameterError, match="source must be"):
        inspect_source(3)
