"""Schema files: columns, the table's own section, and messages that name the line to mend."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import AddRemove, ReplaceOne
from celosia.core.errors import CelosiaError, SchemaError
from celosia.data.schema.columns import Category, Integer, Real, Text
from celosia.data.schema.schema import Schema
from celosia.data.schema_file import SchemaFile, parse_schema_file, read_schema_file
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
[table]
name = "visits"
person = "who"
max_groups_per_person = 2
max_rows_per_group = 3
max_rows_per_person = 40
adjacency = "replace-one"

[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
SCHEMA = Schema(age=Integer(0, 120), sex=Category("F", "M"))
ROWS = pa.table({"who": [1, 1], "age": [34, 35], "sex": ["F", "F"]})


def test_a_file_with_everything(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text("\ufeff" + TEXT, encoding="utf-8")
    found = read_schema_file(file)
    assert found == SchemaFile(
        schema=SCHEMA,
        name="visits",
        person="who",
        max_groups_per_person=2,
        max_rows_per_group=3,
        max_rows_per_person=40,
        adjacency=ReplaceOne,
    )
    made = found.table(ROWS)
    assert (made.name, made.person, made.adjacency, made.unit) == ("visits", "who", ReplaceOne, "person")
    assert found.table(ROWS, name="people").name == "people"
    assert read_schema_file(str(file)) == found


def test_a_schema_alone_is_a_file() -> None:
    found = parse_schema_file(SCHEMA.to_toml())
    assert found == SchemaFile(schema=SCHEMA)
    assert found.adjacency is AddRemove
    assert found.table(ROWS).unit == "row"


def test_what_has_to_be_mended_is_named() -> None:
    cases: list[tuple[str, str, str]] = [
        ("high = 120", "high = ?", r"not filled in: \[columns\.age\] needs high\."),
        ("high = 120", "high = ?  # years", r"not filled in: \[columns\.age\] needs high\."),
        ("high = 120", "# high = ?", r"not filled in: \[columns\.age\] needs high\."),
        ("high = 120", "high = 120\nnull = ?", r"\[columns\.age\] needs null\."),
        ('kind = "integer"\nlow = 0', "kind = ?\nlow = ?", r"\[columns\.age\] needs kind and low\."),
        ('values = ["F", "M"]', "", r"\[columns\.sex\] needs values\."),
        ('person = "who"', "person = ?", r"\[table\] needs person\."),
        ('"who"\nmax_groups_per_person = 2', "?\nmax_groups_per_person = ?", "needs person and max_groups_per_person"),
        ('kind = "integer"', 'kind = "number"', "one of integer, real"),
        ('kind = "integer"', "kind = 3", "needs a line kind"),
        ("low = 0", "low = 200", "column 'age' is not valid"),
        ("low = 0", "lowest = 0\nlow = 0", "'lowest'"),
        ("[table]", "[tables]", "section 'tables'"),
        ("[table]", "[table", "not TOML"),
        ("max_rows_per_group = 3", "max_rows_per_group = 3.0", "line max_rows_per_group.*wrong type"),
        ('name = "visits"', 'title = "visits"', r"\[table\] has 'title'"),
        ('name = "visits"', "name = 3", "line name.*wrong type"),
        ("max_rows_per_group = 3", "max_rows_per_group = true", "line max_rows_per_group.*wrong type"),
        ("max_rows_per_group = 3", 'max_rows_per_group = "3"', "line max_rows_per_group.*wrong type"),
        ('"replace-one"', '"bounded"', "adjacency must be"),
    ]
    for old, new, message in cases:
        assert old in TEXT
        with pytest.raises(CelosiaError, match=message):
            parse_schema_file(TEXT.replace(old, new))


def test_what_is_no_schema_is_refused() -> None:
    cases: list[str] = ["", "columns = 3", "table = 3\n" + SCHEMA.to_toml(), "[columns]", "[columns]\nage = 3"]
    for text in cases:
        with pytest.raises(SchemaError):
            parse_schema_file(text)


def test_a_question_mark_may_be_a_value() -> None:
    found = parse_schema_file('[columns.note]\nkind = "text"\nnull = "?"\n')
    assert found.schema == Schema(note=Text(null="?"))
    found = parse_schema_file('[columns.answer]\nkind = "category"\nvalues = ["yes", "no", "?"]\n')
    assert found.schema == Schema(answer=Category("yes", "no", "?"))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "a.toml", tmp_path):
        with pytest.raises(SchemaError, match="cannot be read as a text"):
            read_schema_file(path)
    with pytest.raises(SchemaError, match="There is no schema file"):
        read_schema_file(tmp_path / "none.toml")


_VALUES = {
    "name": "'visits'",
    "person": "'who'",
    "max_groups_per_person": "2",
    "max_rows_per_group": "3",
    "adjacency": "'replace-one'",
    "persons": "'who'",
}


@given(st.sets(st.sampled_from(sorted(_VALUES))), st.sampled_from(["table", "Table", "tables", "TABLE"]))
def test_a_table_section_is_obeyed_or_refused(lines: set[str], section: str) -> None:
    """No text that names a person makes a table that protects rows."""
    text = "\n".join([f"[{section}]", *(f"{line} = {_VALUES[line]}" for line in sorted(lines)), SCHEMA.to_toml()])
    with pytest.raises(SchemaError):
        Schema.from_toml(text)
    try:
        made = parse_schema_file(text).table(ROWS)
    except CelosiaError:
        return
    assert (made.unit == "person") == ("person" in lines)
    assert (made.adjacency is ReplaceOne) == ("adjacency" in lines)
    assert not lines & {"persons"}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(CelosiaError):
        parse_schema_file(text)


def test_what_is_written_is_read_back() -> None:
    columns = Schema({"a b": Integer(0, 9), "día": Category("F\x7f", "\tM"), "x": Real(0, 1, grid="0.1", null="0.5")})
    for made in (
        SchemaFile(schema=columns),
        SchemaFile(
            schema=columns,
            name="visits",
            person="quién",
            max_groups_per_person=2,
            max_rows_per_group=3,
            max_rows_per_person=500,
            adjacency=ReplaceOne,
            text=TextFormat(
                delimiter="\t", encoding="latin-1", decimal=",", date_format="%d/%m/%Y", null_values=['"', "-"]
            ),
        ),
    ):
        assert parse_schema_file(made.to_toml()) == made
