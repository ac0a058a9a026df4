"""Loops over the distinct records of a file, compiled: their classes at a node of the lattice, and what they lose."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("Tuple((int32[::1], int64))(int32[:, ::1], int64[::1], int64[::1], int64, int64)", cache=True)
def number_rows(
    codes: "NDArray[np.int32]", table: "NDArray[np.int64]", starts: "NDArray[np.int64]", room: int, bits: int
) -> "tuple[NDArray[np.int32], int]":
    """Number the different keys of rows by first occurrence.

    The key of a row is the sum over its columns of ``table[starts[column] + code]``, and is below ``room``. With
    ``bits`` above 0 the places of keys are in a hash table of ``2 ** bits`` slots, otherwise in one of ``room`` slots.
    """
    rows, columns = codes.shape
    size = np.int64(1) << bits if bits else room
    slots = np.full(size, -1, dtype=np.int32)
    found = np.empty(rows if bits else 0, dtype=np.int64)
    ids = np.empty(rows, dtype=np.int32)
    count = 0
    for row in range(rows):
        key = np.int64(0)
        for column in range(columns):
            key += table[starts[column] + codes[row, column]]
        slot = key
        if bits:
            mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            slot = np.int64(mixed >> np.uint64(64 - bits))
            while slots[slot] >= 0 and found[slots[slot]] != key:
                slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            if bits:
                found[count] = key
            count += 1
        ids[row] = slots[slot]
    return ids, count


@njit("float64(int32[::1], boolean[::1], float64[::1], int32[:, ::1], float64[::1], int64[::1])", cache=True)
def sum_remainders(
    ids: "NDArray[np.int32]",
    dropped: "NDArray[np.bool_]",
    counts: "NDArray[np.float64]",
    codes: "NDArray[np.int32]",
    table: "NDArray[np.float64]",
    starts: "NDArray[np.int64]",
) -> float:
    """Return what dropping classes adds to the loss: one, less the mean loss of its values, for each record."""
    rows, columns = codes.shape
    total = 0.0
    for row in range(rows):
        if dropped[ids[row]]:
            loss = 0.0
            for column in range(columns):
                loss += table[starts[column] + codes[row, column]]
            total += counts[row] * (1.0 - loss / columns)
    return total
