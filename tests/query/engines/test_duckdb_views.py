"""One row of a CSV file never changes how another is read, wherever DuckDB cuts the file."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from unittest import mock

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import SchemaError
from celosia.data.sources.files import Files
from celosia.noise import Seeded
from celosia.query.engines import duckdb_views
from celosia.query.engines.duckdb import open_relation
from celosia.query.engines.duckdb_views import check_parquet, check_stored, reader_sql
from celosia.query.engines.sanitize import csv_buffer as longest_record
from celosia.query.engines.sanitize.preparation import CheckedFiles

CONNECTION = duckdb.connect()
CELLS = st.lists(st.sampled_from(["a", "b", ",", '"', "\n", "\r\n", " ", "é", "9,z\n"]), max_size=60).map("".join)


def written(rows: list[tuple[str, str]], quoting: int, end: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=end)  # type: ignore[arg-type] # a constant
    writer.writerows([("a", "s"), *rows])
    return text.getvalue().encode()


def reader(paths: list[Path], longest: int | None = None, **changes: str) -> str:
    """The table function of files, with options changed."""
    names = tuple(map(str, paths))
    measured = max(map(longest_record.measure_longest_record, names))
    function = reader_sql(CheckedFiles(names, "csv", max_record_bytes=measured if longest is None else longest))
    for old, new in changes.items():
        assert old in function
        function = function.replace(f"{old} = false", f"{old} = {new}")
    return function


def read(paths: list[Path], longest: int | None = None) -> list[tuple[str, str]]:
    found = CONNECTION.execute(f"SELECT a, s FROM {reader(paths, longest)}").fetchall()
    return sorted((a or "", s or "") for a, s in found)


@settings(max_examples=150)
@given(
    cells=st.lists(CELLS, min_size=1, max_size=40),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
    zipped=st.booleans(),
    half=st.integers(0, 40),
    buffer=st.integers(1, 600),
)
def test_files_are_read_as_they_were_written_wherever_the_buffers_end(
    cells: list[str], quoting: int, end: str, half: int, buffer: int, *, zipped: bool
) -> None:
    rows = [(f"{place}x", cell) for place, cell in enumerate(cells)]
    with (
        TemporaryDirectory() as folder,
        mock.patch.object(longest_record, "_BLOCK_BYTES", 1),
        mock.patch.multiple(duckdb_views, _SLACK=8, _BUFFER=buffer),
    ):
        first, second = Path(folder) / "a.csv", Path(folder) / ("b.csv.gz" if zipped else "b.csv")
        first.write_bytes(written(rows[:half], quoting, end))
        rest = written(rows[half:], quoting, end).removesuffix(end.encode())
        second.write_bytes(gzip.compress(rest, 1) if zipped else rest)
        assert read([first, second]) == sorted(rows)


LINE = b"1,abcdefgh\n"


def test_a_cell_of_many_lines_is_one_row_wherever_duckdb_would_cut(tmp_path: Path) -> None:
    file, before = tmp_path / "t.csv", 2**25 // 4 // len(LINE) - 10  # DuckDB hands quarters of a buffer to threads
    file.write_bytes(b"a,s\n" + LINE * before + b'1,"' + b"99,zzz\n" * 40 + b'"\n' + LINE * 30_000)
    rows = before + 30_001
    counted = CONNECTION.execute(f"SELECT a, s, COUNT(*) AS n FROM {reader([file])} GROUP BY ALL ORDER BY n").fetchall()
    assert counted == [("1", "99,zzz\n" * 40, 1), ("1", "abcdefgh", rows - 1)]
    in_parts = CONNECTION.execute(f"SELECT COUNT(a) FROM {reader([file], parallel='true')}").fetchall()
    assert abs(in_parts[0][0] - rows) > 30  # with threads, one row would count as dozens


@pytest.mark.parametrize("cell", [b"99,zzz\n" * 400, b"x" * 2_800, b'99,""\n' * 400], ids=["lines", "text", "quotes"])
@pytest.mark.parametrize("before", [0, 3, 50, 51, 52, 53])
def test_a_record_longer_than_all_buffers_is_one_row(tmp_path: Path, cell: bytes, before: int) -> None:
    file, short = tmp_path / "t.csv", mock.patch.multiple(duckdb_views, _SLACK=8, _BUFFER=300)
    file.write_bytes(b"a,s\n" + LINE * before + b'1,"' + cell + b'"\n' + LINE * 100)
    with short, mock.patch.object(longest_record, "_BLOCK_BYTES", 100):
        found = read([file])
        assert len(found) == before + 101
        assert {a for a, _ in found} == {"1"}
    with short:
        other = read([file], longest=200)  # as DuckDB would by itself
    assert b"\n" not in cell or len(other) != before + 101


def test_a_row_that_is_no_row_costs_itself(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for part in (
        b"1\n",
        b"1,a,b,c\n",
        b'1,ab"c\n',
        b'1,"abc"x\n',
        b"1,\xff\n",
        b'1,"\xff\n9,z\n"\n',
        b"1,a\0b\n",
        b"\n",
    ):
        file.write_bytes(b"a,s\n" + LINE * 3_000 + part + LINE * 3_000)
        found = read([file])
        assert 6_000 <= len(found) <= 6_001
        assert {a for a, _ in found} == {"1"}


# -------------------------------------------------------------------------------------------------------------- names


def test_columns_that_differ_in_capitals_are_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1], "X": [2]}), tmp_path / "t.parquet")
    paths = (str(tmp_path / "t.parquet"),)
    check_parquet(paths, ["x"], ["x", "X_1"])
    with pytest.raises(SchemaError, match="'X_1'"):
        check_parquet(paths, ["x", "X_1"], ["x", "X_1"])


def test_views_of_texts_and_times_are_refused_and_those_of_numbers_are_not() -> None:
    import ibis

    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE VIEW v AS SELECT 'a' AS s, 1 AS n, TIMESTAMP '2020-01-01' AS t")
    backend.raw_sql("CREATE TABLE stored AS FROM v")
    check_stored(open_relation(backend, "v"), ["n"], backend.con)
    check_stored(open_relation(backend, "stored"), ["n", "s", "t"], backend.con)
    for name in ("s", "t"):
        with pytest.raises(SchemaError, match=f"'{name}' has doubles, texts or times"):
            check_stored(open_relation(backend, "v"), ["n", name], backend.con)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_folders_and_files_are_called_says_nothing_about_rows(
    tmp_path: Path, ending: Literal["parquet", "csv"]
) -> None:
    for place in ("a=5/b=xyz/x", "plain"):
        file = tmp_path / f"{place}.{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = pa.table({"a": [100] * 50, "b": ["p"] * 50})
        if ending == "parquet":
            pq.write_table(rows, file)
        else:
            pa.csv.write_csv(rows, file)
        source = Files((str(file),), ending)
        table = cl.table(source, schema=cl.Schema(a=cl.Integer(0, 200), b=cl.Category("p", "xyz")), name="x")
        with cl.Session(table, budget=cl.PureDP(epsilon=1000), source=Seeded(7)) as session:
            answer = session.sql("SELECT b, COUNT(*) AS n, SUM(a) AS s FROM x GROUP BY b", epsilon=500).to_arrow()
        assert answer.to_pydict() | {"s": None} == {"b": ["p", "xyz"], "n": [50, 0], "s": None}
        assert abs(answer["s"][0].as_py() - 5000) < 50


def test_names_that_are_patterns_are_refused(tmp_path: Path) -> None:
    cases: list[str] = ["g[1].parquet", "what?.parquet", "all*.parquet"]
    for name in cases:
        pq.write_table(pa.table({"a": [1]}), tmp_path / name)
        table = cl.table(Files((str(tmp_path / name),), "parquet"), schema=cl.Schema(a=cl.Integer(0, 9)), name="x")
        with pytest.raises(SchemaError, match="rename it"):
            cl.Session(table, budget=cl.PureDP(epsilon=1)).query().count().release(epsilon=1)
