"""Dummy rows: drawn from the declarations of a table alone, to write and test code without data and without budget.

A column is uniform between its bounds or over its categories, and independent of the others: the rows have the types,
the limits and the nulls of real ones, and the shape of none. Nothing is read, so nothing is spent and nothing can leak.
Only integers of a seeded stream are drawn, one stream for each column: a seed gives the same rows on every machine.
"""

import datetime as dt
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Timestamp, Value
from celosia.data.schema.schema import Schema
from celosia.data.schema_file import SchemaFile
from celosia.data.table import Table
from celosia.noise.source import Seeded
from celosia.noise.uniform import permutation, subset, uniform_below

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Indices: TypeAlias = NDArray[np.int64]

Declared: TypeAlias = "Table | SchemaFile | Mapping[str, Kind]"
"""The declarations that rows are drawn from: a table, of which no row is read, a schema file or a schema."""

_MAX_TABLE_ROWS: Final = 10_000_000  # a table is whole in memory
_BATCH_ROWS: Final = 1 << 12  # part of the recipe, as are the numbers below
_ROWS_PER_NULL: Final = 20
_MAX_PERSON_ROWS: Final = 10
_TEXTS: Final[tuple[Value, ...]] = tuple(f"text {number}" for number in range(1, 21))
_MAX_VALUES: Final = 2**63 - 1


class _Domain(NamedTuple):
    """The values of a kind: how many there are, and the column of those at some places."""

    size: int
    column: "Callable[[Indices], pa.Array]"


def draw_dummy_rows(declared: Declared, *, rows: int = 1000, seed: int = 0) -> "pa.Table":
    """Draw dummy rows for the declarations of a table, of which nothing is read.

    Parameters
    ----------
    declared
        A ``Table``, a ``SchemaFile`` or a ``Schema``.
    rows
        The number of rows, at most ten million; ``draw_dummy_batches`` gives more in parts. A public table has no more
        than it has different keys.
    seed
        Equal seeds give equal rows.

    Returns
    -------
    pyarrow.Table
        The person column, if there is one, and the columns of the schema. Nulls are in columns with the null rule
        ``"drop"`` only: elsewhere they count as the value of the rule. A person has several rows, no more than
        ``max_rows_per_person`` and no more than the limits on groups and rows allow. Strings are ``text 1`` to
        ``text 20``.

    Examples
    --------
    >>> schema = Schema(age=Integer(0, 120), sex=Category("F", "M"), weight=Real(0, 300, grid="0.1"))
    >>> draw_dummy_rows(schema, rows=3, seed=1).to_pydict()
    {'age': [111, 23, 104], 'sex': ['F', 'F', 'M'], 'weight': [181.2, 286.9, 246.5]}
    """
    import pyarrow as pa

    if exact_integer(rows, name="rows") > _MAX_TABLE_ROWS:
        raise ParameterError("data.too_many_dummy_rows", most=_MAX_TABLE_ROWS, rows=safe_repr(rows))
    return pa.Table.from_batches(draw_dummy_batches(declared, rows=rows, seed=seed))


def draw_dummy_batches(declared: Declared, *, rows: int = 1000, seed: int = 0) -> "Iterator[pa.RecordBatch]":
    """Draw the same rows as a stream of record batches, so that many are never whole in memory.

    >>> [batch.num_rows for batch in draw_dummy_batches(Schema(age=Integer(0, 120)), rows=10_000)]
    [4096, 4096, 1808]
    """
    table, rows, seed = _as_table(declared), exact_integer(rows, name="rows"), exact_integer(seed, name="seed", least=0)
    # Independent of the other columns: a declaration that gains a column keeps the values of the others.
    streams = {name: _open_stream(seed, name) for name in (*table.schema, *_person_columns(table))}
    domains = {name: _find_domain(kind) for name, kind in table.schema.items()}
    keys = _draw_keys({name: domains[name].size for name in table.key}, rows, _open_stream(seed, ""))
    rows = min([rows, *(places.size for places in keys.values())])
    return _draw_batches(table, rows, domains, keys, streams)


