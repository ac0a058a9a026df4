"""The nearest original record of each masked one, with the number of records that are as near.

Numbers alone go through a tree of their points. Numbers and categories together, or numbers with nulls, are compared by
Gower's distance, each different record with each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from celosia.anonymity.coding import Coded, Groups, encode, group_rows
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.risk.distances import find_nearest
from celosia.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE: Final = 1e-9
"""Distances that differ by less are equal: rounding would decide who is nearest."""

Nearest: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]"


def find_originals(original: Microdata, masked: Microdata) -> "NDArray[np.int64]":
    """Return the place in the original of each masked record, or raise if one is from another file."""
    order = np.argsort(original.rows)
    found = np.minimum(np.searchsorted(original.rows[order], masked.rows), len(order) - 1)
    places = order[found]
    if not len(masked) or not np.array_equal(original.rows[places], masked.rows):
        raise InputError("anonymity_risk.files_of_other_records")
    return places


def is_numeric(data: Microdata, name: str) -> bool:
    """Whether a column has numbers."""
    import pyarrow as pa

    kind = data.get_column(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def measure_nearest(
    original: Microdata,
    masked: Microdata,
    places: "NDArray[np.int64]",
    numeric: Sequence[str],
    categories: Sequence[str],
) -> Nearest:
    """Return for each masked record the least distance, the records that near, and the distance to its original.

    ``places`` are those of the originals.
    """
    before, after = _read_numbers(original, numeric), _read_numbers(masked, numeric)
    if categories or np.isnan(before).any() or np.isnan(after).any():
        codes = _encode_both(original, masked, categories)
        wild = original.roles.nulls == "wildcard"
        return _search_pairs(before, after, codes[: len(before)], codes[len(before) :], places, wild=wild)
    return _search_tree(before, after, places)


def _read_numbers(data: Microdata, names: Sequence[str]) -> "NDArray[np.float64]":
    columns = [data.get_numbers(name) for name in names]
    return np.column_stack(columns) if columns else np.zeros((len(data), 0))


def _encode_both(original: Microdata, masked: Microdata, names: Sequence[str]) -> "NDArray[np.int32]":
    """Return the codes of categories, compared as texts, of the original records and then of the masked ones."""
    import pyarrow as pa

    columns = []
    for name in names:
        parts = []
        for data in (original, masked):
            (coded,) = data.encode([name])
            parts.append(Coded(coded.codes, pa.array(write_values(coded.labels), pa.string())).decode())
        columns.append(encode(pa.chunked_array(parts), name=name).codes)
    return np.column_stack(columns) if columns else np.zeros((len(original) + len(masked), 0), dtype=np.int32)


def _search_tree(before: "NDArray[np.float64]", after: "NDArray[np.float64]", places: "NDArray[np.int64]") -> Nearest:
    """Search by Euclidean distance, in units of the standard deviation of each column."""
    from scipy.spatial import cKDTree

    spread = before.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    points, targets = before / scale, after / scale
    tree = cKDTree(points)
    least = np.asarray(tree.query(targets)[0], dtype=np.float64)
    ties = np.asarray(tree.query_ball_point(targets, least + TOLERANCE, return_length=True), dtype=np.float64)
    return least, ties, np.sqrt(((points[places] - targets) ** 2).sum(axis=1))


def _search_pairs(
    before: "NDArray[np.float64]",
    after: "NDArray[np.float64]",
    kinds: "NDArray[np.int32]",
    others: "NDArray[np.int32]",
    places: "NDArray[np.int64]",
    *,
    wild: bool,
) -> Nearest:
    """Search by Gower's distance: numbers differ by part of their range, categories by 0 or 1."""
    low, high = _find_ends(before)
    scale = np.where(high > low, high - low, 1.0)
    points, targets = before / scale, after / scale
    unlike, masked = _group(points, kinds), _group(targets, others)
    one_of, of_masked = unlike.find_examples(), masked.find_examples()
    least, ties = find_nearest(
        np.ascontiguousarray(targets[of_masked]),
        np.ascontiguousarray(others[of_masked]),
        np.ascontiguousarray(points[one_of]),
        np.ascontiguousarray(kinds[one_of]),
        unlike.sizes.astype(np.float64),
        wild,
        TOLERANCE,
    )
    own = _measure_gower(targets, others, points[places], kinds[places], wild=wild)
    return least[masked.ids], ties[masked.ids], own


def _find_ends(numbers: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the least and the largest number of each column; infinite ends if it has none."""
    unknown = np.isnan(numbers)
    low = np.where(unknown, np.inf, numbers).min(axis=0, initial=np.inf)
    return low, np.where(unknown, -np.inf, numbers).max(axis=0, initial=-np.inf)


def _group(numbers: "NDArray[np.float64]", codes: "NDArray[np.int32]") -> Groups:
    """Return the groups of equal records."""
    import pyarrow as pa

    columns = [np.unique(column, return_inverse=True)[1] for column in numbers.T]
    columns += [column + 1 for column in codes.T]
    coded = [Coded(ids.astype(np.int32), pa.nulls(int(ids.max(initial=-1)) + 1)) for ids in columns]
    return group_rows(coded, rows=len(numbers))


def _measure_gower(
    numbers: "NDArray[np.float64]",
    codes: "NDArray[np.int32]",
    other_numbers: "NDArray[np.float64]",
    other_codes: "NDArray[np.int32]",
    *,
    wild: bool,
) -> "NDArray[np.float64]":
    """Return the distance of each record to the other of its row, as the compiled search measures it."""
    gaps = np.abs(numbers - other_numbers)
    both = np.isnan(numbers) & np.isnan(other_numbers)
    gaps = np.where(np.isnan(gaps), 0.0 if wild else np.where(both, 0.0, 1.0), gaps)
    unlike = (codes != other_codes) & ~(wild & ((codes < 0) | (other_codes < 0)))
    total: NDArray[np.float64] = gaps.sum(axis=1) + unlike.sum(axis=1)
    return total
