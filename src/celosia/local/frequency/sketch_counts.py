"""Compiled loops of the count-mean sketches: add reports to a table, and sum its squares.

Bits are added eight at a time: a table spreads the bits of a byte over the bytes of a word, words add up without
carrying for 255 reports of the same row, and are then added to the counts. Reports are taken row by row, so that a row
is fetched once.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_BYTE_COUNT = 255  # reports that a byte of a word can count
_SPREAD = np.array([sum((byte >> bit & 1) << 8 * bit for bit in range(8)) for byte in range(256)], dtype=np.uint64)


def add_bits(counts: "NDArray[np.int64]", rows: "NDArray[np.int64]", payload: "NDArray[np.uint8]") -> None:
    """Add the first bits of each report (as many as there are columns) to its row of the counts."""
    if len(rows):
        # Sixteen bits are sorted by radix, which is much quicker.
        keys = rows.astype(np.uint16) if counts.shape[0] <= 1 << 16 else rows
        _add_bits(counts, rows, np.argsort(keys, kind="stable"), np.ascontiguousarray(payload), _SPREAD)


@njit(cache=True, nogil=True)
def _add_bits(
    counts: "NDArray[np.int64]",
    rows: "NDArray[np.int64]",
    order: "NDArray[np.int64]",
    payload: "NDArray[np.uint8]",
    spread: "NDArray[np.uint64]",
) -> None:
    width = counts.shape[1]
    octets = -(-width // 8)
    sums = np.empty(octets, dtype=np.uint64)
    i = 0
    while i < order.size:
        row = rows[order[i]]
        sums[:] = 0
        last = min(order.size, i + _MAX_BYTE_COUNT)
        while i < last and rows[order[i]] == row:
            report = order[i]
            for octet in range(octets):
                sums[octet] += spread[payload[report, octet]]
            i += 1
        for octet in range(width // 8):
            for bit in range(8):
                counts[row, 8 * octet + bit] += np.int64((sums[octet] >> np.uint64(8 * bit)) & np.uint64(255))
        for bit in range(width % 8):  # the rest of that byte is not part of the vector
            counts[row, width - width % 8 + bit] += np.int64((sums[octets - 1] >> np.uint64(8 * bit)) & np.uint64(255))


@njit(cache=True, nogil=True)
def add_signs(
    sums: "NDArray[np.int64]",
    reports: "NDArray[np.int64]",
    rows: "NDArray[np.int64]",
    columns: "NDArray[np.int64]",
    plus: "NDArray[np.int64]",
) -> None:
    """Add 1 or -1 to a cell for each report, and 1 to the number of reports of its row."""
    for i in range(rows.size):
        sums[rows[i], columns[i]] += 2 * plus[i] - 1
        reports[rows[i]] += 1


@njit(cache=True, nogil=True)
def sum_of_squares(table: "NDArray[np.int64]", scale: float, shifts: "NDArray[np.float64]") -> float:
    """Return the sum over all cells of ``(scale * cell - shift of its row)^2``."""
    total = 0.0
    for row in range(table.shape[0]):
        part = 0.0
        for column in range(table.shape[1]):
            cell = scale * table[row, column] - shifts[row]
            part += cell * cell
        total += part
    return total
