"""Sanitizes rows that DuckDB cannot read: texts that are not UTF-8, times out of range, the least decimal.

DuckDB raises an error on them in a Parquet file, and an error that depends on one row reveals it. Such files are copied
once, when they are opened, a batch at a time, with those columns sanitized. Every other column is copied as DuckDB
reads it, so no other value changes. Frames are sanitized in memory. All texts that are not UTF-8 become one replacement
text, because DuckDB may count them without decoding; a person id that is not UTF-8 becomes null, because two persons
must not become one. A time beyond microseconds is null, as in the types of DuckDB that can hold it. -2^127, which no
decimal type allows but Arrow and Parquet can hold, becomes the number above it: DuckDB fails when it negates it.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import EngineError
from celosia.data.sources.files import Files
from celosia.data.sources.strings import (
    cast_views,
    decode_dictionary,
    has_valid_strings,
    is_string,
    replace_invalid,
    sanitize_strings,
)
from celosia.query.plan.to_sql import quote_name

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 2**16
_MIN_DECIMAL = -(2**127)
_MAX_NARROW_DIGITS = 18  # digits that DuckDB keeps in 64 bits
_FACTORS: Final = {"s": 10**6, "ms": 10**3}


def sanitize(table: "pa.Table", person: str | None = None) -> "pa.Table":
    """Return a frame's table that DuckDB can read with any content; valid columns are not copied.

    Zones are dropped: Arrow counts in UTC whatever the zone, and a time without a zone is read as UTC.
    """
    table = sanitize_strings(table, person)
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if _is_time(column.type) and (
            _value_type(column.type).tz is not None or column.type != _value_type(column.type)
        ):
            table = table.set_column(place, name, _drop_zone(decode_dictionary(column)))
        elif _is_wide(column.type):
            table = table.set_column(place, name, _replace_min_decimal(column, person=name == person))
    return table


def find_fragile_columns(path: str, columns: Sequence[str]) -> list[str]:
    """Return the columns of a Parquet file that DuckDB may fail on: texts, coarse times, long decimals."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    types = dict(zip(schema.names, schema.types, strict=True))
    tests = (is_string, _is_coarse_time, _is_wide)
    return [name for name in columns if name in types and any(test(types[name]) for test in tests)]


def has_readable_rows(files: Files, columns: Sequence[str]) -> bool:
    """Return whether DuckDB can read every row of Parquet files; only fragile columns are read."""
    import pyarrow.parquet as pq

    for path in files.paths:
        fragile = find_fragile_columns(path, columns)
        if not fragile:
            continue
        with pq.ParquetFile(path) as file:
            for batch in _batches(file, fragile):
                if not all(_is_readable(batch.column(name)) for name in fragile):
                    return False
    return True


def _is_readable(column: "pa.ChunkedArray") -> bool:
    import pyarrow.compute as pc

    if is_string(column.type):
        return has_valid_strings(column)
    if _is_time(column.type):
        plain = decode_dictionary(column)
        return bool(_cast_to_microseconds(plain).null_count == plain.null_count)
    return not pc.any(_is_min_decimal(column)).as_py()


def write_sanitized_copy(files: Files, columns: Sequence[str], person: str | None, folder: str) -> Files:
    """Copy some columns of Parquet files into a new folder below ``folder``, so that every row is readable."""
    into = Path(tempfile.mkdtemp(prefix="sanitized-", dir=folder))
    paths = tuple(str(into / f"{place}.parquet") for place in range(len(files.paths)))
    for source, target in zip(files.paths, paths, strict=True):
        _copy(source, target, columns, person)
    return Files(paths, "parquet")


def _copy(source: str, target: str, columns: Sequence[str], person: str | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fragile = find_fragile_columns(source, columns)
    sound = [name for name in columns if name not in fragile]
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(pq.ParquetFile(source))
        others = _ParquetRows(source, sound)
        stack.callback(others.close)
        writer = None
        for batch in _batches(file, fragile):
            arrays = {name: _sanitize_column(batch.column(name), person=name == person) for name in fragile}
            part = others.take(batch.num_rows)
            table = pa.table({name: arrays[name] if name in arrays else part.column(name) for name in columns})
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(target, table.schema))
            writer.write_table(table)
        if others.take(1).num_rows:
            raise EngineError("query.file_changed_while_reading")


