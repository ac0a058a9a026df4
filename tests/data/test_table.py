"""Tables: what has to be said of them, what is refused, and that nothing of the rows is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.core.errors import SchemaError
from celosia.data.schema.columns import Category, Integer, Text
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Database, Frame
from celosia.data.sources.files import Files
from celosia.data.table import Table, table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"who": ["Eulalia", "Eulalia"], "age": [108, 107], "sex": ["F", "F"], "bytes": [b"x", b"y"]})
SCHEMA = Schema(age=Integer(0, 120), sex=Category("F", "M"))
PERSON: dict[str, Any] = {"person": "who", "max_groups_per_person": 2, "max_rows_per_group": 3}


def test_a_table_of_rows() -> None:
    made = table(ROWS, schema=SCHEMA)
    assert (made.name, made.schema, made.person, made.unit, made.adjacency) == ("data", SCHEMA, None, "row", AddRemove)
    assert (made.max_groups_per_person, made.max_rows_per_group, made.public, made.key) == (None, None, False, ())
    assert isinstance(made.source, Frame)
    assert made.source.frame is ROWS
    assert repr(made) == "<Table data(age, sex), unit row>"


def test_a_table_of_persons() -> None:
    made = table(ROWS, schema=dict(SCHEMA), name="deaths", adjacency=ReplaceOne, **PERSON)
    assert (made.unit, made.person, made.max_groups_per_person, made.max_rows_per_group) == ("person", "who", 2, 3)
    assert made.schema == SCHEMA
    assert repr(made) == "<Table deaths(age, sex), unit person: who, 2 groups, 3 rows in each, ReplaceOne>"
    assert not any(secret in repr(made) for secret in ("108", "Eulalia"))
    assert made == table(made.source, schema=SCHEMA, name="deaths", adjacency=ReplaceOne, **PERSON)
    assert made != table(ROWS, schema=SCHEMA, name="deaths", adjacency=ReplaceOne, **PERSON)  # another source
    with pytest.raises(AttributeError):
        made.person = None  # type: ignore[misc]


def test_the_name_is_the_file_s_stem(tmp_path: Path) -> None:
    file = tmp_path / "deaths-2021.parquet"
    pq.write_table(ROWS, file)
    made = table(file, schema=SCHEMA)
    assert (made.name, made.source) == ("deaths_2021", Files((str(file),), "parquet"))
    assert table(file, schema=SCHEMA, name="defunción").name == "defunción"
    assert made == table(str(file), schema=SCHEMA)
    assert hash(made) == hash(table(str(file), schema=SCHEMA))


def test_a_database_is_not_opened() -> None:
    made = table("postgresql://ana:hush@nowhere.invalid/registry", name="public.Deaths", schema=SCHEMA, **PERSON)
    assert made.name == "Deaths"
    assert made.source == Database("postgresql://ana:hush@nowhere.invalid/registry", "Deaths", "public")
    assert "hush" not in repr(made) + repr(made.source)


def test_names_are_identifiers() -> None:
    cases: list[Any] = ["", "a b", "1a", "a;b", "a.b", "a-b", "x" * 64, 3, b"a"]
    for name in cases:
        with pytest.raises(ParameterError, match="name must be letters"):
            table(ROWS, schema=SCHEMA, name=name)


# ---- persons


def test_a_person_needs_both_limits() -> None:
    for missing in ("max_groups_per_person", "max_rows_per_group"):
        with pytest.raises(ParameterError, match=f"person='who' needs {missing}: in how many"):
            table(ROWS, schema=SCHEMA, **{**PERSON, missing: None})
    with pytest.raises(ParameterError, match="needs max_groups_per_person and max_rows_per_group"):
        table(ROWS, schema=SCHEMA, person="who")


def test_limits_need_a_person() -> None:
    with pytest.raises(ParameterError, match="max_rows_per_group can only be given"):
        table(ROWS, schema=SCHEMA, max_rows_per_group=3)
    with pytest.raises(ParameterError, match="max_rows_per_person can only be given"):
        table(ROWS, schema=SCHEMA, max_rows_per_person=3)


def test_limits_are_whole_numbers() -> None:
    limit_cases: list[object] = [0, -1, 1.0, "2", True, 2**31 + 1]
    name_cases: list[str] = ["max_groups_per_person", "max_rows_per_group", "max_rows_per_person"]
    for limit in limit_cases:
        for name in name_cases:
            with pytest.raises(ParameterError, match=f"{name} must be"):
                table(ROWS, schema=SCHEMA, **{**PERSON, name: limit})


def test_a_person_is_a_column() -> None:
    cases: list[object] = ["", 3, True, ["who"]]
    for person in cases:
        with pytest.raises(ParameterError, match="person must be the name of a column"):
            table(ROWS, schema=SCHEMA, **{**PERSON, "person": person})


def test_a_person_cannot_be_asked_about() -> None:
    with pytest.raises(SchemaError, match="must not be in the schema"):
        table(ROWS, schema=Schema(who=Text()), **PERSON)


# ---- columns


def test_columns_that_are_not_there_are_named_and_others_are_not() -> None:
    for arguments in ({"schema": Schema(agee=Integer(0, 120))}, {"schema": SCHEMA, **PERSON, "person": "whom"}):
        with pytest.raises(SchemaError, match=r"'(agee|whom)'.*does not have") as caught:
            table(ROWS, **arguments)
        assert "bytes" not in str(caught.value)


def test_the_first_row_of_a_file_without_a_header_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("108,Eulalia\n107,Eulalia\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="'age'") as caught:
        table(tmp_path / "a.csv", schema=SCHEMA)
    assert "108" not in str(caught.value)


def test_capitals_do_not_tell_columns_apart() -> None:
    rows = pa.table({"age": [1], "AGE": [2], "sex": ["F"]})
    assert table(rows, schema=Schema(sex=Text())).name == "data"
    for name in ("age", "AGE"):
        with pytest.raises(SchemaError, match="has twice"):
            table(rows, schema=Schema({name: Integer(0, 120)}))


def test_columns_of_other_types_cannot_be_asked_about_but_can_tell_persons() -> None:
    with pytest.raises(SchemaError, match="'bytes' is of the type binary"):
        table(ROWS, schema=Schema(bytes=Text()))
    assert table(ROWS, schema=SCHEMA, **{**PERSON, "person": "bytes"}).person == "bytes"


def test_a_private_table_needs_a_schema() -> None:
    cases: list[Any] = [None, 3, "schema.toml", [("age", Integer(0, 120))]]
    for schema in cases:
        with pytest.raises(ParameterError, match=r"schema must be a Schema.*never read from the data"):
            table(ROWS, schema=schema)


def test_a_mapping_is_checked_as_a_schema() -> None:
    with pytest.raises(SchemaError, match="needs a kind"):
        table(ROWS, schema={"age": Integer})  # type: ignore[dict-item]


def test_other_neighbours_are_refused() -> None:
    cases: list[Any] = ["bounded", None, 1]
    for adjacency in cases:
        with pytest.raises(ParameterError, match="adjacency must be"):
            table(ROWS, schema=SCHEMA, adjacency=adjacency)


# ---- public tables

CODES = pd.DataFrame({"code": ["A", "B"], "beds": [10, 250], "note": ["x", "x"]})


def test_a_public_table_is_read() -> None:
    made = table(CODES, public=True, key="code", name="codes")
    assert made.public
    assert made.key == ("code",)
    assert made.schema == Schema(code=Category("A", "B"), beds=Integer(10, 250), note=Category("x"))
    assert repr(made) == "<Table codes(code, beds, note), public by code>"
    assert isinstance(made.source, Frame)
    assert made.source.frame.to_pydict() == CODES.to_dict("list")


def test_a_public_table_may_have_a_schema() -> None:
    schema = Schema(code=Category("A", "B", "C"), beds=Integer(0, 1000))
    made = table(CODES, schema=schema, public=True, key=["code", "beds"])
    assert (made.schema, made.key) == (schema, ("code", "beds"))
    assert isinstance(made.source, Frame)
    assert made.source.frame.column_names == ["code", "beds"]


def test_what_a_public_table_needs() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"key": None}, ParameterError, "key must name"),
        ({"key": ()}, ParameterError, "key must name"),
        ({"key": [1]}, ParameterError, "key must name"),
        ({"key": "codes"}, SchemaError, "key names 'codes'"),
        ({"key": "beds", "schema": Schema(code=Text())}, SchemaError, "key names 'beds'"),
        ({"key": "note"}, SchemaError, "a key twice"),
        ({"key": "code", "schema": Schema(code=Text(), age=Integer(0, 1))}, SchemaError, "'age'.*does not have"),
        ({"key": "code", "schema": 3}, ParameterError, "schema must be"),
        ({"key": "code", "person": "code"}, ParameterError, "person can only be given"),
        ({"key": "code", "max_rows_per_group": 1}, ParameterError, "max_rows_per_group can only be given"),
    ]
    for arguments, error, message in cases:
        with pytest.raises(error, match=message):
            table(CODES, public=True, **arguments)


def test_a_key_is_for_public_tables() -> None:
    with pytest.raises(ParameterError, match="key is for public tables"):
        table(ROWS, schema=SCHEMA, key="age")
    with pytest.raises(ParameterError, match="public must be True or False"):
        table(ROWS, schema=SCHEMA, public="yes")  # type: ignore[arg-type]


def test_a_table_is_a_plain_value() -> None:
    assert Table(name="a", source=Frame(ROWS), schema=SCHEMA).unit == "row"
