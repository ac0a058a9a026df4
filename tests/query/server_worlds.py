"""Neighbouring worlds in PostgreSQL and in Spark, as ``worlds`` has them in DuckDB."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa

from celosia.data.sources.classify import Frame, IbisSource, SparkSource
from celosia.query.engines.postgres import PostgresEngine
from celosia.query.engines.postgres_compiler import compile_query
from celosia.query.engines.spark import SparkEngine, _cast_to_instants
from tests.query.worlds import InWorlds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from celosia.data.table import Table

    Tables = Mapping[str, Table]

_NUMBERS = itertools.count()
_NAMES = {
    pa.int64(): "bigint", pa.int32(): "integer", pa.int16(): "smallint", pa.int8(): "smallint",
    pa.float64(): "double precision", pa.float32(): "real", pa.bool_(): "boolean", pa.string(): "text",
    pa.date32(): "date", pa.timestamp("us"): "timestamp", pa.timestamp("us", tz="UTC"): "timestamptz",
}  # fmt: skip


def _type(type_: pa.DataType) -> str:
    return f"numeric({type_.precision}, {type_.scale})" if pa.types.is_decimal(type_) else _NAMES[type_]


def _plain(frame: pa.Table, *, zone: str | None = None) -> pa.Table:
    """The rows in types that servers have: no unsigned integers of 64 bits, no nanoseconds."""
    fields = []
    for field in frame.schema:
        type_ = field.type
        if type_ == pa.uint64():
            type_ = pa.decimal128(20, 0)
        elif pa.types.is_timestamp(type_):
            type_ = pa.timestamp("us", tz=type_.tz or zone)
        fields.append(pa.field(field.name, type_))
    return frame.cast(pa.schema(fields))


class PostgresWorlds(InWorlds, PostgresEngine):
    """PostgreSQL on a shared connection: one temporary table holds the rows of all worlds, a view shows one of them."""

    def __init__(self, backend: Any, *worlds: Tables) -> None:
        self._shared = backend
        self._names = {name: f"t{next(_NUMBERS)}" for name, table in worlds[0].items() if not table.public}
        for name, there in self._names.items():
            self._upload(there, [world[name].source.frame for world in worlds])  # type: ignore[union-attr]
        first = {name: self._moved(name, table) for name, table in worlds[0].items()}
        super().__init__(first, *worlds[1:])
        self.worlds = worlds

    def compiled_once(self, query: Any) -> AbstractContextManager[object]:
        return mock.patch("celosia.query.engines.postgres_compiler.compile_query", return_value=compile_query(query))

    def enter(self, world: int) -> None:
        self._shared.con.execute(f"SET celosia.world = '{world}'")

    def close(self) -> None:
        super().close()
        for name in self._names.values():
            self._shared.con.execute(f"DROP TABLE {name}_all CASCADE")

    def _moved(self, name: str, table: Table) -> Table:
        if table.public:
            return table
        return dataclasses.replace(table, source=IbisSource(self._shared.table(self._names[name])))

    def _upload(self, name: str, frames: list[pa.Table]) -> None:
        frames = [_plain(frame) for frame in frames]
        columns = [f'"{field.name}" {_type(field.type)}' for field in frames[0].schema]
        shown = ", ".join(f'"{field.name}"' for field in frames[0].schema)
        connection = self._shared.con
        connection.execute("SET celosia.world = '0'")
        connection.execute(f"CREATE TEMPORARY TABLE {name}_all (world integer, {', '.join(columns)})")
        connection.execute(
            f"CREATE TEMPORARY VIEW {name} AS SELECT {shown} FROM {name}_all "
            "WHERE world = current_setting('celosia.world')::integer"
        )
        with connection.cursor() as cursor, cursor.copy(f"COPY {name}_all FROM STDIN") as copy:
            for world, frame in enumerate(frames):
                for row in frame.to_pylist():
                    copy.write_row((world, *row.values()))


class SparkWorlds(InWorlds, SparkEngine):
    """Spark: the view of a table shows the rows of one world."""

    def __init__(self, session: Any, *worlds: Tables) -> None:
        moved = [{name: _in_spark(session, table) for name, table in world.items()} for world in worlds]
        self._frames = [{name: table.source for name, table in world.items()} for world in moved]
        super().__init__(*moved)
        self.worlds = worlds

    def enter(self, world: int) -> None:
        for name, source in self._frames[world].items():
            if isinstance(source, SparkSource):
                _cast_to_instants(source.frame).createOrReplaceTempView(self._raw[name].get_name())


def _in_spark(session: Any, table: Table) -> Table:
    if table.public or not isinstance(table.source, Frame):
        return table
    return dataclasses.replace(
        table, source=SparkSource(session.createDataFrame(_plain(table.source.frame, zone="UTC")))
    )


@contextlib.contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection of Ibis to PostgreSQL, tuned for queries of a few rows."""
    import ibis

    backend = ibis.connect(url)
    backend.con.autocommit = True
    backend.con.execute("SET jit = off")
    yield backend
    backend.disconnect()
