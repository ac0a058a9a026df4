"""Unreadable cells are counted exactly, for the owner, and by nothing that an analyst can reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import SchemaError
from celosia.query.engines.readability import CellCounts, ColumnCounts, count_cells, list_values

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120, null=7),
    weight=cl.Real(0, 300),
    born=cl.Date("1900-01-01", "2021-12-31"),
    sex=cl.Category("F", "M", "X", null="F"),
    code=cl.Category(1, 2),
    hale=cl.Boolean(null=False),
    note=cl.Text(),
)
CELLS: dict[str, list[str | None]] = {
    "who": ["1", "2", None, "NA", "2"],
    "age": ["34", "old", "x", "y", "999"],
    "weight": ["60,5", "60.5", "1", "1", "NA"],
    "born": ["31/12/2021", "2021-12-31", "NA", None, "31/02/2021"],
    "sex": ["F", "f", "X", "X", ""],
    "code": ["1", "3", "1", "1", "2,0"],
    "hale": ["yes", "perhaps", "no", "no", None],
    "note": ["a", "", "b", "c", None],
}
DECLARED: dict[str, Any] = {"decimal": ",", "date_format": "%d/%m/%Y", "null_values": "NA"}


def counts_of(table: Any, **more: Any) -> CellCounts:
    return count_cells(cl.table(table, schema=SCHEMA, name="t", **{**DECLARED, **more}))


def test_cells_are_counted_whatever_the_null_rule() -> None:
    limits: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}
    found = counts_of(pa.table(CELLS), **limits)
    assert (found.rows, found.without_person, found.lost) == (5, 2, 0)
    assert {one.name: (one.filled, one.unreadable, one.unused) for one in found.columns} == {
        "age": (3, 1, ()),  # 999 is clipped, and a number
        "weight": (2, 1, ()),
        "born": (3, 2, ()),
        "sex": (3, 2, ("M", "X")),  # those of nobody do not count
        "code": (3, 1, ()),
        "hale": (2, 1, ()),
        "note": (2, 0, ()),
    }
    assert found.columns[0].share == pytest.approx(1 / 3)


def test_no_rows_are_no_error() -> None:
    found = counts_of(pa.table(CELLS).slice(0, 0))
    assert found.rows == 0
    assert all((one.filled, one.unreadable, one.share) == (0, 0, 0.0) for one in found.columns)
    assert found.lost_share == 0.0


def test_nan_in_a_column_of_floats_is_no_content() -> None:
    rows = pa.table({"x": [1.0, float("nan"), float("inf"), None]})
    [found] = count_cells(cl.table(rows, schema=cl.Schema(x=cl.Real(0, 9)), name="t")).columns
    assert found == ColumnCounts(name="x", kind="Real", filled=2, unreadable=1)


def test_rows_of_another_encoding_are_counted_and_hide_no_other_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("town;age\nLeón;34\nLima;x\nAlba;71\n".encode("latin-1"))
    schema = cl.Schema(town=cl.Category("León", "Lima", "Alba"), age=cl.Integer(0, 120))
    found = count_cells(cl.table(str(tmp_path / "a.csv"), schema=schema, name="t"))
    assert (found.rows, found.lost) == (3, 1)
    assert [(one.filled, one.unreadable, one.unused) for one in found.columns] == [(2, 0, ("León",)), (3, 1, ())]


def test_all_columns_of_a_wrong_type_are_named() -> None:
    rows = pa.table({"a": [True], "b": [1.5], "c": [1]})
    schema = cl.Schema(a=cl.Date("2021-01-01", "2021-12-31"), b=cl.Text(), c=cl.Integer(0, 1))
    with pytest.raises(SchemaError, match=r"'a' of 't' .* as Date\. The column 'b' of 't' .* as Text\.$"):
        count_cells(cl.table(rows, schema=schema, name="t"))


def test_values_are_listed_for_the_owner_unless_they_are_many() -> None:
    rows = pa.table({"ward": ["B", "NA", None, "Á", "B", ""], "code": [7, -7, 7, None, 10**14, 0]})
    texts = cl.table(rows, schema=cl.Schema(ward=cl.Text()), name="t", null_values="NA")
    assert list_values(texts, "ward", most=3) == ["", "B", "Á"]
    assert list_values(texts, "ward", most=2) is None
    numbers = cl.table(rows, schema=cl.Schema(code=cl.Integer(-(10**15), 10**15)), name="t")
    assert list_values(numbers, "code", most=9) == [-7, 0, 7, 10**14]
    with pytest.raises(SchemaError, match="'x'"):
        list_values(cl.table(pa.table({"x": [1.5]}), schema=cl.Schema(x=cl.Text()), name="t"), "x", most=9)


IMPORTED = re.compile(r"engines(\.| import .*)readability")


def test_only_the_owner_s_command_counts() -> None:
    root = Path(cl.__file__).parent
    found = [str(file.relative_to(root)) for file in root.rglob("*.py") if IMPORTED.search(file.read_text())]
    assert sorted(found) == ["cli/query/schema_check.py", "cli/query/schema_wizard.py"]
