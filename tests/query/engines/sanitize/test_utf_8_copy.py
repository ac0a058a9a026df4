"""Copies in UTF-8 lose nothing, and different bytes stay different."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.data.sources.text_format import ENCODINGS
from celosia.query.engines.sanitize.utf_8_copy import write_utf_8_copies

if TYPE_CHECKING:
    from pathlib import Path

TEXT = 'town,note\nLeón,"año\nñ"\nA Coruña,ß\n'


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-16-le", "utf-16-be", "mac-roman"])
def test_texts_are_the_same(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(TEXT.encode(encoding))
    with gzip.open(tmp_path / "b.csv.gz", "wb") as file:
        file.write(TEXT.encode(encoding))
    copies = write_utf_8_copies((str(tmp_path / "a.csv"), str(tmp_path / "b.csv.gz")), encoding, str(tmp_path))
    for copy in copies:
        with open(copy, encoding="utf-8", newline="") as file:  # noqa: PTH123 - with its line breaks
            assert file.read() == TEXT


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if not name.startswith("utf")])
def test_every_byte_is_read_and_no_two_alike(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(bytes(range(256)))
    [copy] = write_utf_8_copies((str(tmp_path / "a.csv"),), encoding, str(tmp_path))
    with open(copy, encoding="utf-8", newline="") as file:  # noqa: PTH123 - as above
        assert len(set(file.read())) == 256


def test_half_a_surrogate_pair_is_left_out_with_its_row(tmp_path: Path) -> None:
    rows = ["town", "León", "bad\ud800", "bad\ud801", "A Coruña"]
    (tmp_path / "a.csv").write_bytes("\n".join(rows).encode("utf-16", "surrogatepass") + b"x")
    towns = cl.table(str(tmp_path / "a.csv"), schema=cl.Schema(town=cl.Text()), name="t", encoding="utf-16")
    from celosia.query.engines.registry import open_engine

    with open_engine({"t": towns}) as engine:
        found = [row for batch in engine.run(engine.raw("t")) for row in batch.column(0).to_pylist()]  # type: ignore[attr-defined] # of Ibis
    assert found == ["León", "A Coruña"]


def test_memory_stays_flat(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(TEXT.encode("latin-1") * 400_000)
    tracemalloc.start()
    try:
        write_utf_8_copies((str(tmp_path / "a.csv"),), "latin-1", str(tmp_path))
        assert tracemalloc.get_traced_memory()[1] < 12 * 2**20  # of a file of 14 MB
    finally:
        tracemalloc.stop()
