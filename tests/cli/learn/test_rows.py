"""Rows in memory: cleaned as in every question, and new ones as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.cli.learn.rows import check_in_memory, clean_rows, new_rows
from celosia.core import ReplaceOne
from celosia.core.errors import InputError, ParameterError, SchemaError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120), dose=cl.Real(0, 1, grid="0.25", null="0.5"), sex=cl.Category("F", "M"), ill=cl.Boolean()
)
ROWS = pa.table(
    {
        "age": [34, None, 180, 7, 8],
        "dose": [0.3, 0.3, None, 9.0, float("nan")],
        "sex": ["F", "M", "F", "X", "M"],
        "ill": [True, False, True, False, True],
    }
)


def test_rows_are_cleaned_by_the_schema() -> None:
    table = cl.table(ROWS, schema=SCHEMA, name="t")
    assert clean_rows(table, ["ill", "age", "dose", "sex"]).to_pydict() == {
        "ill": [True, True, True],
        "age": [34, 120, 8],
        "dose": [0.25, 0.5, 0.5],
        "sex": ["F", "F", "M"],
    }


def test_no_rows_are_no_rows() -> None:
    table = cl.table(ROWS.slice(0, 0), schema=SCHEMA, name="t")
    found = clean_rows(table, ["age"])
    assert (found.num_rows, found.column_names) == (0, ["age"])


def test_what_a_fit_in_memory_would_not_keep_is_refused() -> None:
    who = ROWS.append_column("who", pa.array([1, 1, 2, 2, 3]))
    person = cl.table(who, schema=SCHEMA, name="t", person="who", max_groups_per_person=1, max_rows_per_group=1)
    with pytest.raises(ParameterError, match="protects persons"):
        check_in_memory(person, ["age"])
    public = cl.table(ROWS, schema=SCHEMA, name="t", adjacency=ReplaceOne)
    with pytest.raises(ParameterError, match="'age' are left out"):
        check_in_memory(public, ["dose", "age"])
    check_in_memory(public, ["dose"])
    check_in_memory(cl.table(ROWS, schema=SCHEMA, name="t"), ["age"])


def test_new_rows_are_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("ill;sex;age;more\nTrue;F;180;1\nfalse; x;;2\n;;-3.5;3\n", encoding="utf-8")
    kinds = {name: SCHEMA[name] for name in ("age", "sex", "ill")}
    found = new_rows(str(tmp_path / "new.csv"), kinds).to_pydict()
    assert found == {"age": [180.0, None, -3.5], "sex": ["F", " x", None], "ill": [1.0, 0.0, None]}
    pq.write_table(pa.table({"age": pa.array([3, None], pa.int16()), "sex": ["F", "M"]}), tmp_path / "new.parquet")
    found = new_rows(str(tmp_path / "new.parquet"), {"age": None, "sex": SCHEMA["sex"]}).to_pydict()
    assert found == {"age": [3.0, None], "sex": ["F", "M"]}


def test_new_rows_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age\nmany\n", encoding="utf-8")
    with pytest.raises(InputError, match="must be numbers") as refused:
        new_rows(str(tmp_path / "new.csv"), {"age": None})
    assert "many" not in str(refused.value)
    with pytest.raises(SchemaError, match="needs the columns age, sex"):
        new_rows(str(tmp_path / "new.csv"), {"age": None, "sex": None})
    pq.write_table(pa.table({"sex": ["F"]}), tmp_path / "new.parquet")
    with pytest.raises(SchemaError, match="needs the columns age"):
        new_rows(str(tmp_path / "new.parquet"), {"age": None})
