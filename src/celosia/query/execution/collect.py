"""Results of an engine, batch by batch, into dense arrays of exact integers.

Keys that are in no list are left behind as they come, so that memory depends on the cells and not on the data. Sums
come as decimals of 38 digits and are read as the two 64-bit words that they are.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.schema.columns import Boolean, Category, Date, Kind, Real, Text, Timestamp
from celosia.query.execution.clean import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray


def labels(values: "Iterable[Any]", kind: Kind) -> "pa.Array":
    """Return public values as what stands for them in an engine: texts, or 64-bit integers."""
    import pyarrow as pa

    texts = isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str))
    return pa.array([whole_number(value, kind) for value in values], type=pa.string() if texts else pa.int64())


def codes_of(column: "pa.Array", known: "pa.Array") -> "NDArray[np.int64]":
    """Return the place of each label in a list of them; -1 where it is not there."""
    import pyarrow.compute as pc

    places = pc.index_in(column.cast(known.type), value_set=known, skip_nulls=True)
    codes: NDArray[np.int64] = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def integers(column: "pa.Array") -> "NDArray[Any]":
    """Return a column of integers or whole decimals, null being 0, as int64, or as Python's where one is larger."""
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
    """A dense array, cells by width, into which results are put."""

    def __init__(self, cells: int, width: int) -> None:
        self.array: NDArray[Any] = np.zeros((cells, width), dtype=np.int64)

    def add(self, places: "NDArray[np.int64]", columns: "int | NDArray[np.int64]", values: "NDArray[Any]") -> None:
        """Add values at these cells and columns; a place or column of -1 is none."""
        inside = (places >= 0) & (np.asarray(columns) >= 0)
        if values.dtype == object and self.array.dtype != object:
            self.array = self.array.astype(object)
        where = np.broadcast_to(columns, places.shape)[inside]
        np.add.at(self.array, (places[inside], where), values[inside])


def decoded(column: "pa.Array", kind: Kind) -> "pa.Array":
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
