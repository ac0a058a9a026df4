"""Counts the cells of a table that its schema cannot read: exact counts, for its owner alone.

These numbers come from the data and have no noise, so code that serves analysts must not call this module. The command
``celosia schema`` calls it; running it requires the file.
"""

import codecs
import copy
import functools
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.core.errors import QueryError
from celosia.data.schema.columns import DROP, Category, Kind
from celosia.data.sources.files import Files
from celosia.query.engines.ibis import IbisEngine, hide_driver_errors
from celosia.query.engines.registry import open_engine
from celosia.query.execution.clean import clean
from celosia.query.execution.dialect import integer_literal
from celosia.query.execution.rows import Rows, rows_of
from celosia.query.plan.nodes import Base

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.table import Table

_BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCounts:
    """The cells of one column: ``filled`` have content, ``unreadable`` of those are invalid for the kind.

    ``unused`` are the categories that never occur.
    """

    name: str
    kind: str
    filled: int
    unreadable: int
    unused: tuple[str | int, ...] = ()

    @property
    def share(self) -> float:
        """Share of the filled cells that are unreadable."""
        return self.unreadable / self.filled if self.filled else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """The counts of a table.

    ``without_person`` are rows that have no person, and ``lost`` are rows that are not UTF-8.
    """

    rows: int
    without_person: int
    lost: int
    columns: tuple[ColumnCounts, ...]

    @property
    def lost_share(self) -> float:
        """Share of the rows that the reader skips."""
        return self.lost / self.rows if self.rows else 0.0


def count_cells(table: "Table") -> CellCounts:
    """Count the unreadable cells of a table; raise if columns have unfit types, and list them all."""
    with _open(table) as (engine, rows):
        return hide_driver_errors(_count)(table, engine, rows)


def list_values(table: "Table", column: str, *, most: int) -> list[str | int] | None:
    """Return the distinct values of a column in order, or None if there are more than ``most``.

    They are true values of the data, for the owner alone. In a schema they become public.
    """

    def read(engine: IbisEngine, rows: Rows) -> list[str | int]:
        value = clean(rows.table[rows.names[column]], rows.kinds[column], rows.dialect)
        query = rows.table.select(v=value).distinct().drop_null("v").limit(most + 1)
        return [one for batch in engine.run(query) for one in batch.column(0).to_pylist()]

    with _open(table) as (engine, rows):
        found = hide_driver_errors(read)(engine, rows)
    return sorted(found) if len(found) <= most else None


@contextmanager
def _open(table: "Table") -> Iterator[tuple[IbisEngine, Rows]]:
    with open_engine({table.name: table}) as engine:
        if not isinstance(engine, IbisEngine):
            raise QueryError("query.source_cannot_be_counted")
        rows = rows_of(Base(table.name), _RawTables(engine))
        engine.check_types()
        yield engine, rows


class _RawTables:
    """The tables of an engine with unparsed texts, to distinguish unreadable cells from empty ones."""

    def __init__(self, engine: IbisEngine) -> None:
        self.tables, self.read, self.dialect_of, self.unfit = engine.tables, engine.raw, engine.dialect_of, engine.unfit


def _count(table: "Table", engine: IbisEngine, rows: Rows) -> CellCounts:
    raw = engine.raw(table.name)
    lost = _count_lost_lines(engine.tables[table.name].source)
    whose = () if table.person is None else (table.person,)
    filled = {f"x{place}": _count_where(raw[name].notnull()) for place, name in enumerate((*table.schema, *whose))}
    [read, *_] = _integers(engine, raw.aggregate(n=raw.count(), **filled))
    names = list(table.schema)
    # One column of another encoding must not hide the cells of the others.
    parts = [names] if lost == 0 else [[name] for name in names]
    counts = [pair for part in parts for pair in _count_columns(engine, rows, part)]
    [kept] = _integers(engine, rows.table.aggregate(n=rows.table.count()))
    columns = tuple(
        ColumnCounts(
            name=name,
            kind=type(table.schema[name]).__name__,
            filled=content,
            unreadable=content - good,
            unused=tuple(_find_unused(engine, rows, name)),
        )
        for name, (content, good) in zip(names, counts, strict=True)
    )
    return CellCounts(
        rows=read + lost, without_person=0 if table.person is None else max(read - kept, 0), lost=lost, columns=columns
    )


def _count_lost_lines(source: object) -> int:
    """Count the lines of CSV files that are not UTF-8; DuckDB skips their rows when it reads the cell."""
    return sum(map(_count_invalid_lines, source.paths)) if isinstance(source, Files) and source.format == "csv" else 0


def _count_invalid_lines(path: str) -> int:
    opened = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for block in iter(functools.partial(file.read, _BLOCK_BYTES), b""):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            file.seek(0)
            return sum(not _is_utf_8(line) for line in file)
    return 0


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_columns(engine: IbisEngine, rows: Rows, names: list[str]) -> list[tuple[int, int]]:
    """Return for each column the number of cells with content, and of those that are valid."""
    tests = [_count_where(test) for name in names for test in _cell_tests(rows, name)]
    found = _integers(engine, rows.table.aggregate(**{f"x{place}": test for place, test in enumerate(tests)}))
    return list(zip(found[::2], found[1::2], strict=True))


def _cell_tests(rows: Rows, name: str) -> "tuple[ir.Value, ir.Value]":
    """Return whether a cell has content, and whether it is valid; NaN in a column of floats is no content."""
    raw = rows.table[rows.names[name]]
    filled = raw.notnull() & ~raw.isnan() if raw.type().is_floating() else raw.notnull()
    return filled, clean(raw, _with_drop_rule(rows.kinds[name]), rows.dialect).notnull()


def _with_drop_rule(kind: Kind) -> Kind:
    """Return the kind under the null rule that replaces no null."""
    found = copy.copy(kind)
    object.__setattr__(found, "null", DROP)
    return found


def _count_where(condition: "ir.Value") -> "ir.Value":
    import ibis

    return (
        ibis.cases((condition, integer_literal(1)), else_=integer_literal(0))
        .sum()
        .coalesce(integer_literal(0))
        .cast("int64")
    )


def _find_unused(engine: IbisEngine, rows: Rows, name: str) -> Iterator[str | int]:
    kind = rows.kinds[name]
    if not isinstance(kind, Category):
        return
    value = clean(rows.table[rows.names[name]], _with_drop_rule(kind), rows.dialect)
    found = {one for batch in engine.run(rows.table.select(v=value).distinct()) for one in batch.column(0).to_pylist()}
    yield from (one for one in kind.values if one not in found)


def _integers(engine: IbisEngine, query: "ir.Table") -> list[int]:
    return next([int(column[0].as_py()) for column in batch.columns] for batch in engine.run(query) if batch.num_rows)
