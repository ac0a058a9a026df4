"""What a file seems to hold is suggested to its owner, and decides nothing."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.data.draft import draft_schema
from celosia.data.files import Files
from celosia.data.sniffing import Suggestion, sniff_file
from celosia.data.text_format import TextFormat

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
    assert '\n# perhaps kind = "real"\n' in draft
    assert "999983" not in draft
    assert "ñ1" not in draft


def test_no_query_sniffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a query must not guess")

    monkeypatch.setattr("celosia.data.sniffing.sniff_file", refuse)
    monkeypatch.setattr("celosia.data.sniffing._sniff", refuse)
    (tmp_path / "a.csv").write_text("age\n34\n71\n")
    table = cl.table(str(tmp_path / "a.csv"), schema=cl.Schema(age=cl.Integer(0, 120)), name="t")
    with cl.Session(table, budget=cl.PureDP(epsilon=100)) as session:
        session.sql("SELECT COUNT(age) AS n FROM t", epsilon=50)
