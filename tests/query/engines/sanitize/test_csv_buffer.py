"""No record exceeds the measured length, wherever the blocks are cut."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.query.engines.sanitize import csv_buffer as room
from celosia.query.engines.sanitize.csv_buffer import measure_longest_record

CELLS = st.text(alphabet='a,"\n\r é', max_size=30)


def written(rows: list[list[str]], quoting: int, end: str) -> tuple[bytes, int]:
    """A CSV file and the length of its longest record."""
    whole, longest = b"", 0
    for row in rows:
        text = io.StringIO()
        csv.writer(text, quoting=quoting, lineterminator=end).writerow(row)  # type: ignore[arg-type] # a constant
        whole += text.getvalue().encode()
        longest = max(longest, len(text.getvalue().encode()))
    return whole, longest


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 40),
    zipped=st.booleans(),
    cut=st.booleans(),
)
def test_no_record_is_longer(
    rows: list[list[str]], quoting: int, end: str, block: int, *, zipped: bool, cut: bool
) -> None:
    whole, longest = written(rows, quoting, end)
    if cut:
        whole = whole.removesuffix(end.encode())
    with TemporaryDirectory() as folder, mock.patch.object(room, "_BLOCK_BYTES", block):
        file = Path(folder) / ("t.csv.gz" if zipped else "t.csv")
        file.write_bytes(gzip.compress(whole, 1) if zipped else whole)
        found = measure_longest_record(str(file))
    assert longest - (len(end) if cut else 0) <= found <= max(longest, block)


def test_a_quote_that_is_never_closed_reaches_to_the_end(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b'a\n"' + b"x\n" * 1_000_000)
    assert measure_longest_record(str(file)) == 2_000_001


def test_an_empty_file_has_no_record(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"")
    assert measure_longest_record(str(tmp_path / "t.csv")) == 2**20


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        measure_longest_record(str(tmp_path / "t.csv"))
