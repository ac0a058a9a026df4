"""Compiled search for the classes of a released file that fit a person of a register."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(
    "float64[:, ::1](int32[:, ::1], int32[:, ::1], uint8[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], float64[::1], int64)",
    cache=True,
)
def sum_fitting(  # noqa: PLR0913, PLR0917 - Numba's signature has no objects
    persons: "NDArray[np.int32]",
    classes: "NDArray[np.int32]",
    fits: "NDArray[np.uint8]",
    offsets: "NDArray[np.int64]",
    widths: "NDArray[np.int64]",
    starts: "NDArray[np.int64]",
    values: "NDArray[np.int64]",
    counts: "NDArray[np.float64]",
    size: int,
) -> "NDArray[np.float64]":
    """Return for each person and each value the number of records with it, in the classes that fit the person.

    Value ``p`` of a person fits label ``c`` of a class in column ``j`` if ``fits[offsets[j] + p * widths[j] + c]`` is
    1. Class ``g`` has the values ``values[starts[g]:starts[g + 1]]`` with ``counts``.
    """
    found = np.zeros((len(persons), size))
    for person in range(len(persons)):
        for place in range(len(classes)):
            match = True
            for column in range(persons.shape[1]):
                row = offsets[column] + persons[person, column] * widths[column]
                if fits[row + classes[place, column]] == 0:
                    match = False
                    break
            if match:
                for entry in range(starts[place], starts[place + 1]):
                    found[person, values[entry]] += counts[entry]
    return found
