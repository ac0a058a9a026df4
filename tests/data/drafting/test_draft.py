"""Drafts say what has to be filled in, and nothing of the rows."""

from __future__ import annotations

import datetime as dt
import tomllib
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.core.errors import SchemaError
from celosia.data.drafting.draft import draft_schema
from celosia.data.schema.columns import Boolean, Date, Integer, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.schema_file import parse_schema_file

if TYPE_CHECKING:
    from pathlib import Path

MOMENT = dt.datetime(1913, 5, 6, 7, 8, 9, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "age": [108],
        "weight, in kg": [47.25],
        "alive": [False],
        "name": ["Eulalia"],
        "día": [MOMENT.date()],
        "when": [MOMENT],
        "scan": [b"raw"],
    }
)
SECRETS = ("108", "47.25", "Eulalia", "1913", "raw")


def test_a_draft_has_a_section_for_every_column() -> None:
    text = draft_schema(TABLE)
    assert tomllib.loads(text) == {
        "table": {"name": "data"},
        "columns": {
            "age": {"kind": "integer"},
            "weight, in kg": {"kind": "real"},
            "alive": {"kind": "boolean"},
            "name": {"kind": "text"},
            "día": {"kind": "date"},
            "when": {"kind": "timestamp"},
        },
    }
    assert text.count("# low = ?") == text.count("# high = ?") == 4
    assert "# 'scan' is left out: binary cannot be asked about." in text
    assert not any(secret in text for secret in SECRETS)
    assert max(map(len, text.splitlines())) <= 120


def test_drafts_do_not_depend_on_the_rows(tmp_path: Path) -> None:
    for name, rows in (("a", TABLE), ("b", TABLE.slice(0, 0)), ("c", pa.concat_tables([TABLE] * 3))):
        (tmp_path / name).mkdir()
        pq.write_table(rows, tmp_path / name / "deaths.parquet")
    drafts = {draft_schema(tmp_path / name / "deaths.parquet") for name in "abc"}
    assert len(drafts) == 1
    assert 'name = "deaths"' in drafts.pop()


def test_an_unfilled_draft_says_all_that_is_missing() -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema_file(draft_schema(TABLE))
    assert str(caught.value) == (
        "The schema is not filled in: [columns.age] needs low and high; [columns.weight, in kg] needs low and high; "
        "[columns.día] needs low and high; [columns.when] needs low and high."
    )
    with pytest.raises(SchemaError, match=r"a section \[table\]"):
        Schema.from_toml(draft_schema(TABLE))


def test_a_filled_draft_is_a_schema() -> None:
    text = draft_schema(TABLE)
    for bounds in ((0, 120), (0, 300), ('"2021-01-01"', '"2021-12-31"'), ('"2021-01-01"', '"2021-12-31"')):
        for name, value in zip(("low", "high"), bounds, strict=True):
            text = text.replace(f"# {name} = ?", f"{name} = {value}", 1)
    expected = Schema(
        {
            "age": Integer(0, 120),
            "weight, in kg": Real(0, 300),
            "alive": Boolean(),
            "name": Text(),
            "día": Date("2021-01-01", "2021-12-31"),
            "when": Timestamp("2021-01-01", "2021-12-31"),
        }
    )
    assert parse_schema_file(text).schema == expected
    assert parse_schema_file(text).table(TABLE).schema == expected


def test_a_csv_file_has_the_kinds_that_its_cells_seem_to_have(tmp_path: Path) -> None:
    (tmp_path / "deaths.csv").write_text("age;sex;empty\n108;Eulalia;\n", encoding="utf-8")
    text = draft_schema(tmp_path / "deaths.csv")
    assert not any(secret in text for secret in SECRETS)
    with pytest.raises(SchemaError, match=r"\[columns\.age\] needs low and high; \[columns\.empty\] needs kind\."):
        parse_schema_file(text)
    assert "# perhaps 0 and 120 (years)" in text
    for line, filled in (("# low = ?", "low = 0"), ("# high = ?", "high = 99"), ("# kind = ?", 'kind = "text" #')):
        text = text.replace(line, filled)
    assert parse_schema_file(text).schema == Schema(age=Integer(0, 99), sex=Text(), empty=Text())


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=5, unique=True))
def test_any_names_make_valid_toml(names: list[str]) -> None:
    clean = [name.encode("utf-8", "replace").decode() for name in names]
    table = pa.table([pa.array([True])] * len(clean), names=clean)
    found = tomllib.loads(draft_schema(table)).get("columns", {})
    assert list(found) == [name for name in dict.fromkeys(clean) if name.isprintable()]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="source must be"):
        draft_schema([1, 2])


def test_a_given_name_is_written_down() -> None:
    assert 'name = "people"' in draft_schema(pd.DataFrame({"age": [1]}), name="people")
