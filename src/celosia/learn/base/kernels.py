"""Compiled loops over records: columns to centred integers, and their powers added up class by class.

``reading`` has nine rows and a column for every feature: low, high, grid, first and last step of the fine axis, the
factor to the coarse one, its lowest step, its steps, and the multiplier of what is centred.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray


@nb.njit("f8(f8, f8[:, ::1], i8)", cache=True, inline="always")
def _centred(value: float, reading: NDArray[np.float64], j: int) -> float:
    """Clip, round to the fine grid, then to the coarse one, and count from the middle: as engines do it."""
    inside = min(max(value, reading[0, j]), reading[1, j])
    step = min(max(np.floor(inside / reading[2, j] + 0.5), reading[3, j]), reading[4, j])
    if reading[5, j] > 1.0:
        step = np.floor(step / reading[5, j] + 0.5)
    centred: float = reading[8, j] * (2.0 * (step - reading[6, j]) - reading[7, j])
    return centred


@nb.njit("void(f8[:, ::1], f8[:, ::1], f8[:, ::1])", cache=True)
def centre(values: NDArray[np.float64], reading: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write centred integers, as doubles, into the first columns of ``out``."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = _centred(values[i, j], reading, j)


@nb.njit("void(f8[:, ::1], i8[::1], f8[:, ::1], i8[:, ::1])", cache=True)
def add_powers(
    values: NDArray[np.float64], codes: NDArray[np.int64], reading: NDArray[np.float64], table: NDArray[np.int64]
) -> None:
    """Add the count, the columns and their squares to the row of each record's class."""
    width = values.shape[1]
    for i in range(values.shape[0]):
        cell = codes[i]
        table[cell, 0] += 1
        for j in range(width):
            z = np.int64(_centred(values[i, j], reading, j))
            table[cell, 1 + j] += z
            table[cell, 1 + width + j] += z * z