def _batches(file: Any, columns: Sequence[str]) -> "Iterator[pa.Table]":
    """Yield the batches of a file, and first an empty one."""
    import pyarrow as pa

    yield cast_views(file.schema_arrow.empty_table().select(list(columns)))
    for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns), use_threads=False):
        yield cast_views(pa.Table.from_batches([batch]))


class _ParquetRows:
    """Some columns of a Parquet file as DuckDB reads them, in the order of the file."""

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": 1})  # one thread keeps the order
        self._left: pa.Table | None = None
        if columns:
            listed = ", ".join(map(quote_name, columns))
            query = f"SELECT {listed} FROM read_parquet($1, can_have_nan = true, hive_partitioning = false)"  # noqa: S608 - quoted
            found = self._connection.sql(query, params=[path])
            for name, type_ in zip(columns, found.types, strict=True):
                if str(type_) == "UUID":  # not every version of Arrow writes UUIDs
                    quoted = quote_name(name)
                    found = found.project(f"* REPLACE ({quoted}::VARCHAR AS {quoted})")
            self._reader = found.to_arrow_reader(_BATCH_ROWS)
            self._left = self._reader.schema.empty_table()

    def take(self, rows: int) -> "pa.Table":
        """Return the next rows, or the rest if there are fewer."""
        import pyarrow as pa

        if self._left is None:
            return pa.table({})
        parts = [self._left]
        while sum(part.num_rows for part in parts) < rows:
            batch = next(self._reader, None)
            if batch is None:
                break
            parts.append(pa.Table.from_batches([batch]))
        whole = pa.concat_tables(parts)
        self._left = whole.slice(rows)
        return whole.slice(0, rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


# ------------------------------------------------------------------------------------------------------------ columns


def _sanitize_column(column: "pa.ChunkedArray", *, person: bool) -> "pa.ChunkedArray":
    if _is_time(column.type):
        return _cast_to_microseconds(decode_dictionary(column))
    return (_replace_min_decimal if _is_wide(column.type) else replace_invalid)(column, person=person)


def _cast_to_microseconds(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return seconds or milliseconds as microseconds; null out of range, as in DuckDB."""
    import pyarrow as pa
    import pyarrow.compute as pc

    number, factor = _as_int64(column), _FACTORS[column.type.unit]
    most = (2**63 - 1) // factor
    fits = pc.and_(pc.less_equal(number, most), pc.greater_equal(number, -most))
    inside = pc.if_else(fits, number, pa.scalar(None, pa.int64()))
    return pc.multiply(inside, factor).cast(pa.timestamp("us", column.type.tz))


def _drop_zone(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow as pa

    naive = pa.timestamp(column.type.unit)
    return pa.chunked_array([chunk.view(naive) for chunk in column.chunks], naive)


def _replace_min_decimal(column: "pa.ChunkedArray", *, person: bool) -> "pa.ChunkedArray":
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _is_min_decimal(column)
    instead = pa.scalar(None, column.type) if person else _decimal(_MIN_DECIMAL + 1, column.type)
    return pc.if_else(found, instead, column) if pc.any(found).as_py() else column


def _is_min_decimal(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow.compute as pc

    return pc.equal(column, _decimal(_MIN_DECIMAL, column.type))


def _decimal(number: int, type_: "pa.DataType") -> Any:
    """Return a decimal whose digits exceed its type."""
    import pyarrow as pa

    word = pa.py_buffer(number.to_bytes(16, "little", signed=True))
    return pa.Array.from_buffers(type_, 1, [None, word])[0]


def _as_int64(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow as pa

    return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())


def _is_coarse_time(type_: "pa.DataType") -> bool:
    return _is_time(type_) and _value_type(type_).unit in _FACTORS


def _is_time(type_: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(_value_type(type_)))


def _is_wide(type_: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal128(type_)) and type_.precision > _MAX_NARROW_DIGITS


def _value_type(type_: Any) -> Any:
    import pyarrow as pa

    return type_.value_type if pa.types.is_dictionary(type_) else type_
