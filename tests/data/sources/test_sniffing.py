"""What a file seems to hold is suggested to its owner, and decides nothing."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.data.drafting.draft import draft_schema
from celosia.data.sources.files import Files
from celosia.data.sources.sniffing import Suggestion, sniff_file
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    from pathlib import Path

SPANISH = "edad;peso;año;alta\n" + "".join(f"{i};{i},5;ñ{i};{1 + i % 28:02d}/12/2021\n" for i in range(40))


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-8"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_what_a_file_is_written_in_is_seen(tmp_path: Path, encoding: str, ending: str) -> None:
    text = SPANISH.replace("ñ1;", "€1;") if encoding == "windows-1252" else SPANISH
    file = tmp_path / f"a{ending}"
    file.write_bytes(gzip.compress(text.encode(encoding)) if ending.endswith("gz") else text.encode(encoding))
    found = sniff_file(Files((str(file),), "csv"))
    assert found.text == TextFormat(delimiter=";", encoding=encoding, decimal=",", date_format="%d/%m/%Y")
    assert found.kinds == {"edad": "integer", "peso": "real", "año": "text", "alta": "date"}


def test_a_plain_file_has_nothing_to_declare(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,weight,seen\n34,60.5,2021-12-31\n71,80.5,2021-12-30\n")
    assert sniff_file(Files((str(tmp_path / "a.csv"),), "csv")).text == TextFormat(delimiter=",")
    assert "seem to be written" not in draft_schema(str(tmp_path / "a.csv"))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\0\0\0", b'"', b"a\n\xff\xff\n", b"\n" * 50])
def test_a_file_of_any_content_is_no_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert isinstance(sniff_file(Files((str(tmp_path / "a.csv"),), "csv")), Suggestion)
    assert sniff_file(Files((str(tmp_path / "none.parquet"),), "parquet")) == Suggestion()


def test_words_and_a_few_wrong_cells_do_not_hide_a_kind(tmp_path: Path) -> None:
    columns = {
        "edad": ["NA", "old", *map(str, range(40))],
        "peso": ["-", "60,5", *(f"{i},5" for i in range(40))],
        "alta": ["S/D", "yesterday", *(f"{1 + i % 28}/1/2021" for i in range(40))],
        "hora": ["", "", *(f"2/1/2021 9:{10 + i}" for i in range(40))],
        "fuma": ["Sí", "NO", *(["s", "N"] * 20)],
        "nacido": ["2001-02-03", "2001-02-03", *(["1999-12-31"] * 40)],  # ISO beside another format is declared too
        "sexo": ["F", "F", *(["F"] * 40)],  # F alone may be false, or a woman
        "zona": ["NA", "NA", *(["Norte"] * 40)],  # nulls, or North America: among texts nothing is suggested
        "nada": [""] * 42,
    }
    rows = zip(*columns.values(), strict=True)
    (tmp_path / "a.csv").write_text("\n".join(";".join(row) for row in [tuple(columns), *rows]), encoding="utf-8")
    found = sniff_file(Files((str(tmp_path / "a.csv"),), "csv"))
    kinds = ("integer", "real", "date", "timestamp", "boolean", "date", "text", "text")
    assert found.kinds == dict(zip(columns, kinds, strict=False))
    assert found.text.null_values == ("NA", "-", "S/D")
    assert set(found.text.date_format) == {"%d/%m/%Y", "%d/%m/%Y %H:%M", "%Y-%m-%d"}
    assert found.text.decimal == ","


def test_what_the_owner_knows_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("año;b|c\n1;2|3\n4;5|6\n".encode("cp850"))
    found = sniff_file(Files((str(tmp_path / "a.csv"),), "csv"), delimiter="|", encoding="cp850")
    assert (found.text.delimiter, found.text.encoding) == ("|", "cp850")
    assert found.kinds == {"año;b": "text", "c": "integer"}


def test_a_long_file_is_cut_at_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;town\n" + "34;León\n" * 200_000, encoding="latin-1")
    found = sniff_file(Files((str(tmp_path / "a.csv"),), "csv"))
    assert (found.text.encoding, found.kinds) == ("latin-1", {"age": "integer", "town": "text"})


def test_suggestions_are_comments_in_the_draft_and_no_value_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(SPANISH.replace("39,5", "999983,5").encode("latin-1"))
    draft = draft_schema(str(tmp_path / "a.csv"))
    for line in ('# delimiter = ";"', '# encoding = "latin-1"', '# decimal = ","', '# date_format = ["%d/%m/%Y"]'):
        assert f"\n{line}\n" in draft
    assert '[columns."año"]' in draft
    assert '\n[columns.peso]     # as it seems\nkind = "real"\n# low = ?\n' in draft
    assert "999983" not in draft
    assert "ñ1" not in draft


def test_no_query_sniffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a query must not guess")

    monkeypatch.setattr("celosia.data.sources.sniffing.sniff_file", refuse)
    monkeypatch.setattr("celosia.data.sources.sniffing._sniff", refuse)
    (tmp_path / "a.csv").write_text("age\n34\n71\n")
    table = cl.table(str(tmp_path / "a.csv"), schema=cl.Schema(age=cl.Integer(0, 120)), name="t")
    with cl.Session(table, budget=cl.PureDP(epsilon=100)) as session:
        session.sql("SELECT COUNT(age) AS n FROM t", epsilon=50)