def _draw_batches(
    table: Table,
    rows: int,
    domains: Mapping[str, _Domain],
    keys: "Mapping[str, Indices]",
    streams: Mapping[str, Seeded],
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    person = 1
    for begin in range(0, rows, _BATCH_ROWS):
        count, columns = min(_BATCH_ROWS, rows - begin), {}
        for name in _person_columns(table):
            persons = _draw_persons(person, count, _max_rows(table), streams[name])
            columns[name], person = pa.array(persons), int(persons.max()) + 1
        for name, (size, column) in domains.items():
            if name in keys:
                columns[name] = column(keys[name][begin : begin + count])
                continue
            values = column(uniform_below(size, count, streams[name]))
            columns[name] = _add_nulls(values, streams[name]) if table.schema[name].nullable else values
        yield pa.RecordBatch.from_pydict(columns)


def _as_table(declared: Declared) -> Table:
    """Return a table with the declarations; those of a schema or a file are checked as if it had rows."""
    import pyarrow as pa

    if isinstance(declared, Table):
        return declared
    file = declared if isinstance(declared, SchemaFile) else SchemaFile(schema=Schema(declared))
    none = np.empty(0, dtype=np.int64)
    columns = {name: _find_domain(kind).column(none) for name, kind in file.schema.items()}
    return file.table(pa.table({**dict.fromkeys(_person_columns(file), pa.array(none)), **columns}))


def _person_columns(declared: Table | SchemaFile) -> tuple[str, ...]:
    return () if declared.person is None else (declared.person,)


def _open_stream(seed: int, name: str) -> Seeded:
    return Seeded(int.from_bytes(hashlib.sha256(f"celosia.data.dummy/1/{seed}/{name}".encode()).digest()))


def _find_domain(kind: Kind) -> _Domain:
    match kind:
        case Integer(low=first, high=last):
            return _count_from(first, last - first)
        case Date(low=day, high=last_day):
            return _count_from(np.datetime64(day, "D"), (last_day - day).days)
        case Timestamp(low=moment, high=last_moment):
            seconds = (last_moment - moment) // dt.timedelta(seconds=1)
            return _count_from(np.datetime64(moment.replace(tzinfo=None), "s"), seconds)
        case Real():
            return _find_steps(kind)
        case Boolean() | Category():
            return _list_values(kind.domain())
        case _:
            return _list_values(_TEXTS if kind.nullable else (kind.null, *_TEXTS))


def _count_from(first: int | np.datetime64, steps: int) -> _Domain:
    import pyarrow as pa

    return _Domain(min(steps + 1, _MAX_VALUES), lambda places: pa.array(first + places))


def _find_steps(kind: Real) -> _Domain:
    """Return the multiples of the grid between the bounds, each as the double nearest to it."""
    import pyarrow as pa

    grid, low, high = kind.axis.grid, float(kind.low), float(kind.high)
    first, last = math.ceil(kind.low / grid), math.floor(kind.high / grid)

    def column(places: "Indices") -> "pa.Array":
        values = (first + places) * float(grid.numerator) / float(grid.denominator)
        return pa.array(np.clip(values, low, high))  # doubles are coarse at large magnitudes

    return _Domain(last - first + 1, column)


def _list_values(values: tuple[Value, ...]) -> _Domain:
    import pyarrow as pa

    listed = pa.array(values)
    return _Domain(len(values), lambda places: listed.take(pa.array(places)))


def _add_nulls(values: "pa.Array", stream: Seeded) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = uniform_below(_ROWS_PER_NULL, len(values), stream) == 0
    return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)


def _max_rows(table: Table) -> int:
    """Return the most rows of a person that no declaration excludes."""
    allowed = (table.max_groups_per_person or 1) * (table.max_rows_per_group or 1)
    return min(table.max_rows_per_person or allowed, allowed, _MAX_PERSON_ROWS)


def _draw_persons(first: int, rows: int, most: int, stream: Seeded) -> "Indices":
    """Return the persons of some rows in random order, numbered from the first; the last may lack rows."""
    counts = 1 + uniform_below(most, rows, stream)
    return np.repeat(first + np.arange(rows), counts)[:rows][permutation(rows, stream)]


def _draw_keys(sizes: Mapping[str, int], rows: int, stream: Seeded) -> "dict[str, Indices]":
    """Return the places of the values of a public table's keys, all different, by column."""
    if not sizes:
        return {}
    most = min(math.prod(sizes.values()), _MAX_VALUES)
    numbers, found = subset(most, min(rows, most), stream), {}
    for name, size in sizes.items():
        numbers, found[name] = np.divmod(numbers, size)
    return found
