from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import CelosiaError
from celosia.data import Category, Date, Integer, Real, Text
from celosia.data.drafting.inspection import inspect_source
from celosia.data.schema.columns import Boolean
from celosia.data.schema_file import parse_schema_file
from celosia.guard.web.schema_form import make_schema, read_rows, suggest_rows

if TYPE_CHECKING:
    from pathlib import Path

    from celosia.data.drafting.inspection import Inspection

ROWS = """patient_id;age;bill;sex;born;ward;ok;name
1;34;10,5;F;02/01/1990;3;true;Ana
2;71;7;M;31/12/1951;4;false;Leo
"""


@pytest.fixture
def found(tmp_path: Path) -> Inspection:
    (tmp_path / "visits.csv").write_text(ROWS)
    return inspect_source(str(tmp_path / "visits.csv"))


def test_suggestions_come_from_names_and_kinds(found: Inspection, tmp_path: Path) -> None:
    rows = {row.name: row for row in suggest_rows(found)}
    assert (rows["patient_id"].kind, rows["name"].kind) == ("", "")
    assert (rows["age"].kind, rows["age"].low, rows["age"].high) == ("integer", "0", "120")
    assert (rows["bill"].kind, rows["bill"].low, rows["bill"].high) == ("real", "0", "")
    assert all(row.values == row.null == "" for row in rows.values())
    (tmp_path / "visits.csv").write_text(re.sub("34|71", "33", ROWS))  # other rows, the same suggestions
    assert suggest_rows(inspect_source(str(tmp_path / "visits.csv"))) == list(rows.values())


def test_a_form_declares_a_schema(found: Inspection) -> None:
    form = {
        "kind-1": "integer", "low-1": "0", "high-1": "120", "null-1": "7",
        "kind-2": "real", "low-2": "0", "high-2": "99,5", "null-2": "0,5",
        "kind-3": "category", "values-3": "F, M", "null-3": "F",
        "kind-4": "date", "low-4": "1900-01-01", "high-4": "2100-01-01", "null-4": "1950-01-01",
        "kind-5": "category", "values-5": "3,4", "null-5": "3",
        "kind-6": "boolean", "null-6": "FALSE",
        "kind-7": "text", "null-7": "?",
        "person": "patient_id", "max_groups_per_person": "2", "max_rows_per_group": " 3 ",
    }  # fmt: skip
    made = make_schema(form, found)
    assert dict(made.schema) == {
        "age": Integer(0, 120, null=7),
        "bill": Real(0, "99.5", null="0.5"),
        "sex": Category("F", "M", null="F"),
        "born": Date("1900-01-01", "2100-01-01", null="1950-01-01"),
        "ward": Category(3, 4, null=3),
        "ok": Boolean(null=False),
        "name": Text(null="?"),
    }
    assert (made.person, made.max_groups_per_person, made.max_rows_per_group) == ("patient_id", 2, 3)
    assert made.max_rows_per_person is None
    assert (made.text.decimal, made.text.date_format) == (",", ("%d/%m/%Y",))
    assert parse_schema_file(made.to_toml()) == made
    assert read_rows(form, found)[1].high == "120"


def test_a_form_that_does_not_fit_names_the_column(found: Inspection) -> None:
    whole = {"kind-1": "integer", "low-1": "0", "high-1": "120"}
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "column"),
        ({"kind-1": "nothing"}, "'age'"),
        ({"kind-1": "integer"}, "'age'"),
        ({**whole, "low-1": "9", "high-1": "1"}, "'age'"),
        ({**whole, "low-1": "0..1"}, "'age'"),
        ({**whole, "high-1": "1.5"}, "'age'"),
        ({**whole, "high-1": "nan"}, "'age'"),
        ({**whole, "null-1": "121"}, "'age'"),
        ({**whole, "null-1": "x"}, "'age'"),
        ({"kind-3": "category"}, "'sex'"),
        ({"kind-3": "category", "values-3": "F, F"}, "'sex'"),
        ({"kind-3": "category", "values-3": "F", "null-3": "M"}, "'sex'"),
        ({"kind-6": "boolean", "null-6": "perhaps"}, "'ok'"),
        ({**whole, "person": "nobody"}, "nobody"),
        ({**whole, "person": "patient_id", "max_groups_per_person": "", "max_rows_per_group": "1"}, "max_groups"),
        ({**whole, "person": "patient_id", "max_groups_per_person": "0", "max_rows_per_group": "1"}, "max_groups"),
        ({**whole, "person": "patient_id", "max_groups_per_person": "1", "max_rows_per_group": "1e3"}, "max_rows"),
    ]
    for form, words in cases:
        with pytest.raises(CelosiaError, match=words):
            make_schema(form, found)
