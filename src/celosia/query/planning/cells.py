"""The cells of a group-by: one for each combination of keys, in a fixed order that the data have no say in.

With public keys every combination appears in the answer, also the empty ones: to leave them out would reveal that they
are empty. Private keys are chosen privately first. Looking up the cell of a row never fails, whatever the row holds: an
unknown key is in no cell.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.query.planning.keys import indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.data.schema.columns import Value

MAX_CELLS: Final = 1_000_000
"""Cells of the largest group-by."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Cells:
    """Cells in order. ``values[j]`` are the keys of column j; ``rows`` are indices into them, or None for all.

    With None the cells are the whole product, the last column changing fastest.
    """

    values: "tuple[tuple[Value, ...], ...]"
    rows: "tuple[tuple[int, ...], ...] | None" = None
    _codes: "tuple[NDArray[np.int64], ...] | None" = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(_distinct, self.values)))
        # Not by len(), which cannot be of any size.
        _check_number(math.prod(map(len, self.values)) if self.rows is None else len(self.rows))
        object.__setattr__(self, "_codes", None if self.rows is None else self._columns_of(self.rows))

    def _columns_of(self, rows: "tuple[tuple[int, ...], ...]") -> "tuple[NDArray[np.int64], ...]":
        """Return the indices column by column, as arrays."""
        many = range(len(self.values))
        return tuple(np.fromiter((row[j] for row in rows), dtype=np.int64, count=len(rows)) for j in many)

    @classmethod
    def product(cls, values: "Sequence[Sequence[Value]]") -> "Cells":
        """Return all combinations of the keys of each column; without columns there is one cell."""
        return cls(values=tuple(tuple(column) for column in values))

    @classmethod
    def from_rows(cls, combinations: "Sequence[Sequence[Value]]", columns: int) -> "Cells":
        """Return the given combinations of keys, in the given order."""
        _check_number(len(combinations))
        rows = list(map(tuple, combinations))
        if any(len(row) != columns for row in rows):
            raise QueryError("query.key_combination_incomplete", wanted=columns)
        given = [[row[j] for row in rows] for j in range(columns)]
        values = tuple(_distinct(column, repeated=True) for column in given)
        places = [{value: place for place, value in enumerate(column)} for column in values]
        codes = [[known[value] for value in column] for known, column in zip(places, given, strict=True)]
        chosen = tuple(zip(*codes, strict=True)) if columns else tuple(rows)
        if len(set(chosen)) != len(chosen):
            raise QueryError("query.duplicate_key_combination")
        return cls(values=values, rows=chosen)

    def __len__(self) -> int:
        return math.prod(map(len, self.values)) if self.rows is None else len(self.rows)

    def __repr__(self) -> str:
        return f"<Cells: {len(self)}, of {len(self.values)} columns>"

    def columns(self) -> "list[list[Any]]":
        """Return the keys of each column, one value for each cell."""
        if not self.values:
            return []
        shape = tuple(map(len, self.values))
        codes = self._codes if self._codes is not None else np.unravel_index(np.arange(len(self)), shape)
        return [
            np.fromiter(keys, dtype=object, count=len(keys))[column].tolist()
            for keys, column in zip(self.values, codes, strict=True)
        ]

    def places(self, *codes: "Sequence[int] | NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the cell of each combination of indices into ``values``; -1 where there is none, or an index is -1."""
        if not codes or len(codes) != len(self.values):
            raise QueryError("query.cell_lookup_mismatch", wanted=len(self.values), found=len(codes))
        arrays = [np.asarray(code, dtype=np.int64) for code in codes]
        inside = [(array >= 0) & (array < len(keys)) for array, keys in zip(arrays, self.values, strict=True)]
        known = np.logical_and.reduce(inside)
        arrays = [np.where(known, array, 0) for array in arrays]
        if self._codes is not None:
            return self._listed_places(self._codes, arrays, known)
        flat = np.zeros(known.shape, dtype=np.int64)
        for array, keys in zip(arrays, self.values, strict=True):
            flat = flat * len(keys) + array
        return np.where(known, flat, -1)

    def _listed_places(
        self, codes: "tuple[NDArray[np.int64], ...]", arrays: "list[NDArray[np.int64]]", known: "NDArray[np.bool_]"
    ) -> "NDArray[np.int64]":
        # Column by column, renumbering the combinations that are left: a product of all columns could overflow.
        listed, found = np.zeros(len(self), dtype=np.int64), np.zeros(known.shape, dtype=np.int64)
        if not len(self):
            return found - 1
        for column, array, keys in zip(codes, arrays, self.values, strict=True):
            numbers, listed = np.unique(listed * len(keys) + column, return_inverse=True)
            wanted = found * len(keys) + array
            found = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            known = known & (numbers[found] == wanted)
        order = np.argsort(listed)  # every combination is listed once, so these are its numbers
        return np.where(known, order[found], -1)

    def locate(self, keys: "Sequence[pa.Array | pa.ChunkedArray]") -> "NDArray[np.int64]":
        """Return the cell of each row of key columns; -1 where a key is unknown or null."""
        if len(keys) != len(self.values):
            raise QueryError("query.cell_lookup_mismatch", wanted=len(self.values), found=len(keys))
        return self.places(*(indices(column, values) for column, values in zip(keys, self.values, strict=True)))


def _check_number(cells: int) -> None:
    if cells > MAX_CELLS:
        raise QueryError("query.too_many_cells", most=MAX_CELLS)


def _distinct(column: "Sequence[Any]", *, repeated: bool = False) -> "tuple[Any, ...]":
    """Return keys as Python's own values, each once; refuse what cannot be a key, and one given twice."""
    try:
        different = tuple(dict.fromkeys(column))
        empty = any(value is None or value != value for value in different)  # noqa: PLR0124 - NaN, pandas' NaT
    except TypeError:  # what has no hash, and pandas' NA
        raise QueryError("query.invalid_group_key", found=safe_repr(column)) from None
    if empty:
        raise QueryError("query.null_group_key")
    if not repeated and len(different) < len(column):
        raise QueryError("query.duplicate_key")
    return tuple(value.item() if isinstance(value, np.generic) else value for value in different)
