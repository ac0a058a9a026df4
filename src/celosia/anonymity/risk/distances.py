"""Compiled search for the nearest records among numbers and categories together."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(
    "Tuple((float64[::1], float64[::1]))"
    "(float64[:, ::1], int32[:, ::1], float64[:, ::1], int32[:, ::1], float64[::1], boolean, float64)",
    cache=True,
)
def find_nearest(
    masked: "NDArray[np.float64]",
    masked_codes: "NDArray[np.int32]",
    original: "NDArray[np.float64]",
    original_codes: "NDArray[np.int32]",
    counts: "NDArray[np.float64]",
    wild: bool,  # noqa: FBT001 - Numba's signature has no keywords
    tolerance: float,
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return for each masked record the least distance to an original one, and how many records are that near.

    Each row of the original stands for ``counts`` records. The distance is the sum of the differences of numbers and of
    one for each code that differs. NaN and code -1 are nulls, which differ from values and not from nulls, or, if they
    are wildcards, from nothing.
    """
    least = np.empty(len(masked))
    ties = np.empty(len(masked))
    for row in range(len(masked)):
        best, tied = np.inf, 0.0
        for other in range(len(original)):
            total, limit = 0.0, best + tolerance
            for column in range(masked_codes.shape[1]):
                one, two = masked_codes[row, column], original_codes[other, column]
                if one != two and not (wild and (one < 0 or two < 0)):
                    total += 1.0
            for column in range(masked.shape[1]):
                if total > limit:
                    break
                gap = abs(masked[row, column] - original[other, column])
                if np.isnan(gap):
                    both = np.isnan(masked[row, column]) and np.isnan(original[other, column])
                    gap = 0.0 if wild or both else 1.0
                total += gap
            if total > limit:
                continue
            if total < best - tolerance:
                best, tied = total, 0.0
            tied += counts[other]
            best = min(best, total)
        least[row], ties[row] = best, tied
    return least, ties
