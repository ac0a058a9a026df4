"""Optimal groups of one column: the shortest path over sorted values (Hansen and Mukherjee 2003)."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("int64[::1](float64[::1], int64)", cache=True)
def group_sorted(values: "NDArray[np.float64]", k: int) -> "NDArray[np.int64]":
    """Return the group of each of the sorted values; the squared deviations from the means of groups are least.

    An optimal solution has groups of ``k`` to ``2 k - 1`` neighbours. The cost of the last group grows value by value
    from its end, so that nothing large is subtracted.
    """
    total = values.size
    costs, starts = np.full(total + 1, np.inf), np.zeros(total + 1, dtype=np.int64)
    costs[0] = 0.0
    for end in range(k, total + 1):
        mean, spread = 0.0, 0.0
        for start in range(end - 1, max(-1, end - 2 * k), -1):
            size = end - start
            gap = values[start] - mean
            mean += gap / size
            spread += gap * (values[start] - mean)
            if size >= k and costs[start] + spread < costs[end]:
                costs[end], starts[end] = costs[start] + spread, start
    groups = np.empty(total, dtype=np.int64)
    end, group = total, 0
    while end:
        groups[starts[end] : end] = group
        end = starts[end]
        group += 1
    return groups
