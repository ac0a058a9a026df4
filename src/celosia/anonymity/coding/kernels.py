"""Loops over rows, compiled: places in a hash table, and sums over matching keys."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("Tuple((int32[::1], int64[::1]))(int64[::1], int64)", cache=True)
def number_keys(keys: "NDArray[np.int64]", bits: int) -> "tuple[NDArray[np.int32], NDArray[np.int64]]":
    """Number the different keys by first occurrence, with a hash table of ``2 ** bits`` slots, and return them."""
    size = np.int64(1) << bits
    slots = np.full(size, -1, dtype=np.int32)
    ids = np.empty(keys.size, dtype=np.int32)
    found = np.empty(keys.size, dtype=np.int64)
    count = 0
    for row in range(keys.size):
        key = keys[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(64 - bits))
        while slots[slot] >= 0 and found[slots[slot]] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            found[count] = key
            count += 1
        ids[row] = slots[slot]
    return ids, found[:count].copy()
