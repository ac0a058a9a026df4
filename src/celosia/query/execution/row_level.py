"""Summaries of tables in which every row is its own unit: one pass for all sums.

Rows are grouped by the raw key columns, and results are looked up here. That is faster than filtering by known keys in
the engine, and memory stays flat, because unknown keys are dropped batch by batch. Sums arrive as decimals of 38 digits
and are read as two 64-bit words.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.schema.columns import Boolean, Category, Date, Kind, Real, Text, Timestamp
from celosia.query.execution.clean import encode_value
from celosia.query.execution.inputs import CountInput, SumInput
from celosia.query.plan.expressions import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.query.execution.rows import Rows
    from celosia.query.plan.nodes import Key
    from celosia.query.planning.cells import Cells

    Run = Callable[[ir.Table], Iterable[pa.RecordBatch]]


class RowLevel:
    """Queries over rows, grouped by keys; ``run`` executes one in the engine."""

    def __init__(self, rows: "Rows", keys: "Sequence[Key]", cells: "Cells", run: "Run") -> None:
        self._rows, self._cells, self._run = rows, cells, run
        self._keys = {f"k{place}": rows.label(key.expression) for place, key in enumerate(keys)}
        self._known = [
            encode_labels(values, kind_of(key.expression, rows.kinds))
            for key, values in zip(keys, cells.values, strict=True)
        ]

    def sums(self, requests: Sequence[SumInput]) -> "list[NDArray[Any]]":
        """Return the sums of all requests, in one query."""
        inputs = {name: value for request in requests for name, value in request.columns.items()}
        table = self._table(inputs)
        made = [request.sums(table, self._rows.dialect) for request in requests]
        flat = {f"s{place}": value for place, value in enumerate(value for values in made for value in values)}
        found = [Sums(len(self._cells), len(values)) for values in made]
        where = [(sums, column) for sums, values in zip(found, made, strict=True) for column in range(len(values))]
        for places, columns in self._results(self._aggregate(table, list(self._keys), flat)):
            for (sums, place), column in zip(where, columns, strict=True):
                sums.add(places, place, to_integers(column))
        return [sums.array for sums in found]

    def counts(self, counted: CountInput) -> "NDArray[Any]":
        """Return the number of rows by value."""
        import pyarrow as pa

        table = self._table({"value": counted.value})
        table = table.filter(table.value.notnull())
        sums = Sums(len(self._cells), counted.request.measure.width)
        known = None if counted.known is None else pa.array(counted.known)
        grouped = self._aggregate(table, [*self._keys, "value"], {"rows": table.count()})
        for places, (values, numbers) in self._results(grouped):
            sums.add(places, to_integers(values) if known is None else find_codes(values, known), to_integers(numbers))
        return sums.array

    def distinct(self, value: "ir.Value") -> "NDArray[Any]":
        """Return the number of distinct values."""
        table = self._table({"value": value})
        table = table.filter(table.value.notnull()).distinct()
        sums = Sums(len(self._cells), 1)
        for places, (numbers,) in self._results(self._aggregate(table, list(self._keys), {"rows": table.count()})):
            sums.add(places, 0, to_integers(numbers))
        return sums.array

    def _table(self, inputs: "dict[str, ir.Value]") -> "ir.Table":
        columns = self._keys | inputs
        return self._rows.table.select(**columns) if columns else self._rows.table

    @staticmethod
    def _aggregate(table: "ir.Table", keys: list[str], made: "dict[str, ir.Value]") -> "ir.Table":
        return table.group_by(keys).aggregate(**made) if keys else table.aggregate(**made)

    def _results(self, query: "ir.Table") -> "Iterable[tuple[NDArray[np.int64], list[pa.Array]]]":
        keys = len(self._keys)
        for batch in self._run(query):
            codes = [find_codes(c, known) for c, known in zip(batch.columns[:keys], self._known, strict=True)]
            places = self._cells.places(*codes) if codes else np.zeros(batch.num_rows, dtype=np.int64)
            yield places, batch.columns[keys:]


# ------------------------------------------------------------------------------------------ results of the engine


def encode_labels(values: "Iterable[Any]", kind: Kind) -> "pa.Array":
    """Return public values as their codes in an engine: texts, or 64-bit integers."""
    import pyarrow as pa

    texts = isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str))
    return pa.array([encode_value(value, kind) for value in values], type=pa.string() if texts else pa.int64())


def find_codes(column: "pa.Array", known: "pa.Array") -> "NDArray[np.int64]":
    """Return the position of each label in a list; -1 if it is absent."""
    import pyarrow.compute as pc

    places = pc.index_in(column.cast(known.type), value_set=known, skip_nulls=True)
    codes: NDArray[np.int64] = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def to_integers(column: "pa.Array") -> "NDArray[Any]":
    """Return integers or whole decimals as int64, or as Python integers if one is larger; null is 0."""
    import pyarrow as pa

    if not pa.types.is_decimal(column.type):
        numbers: NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return numbers
    filled = column.cast(pa.decimal128(38, 0)).fill_null(0)
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64)[2 * filled.offset : 2 * (filled.offset + len(filled))]
    low, high = words[0::2], words[1::2]
    if np.array_equal(low >> 63, high):
        return low.copy()
    return np.array([(int(h) << 64) + (int(w) & (2**64 - 1)) for w, h in zip(low, high, strict=True)], dtype=object)


class Sums:
    """Dense array, cells by width, that accumulates results."""

    def __init__(self, cells: int, width: int) -> None:
        self.array: NDArray[Any] = np.zeros((cells, width), dtype=np.int64)

    def add(self, places: "NDArray[np.int64]", columns: "int | NDArray[np.int64]", values: "NDArray[Any]") -> None:
        """Add values at these cells and columns; -1 is no cell or no column."""
        inside = (places >= 0) & (np.asarray(columns) >= 0)
        if values.dtype == object and self.array.dtype != object:
            self.array = self.array.astype(object)
        where = np.broadcast_to(columns, places.shape)[inside]
        np.add.at(self.array, (places[inside], where), values[inside])


def decode_labels(column: "pa.Array", kind: Kind) -> "pa.Array":
    """Return labels as values of their kind: dates, times and booleans in Arrow's own types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind:
        case Boolean():
            return column.cast(pa.bool_())
        case Date():
            return column.cast(pa.int32()).cast(pa.date32())
        case Timestamp():
            return column.cast(pa.timestamp("s", tz="UTC"))
        case Real():
            return pc.multiply(column.cast(pa.float64()), float(kind.axis.grid))
        case _:
            return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
