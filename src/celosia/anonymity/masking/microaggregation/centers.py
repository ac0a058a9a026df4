"""The center of each group in a column: the mean of numbers, the median of ordered values, the most frequent name."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def average_groups(numbers: "NDArray[np.float64]", groups: "NDArray[np.int64]") -> "NDArray[np.float64]":
    """Return for each record the mean of its group.

    Values are added from low to high: a sum in the order of the records would show it in its last digits.
    """
    order = np.lexsort((numbers, groups))
    sums, sizes = np.bincount(groups[order], weights=numbers[order]), np.bincount(groups)
    return np.asarray((sums / np.maximum(sizes, 1))[groups], dtype=np.float64)


def find_group_medians(ranks: "NDArray[np.int64]", groups: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return for each record the lower median of the ranks in its group."""
    sizes = np.bincount(groups)
    order = np.lexsort((ranks, groups))
    middles = np.cumsum(sizes) - sizes + np.maximum(sizes - 1, 0) // 2
    return np.asarray(ranks[order[np.minimum(middles, order.size - 1)]][groups], dtype=np.int64)


def find_group_modes(codes: "NDArray[np.int64]", groups: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return for each record the most frequent code of its group, the smallest of several."""
    base = int(codes.max(initial=0)) + 1
    pairs, counts = np.unique(groups * base + codes, return_counts=True)
    best = np.lexsort((pairs % base, -counts, pairs // base))
    owners = (pairs // base)[best]
    first = np.r_[True, owners[1:] != owners[:-1]]
    modes = np.zeros(int(groups.max(initial=0)) + 1, dtype=np.int64)
    modes[owners[first]] = (pairs % base)[best][first]
    return modes[groups]
