"""The class of each record: those that look the same, by the declared meaning of null, and what they say of a column.

With nulls as wildcards the classes overlap: that of a record has all records that match it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded, count_matches, group_rows
from celosia.anonymity.coding.matching import match_keys
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray


def count_class(
    data: Microdata, columns: Sequence[Coded], weights: "NDArray[np.float64] | None" = None
) -> "NDArray[np.float64]":
    """Return for each record the number of records of its class, or the sum of their weights."""
    if data.roles.nulls == "wildcard" and any(column.has_nulls for column in columns):
        return count_matches(columns, weights)
    groups = group_rows(columns, rows=len(data))
    sums = np.bincount(groups.ids, weights=weights, minlength=groups.count)
    return sums.astype(np.float64)[groups.ids]


@dataclass(frozen=True, slots=True, eq=False)
class ClassValues:
    """How often each value of a column occurs in each class of a file.

    ``ids`` has the class of each record. Class ``c`` has the values ``values[starts[c]:starts[c + 1]]`` with
    ``counts``; a value is its place in ``labels``, which are texts, and None for a null that counts as a value.
    """

    ids: "NDArray[np.int32]"
    starts: "NDArray[np.int64]"
    values: "NDArray[np.int64]"
    counts: "NDArray[np.float64]"
    labels: "tuple[str | None, ...]"

    @property
    def classes(self) -> "NDArray[np.int64]":
        """The class of each entry of ``values``."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def totals(self) -> "NDArray[np.float64]":
        """The number of records with a value in each class."""
        return np.bincount(self.classes, weights=self.counts, minlength=len(self.starts) - 1).astype(np.float64)

    @property
    def records(self) -> "NDArray[np.int64]":
        """The number of records whose class it is; with wildcards a class also counts others that match."""
        return np.bincount(self.ids, minlength=len(self.starts) - 1)


def count_values(data: Microdata, name: str, columns: Sequence[Coded] | None = None) -> ClassValues:
    """Return how often each value of a column occurs in each class; unknown values say nothing, if null is a wildcard.

    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"age": [40, 40, 50], "illness": ["flu", "asthma", "flu"]})
    >>> roles = Roles(quasi_identifiers=["age"], sensitive=["illness"])
    >>> found = count_values(read_microdata(frame, roles=roles), "illness")
    >>> found.starts.tolist(), [found.labels[value] for value in found.values]
    ([0, 2, 3], ['asthma', 'flu', 'flu'])
    """
    keys = data.encode_quasi_identifiers() if columns is None else tuple(columns)
    (column,) = data.encode([name])
    groups = group_rows(keys, rows=len(data))
    wild = data.roles.nulls == "wildcard"
    known = np.flatnonzero(column.codes >= 0) if wild else np.arange(len(data))
    size = len(column.labels) + 1
    cells, counts = np.unique(groups.ids[known].astype(np.int64) * size + column.codes[known] + 1, return_counts=True)
    triples = (cells // size, cells % size, counts.astype(np.float64))
    if wild and any(key.has_nulls for key in keys):
        triples = _join_matches(keys, triples)
    classes, values, totals = triples
    starts = np.searchsorted(classes, np.arange(groups.count + 1))
    return ClassValues(groups.ids, starts, values, totals, (None, *write_values(column.labels)))


def _join_matches(
    keys: Sequence[Coded], triples: "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]":
    """Return the values of all groups that match each group, from those of each group alone."""
    classes, values, counts = triples
    groups = group_rows(keys)
    bounds = np.searchsorted(classes, np.arange(groups.count + 1))
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    for left, right, left_ids, right_ids in match_keys(keys, groups):
        size = int(values.max(initial=0)) + 1
        entries = expand_ranges(bounds[right], bounds[right + 1])
        owners = np.repeat(right_ids.astype(np.int64), bounds[right + 1] - bounds[right])
        merged, sums = _add_equal(owners * size + values[entries], counts[entries])
        lows = np.searchsorted(merged, left_ids.astype(np.int64) * size)
        highs = np.searchsorted(merged, (left_ids.astype(np.int64) + 1) * size)
        found = expand_ranges(lows, highs)
        parts.append((np.repeat(left, highs - lows), merged[found] % size, sums[found]))
    whole, size = [np.concatenate(part) for part in zip(*parts, strict=True)], int(values.max(initial=0)) + 1
    cells, totals = _add_equal(whole[0] * size + whole[1], whole[2])
    return cells // size, cells % size, totals


def _add_equal(
    keys: "NDArray[np.int64]", amounts: "NDArray[np.float64]"
) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """Return the different keys, sorted, and the sum of the amounts of each."""
    found, places = np.unique(keys, return_inverse=True)
    return found, np.bincount(places.ravel(), weights=amounts, minlength=len(found)).astype(np.float64)


def expand_ranges(lows: "NDArray[np.int64]", highs: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return all numbers of ranges, one range after another.

    >>> expand_ranges(np.array([3, 7]), np.array([5, 8])).tolist()
    [3, 4, 7]
    """
    sizes = highs - lows
    offsets = np.repeat(lows - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    places: NDArray[np.int64] = np.arange(int(sizes.sum())) + offsets
    return places
