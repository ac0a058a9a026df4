"""A column as integer codes of its sorted values.

Codes follow the order of the values, so they do not depend on the order of the rows. NaN is a null, and -0.0 is 0.0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column: ``labels[codes[i]]`` is the value of row ``i``; nulls have code -1, and no label.

    ``labels`` are sorted, different, and may hold values that no row has.
    """

    codes: "NDArray[np.int32]"
    labels: "pa.Array"

    @property
    def has_nulls(self) -> bool:
        """Whether some row has no value."""
        return bool((self.codes < 0).any())

    def decode(self) -> "pa.Array":
        """Return the column with its values."""
        import pyarrow as pa

        return self.labels.take(pa.array(self.codes, mask=self.codes < 0))

    def take(self, rows: "NDArray[np.int64]") -> "Coded":
        """Return the column of some rows, with the same labels."""
        return Coded(self.codes[rows], self.labels)


def encode(column: "pa.Array | pa.ChunkedArray", *, name: str) -> Coded:
    """Return the codes of a column; ``name`` is for the error about values that cannot be sorted.

    >>> import pyarrow as pa
    >>> coded = encode(pa.array(["b", None, "a", "b"]), name="letter")
    >>> coded.codes.tolist(), coded.labels.to_pylist()
    ([1, -1, 0, 1], ['a', 'b'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        if pa.types.is_dictionary(whole.type):
            whole = whole.cast(whole.type.value_type)
        if pa.types.is_floating(whole.type):
            whole = pc.if_else(pc.is_nan(whole), None, pc.add(whole, pa.scalar(0.0, whole.type)))
        found = whole.dictionary_encode()
        order = pc.sort_indices(found.dictionary).to_numpy()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise SchemaError("anonymity.column_without_order", name=safe_repr(name), type=str(whole.type)) from None
    places = np.empty(len(order) + 1, dtype=np.int32)
    places[order], places[-1] = np.arange(len(order), dtype=np.int32), -1
    codes = found.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return Coded(places[codes], found.dictionary.take(pa.array(order)))


def encode_columns(table: "pa.Table", names: Iterable[str]) -> tuple[Coded, ...]:
    """Return the codes of some columns of a table."""
    return tuple(encode(table.column(name), name=name) for name in names)


def sort_rows(columns: "tuple[Coded, ...]") -> "NDArray[np.int64]":
    """Return the order that sorts rows by the columns, the first one first.

    A method that starts with it gives the same records whatever the order of the rows was: only rows that are equal in
    all these columns can be exchanged.

    >>> import pyarrow as pa
    >>> sort_rows((encode(pa.array([2, 1, 1]), name="a"), encode(pa.array([0, 5, 4]), name="b"))).tolist()
    [2, 1, 0]
    """
    return np.lexsort([column.codes for column in reversed(columns)])
