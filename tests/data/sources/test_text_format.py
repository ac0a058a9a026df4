"""A declared format is exact and refuses what no reader could follow."""

from __future__ import annotations

from typing import Any

import pytest

import celosia as cl
from celosia.core.errors import ParameterError, SchemaError
from celosia.data.schema_file import parse_schema_file
from celosia.data.sources.text_format import ENCODINGS, TextFormat, split_format

BAD: list[dict[str, Any]] = [
    *({"delimiter": sign} for sign in ("", ";;", "a", "1", '"', "\n", ".", "ñ", 7, "\0")),
    *({"encoding": name} for name in ("", "klingon", "rot13", "zip", "idna", None, 8, "utf-7", "\0")),
    *({"decimal": sign} for sign in ("", "..", ";", None, "·")),
    *({"date_format": text} for text in ("", "%d/%m", "%Y-%m-%d %S", "%d/%m/%Y/%y", "%d/%m/%Y %Q", "%d/%m/%Y %")),
    *({"date_format": text} for text in ("%d/%m/%Y %H", "%d/%m/%Y[", "%d %b %Y", "%d/%m/%Y %d", "%d\\%m/%Y", 7, [7])),
    *({"null_values": given} for given in (7, [1], ["\ud800"], ["a\0"], ["x" * 2000], ["x"] * 101, {"NA"})),
]


def test_what_cannot_be_followed_is_refused() -> None:
    for given in BAD:
        with pytest.raises(ParameterError, match=next(iter(given))):
            TextFormat(**given)


@pytest.mark.parametrize(("given", "known"), [("Latin1", "latin-1"), ("cp1252", "windows-1252"), ("UTF8", "utf-8")])
def test_an_encoding_has_one_name(given: str, known: str) -> None:
    assert TextFormat(encoding=given).encoding == known
    assert known in ENCODINGS


def test_equal_declarations_are_equal() -> None:
    assert TextFormat(date_format="%d/%m/%Y", null_values=["NA"]) == TextFormat(
        date_format=("%d/%m/%Y",), null_values=("NA",)
    )
    assert TextFormat().to_dict() == {}
    assert split_format("%d%m %Y") == ["%d", "%m", " ", "%Y"]


DECLARED = """
[table]
delimiter = ";"
encoding = "latin1"
decimal = ","
date_format = ["%d/%m/%Y", "%d/%m/%Y %H:%M"]
null_values = ["NA", "-"]

[columns.age]
kind = "integer"
low = 0
high = 120
"""


def test_schema_files_and_tables_declare_alike(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_bytes("age;año\n".encode("latin-1"))
    found = parse_schema_file(DECLARED).table(str(tmp_path / "a.csv"))
    given = cl.table(
        str(tmp_path / "a.csv"),
        schema=cl.Schema(age=cl.Integer(0, 120)),
        delimiter=";",
        encoding="latin-1",
        decimal=",",
        date_format=["%d/%m/%Y", "%d/%m/%Y %H:%M"],
        null_values=["NA", "-"],
    )
    assert found == given
    assert repr(found.source).endswith("'csv', ';', encoding='latin-1')")


def test_a_schema_file_says_what_is_wrong() -> None:
    cases: list[tuple[str, str, str]] = [
        ('decimal = ","', "decimal = 7", "The line decimal of .table. is 7"),
        ('decimal = ","', 'decimal = ";"', "The section .table. is not valid: decimal must be"),
        ('["NA", "-"]', "[1]", "The section .table. is not valid: null_values"),
        ('"latin1"', '"klingon"', "encoding must be one of utf-8, utf-16"),
    ]
    for before, after, message in cases:
        with pytest.raises(SchemaError, match=message):
            parse_schema_file(DECLARED.replace(before, after))
