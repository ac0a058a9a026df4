"""Random pairs of ranks within a window, with a tree of counts that finds the n-th rank that is still free."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("int64(int64[::1], int64)", cache=True)
def count_before(tree: "NDArray[np.int64]", place: int) -> int:
    """Return how many ranks before a place are free."""
    total = 0
    while place:
        total += tree[place]
        place -= place & -place
    return total


@njit("int64(int64[::1], int64)", cache=True)
def find_free(tree: "NDArray[np.int64]", skipped: int) -> int:
    """Return the free rank that has ``skipped`` free ranks before it."""
    place, step = 0, 1
    while 2 * step < tree.size:
        step *= 2
    while step:
        if place + step < tree.size and tree[place + step] <= skipped:
            place += step
            skipped -= tree[place]
        step //= 2
    return place


@njit("int64[::1](int64[::1], float64[::1])", cache=True)
def pair_ranks(ends: "NDArray[np.int64]", draws: "NDArray[np.float64]") -> "NDArray[np.int64]":
    """Pair each free rank, from the lowest, with a random free rank after it and before its end, if there is one.

    Return the partner of each rank; a rank without one is its own.
    """
    total = ends.size
    partners = np.arange(total)
    tree = np.zeros(total + 1, dtype=np.int64)
    for place in range(1, total + 1):
        tree[place] = place & -place
    for rank in range(total):
        if partners[rank] != rank:
            continue
        before = count_before(tree, rank + 1)  # with the rank itself
        room = count_before(tree, ends[rank]) - before
        chosen = np.array([rank, rank])
        if room > 0:
            drawn = int(draws[rank] * room)  # below the room but for rounding
            chosen[1] = find_free(tree, before + (drawn if drawn < room else room - 1))
            partners[rank], partners[chosen[1]] = chosen[1], rank
        for used in chosen[: 2 if room > 0 else 1]:
            place = used + 1
            while place <= total:
                tree[place] -= 1
                place += place & -place
    return partners
