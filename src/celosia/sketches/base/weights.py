"""Weights of updates: integers, one for all values or one for each, negative ones too.

Sums of weights are bounded by 2^62, so that no counter of 64 bits can overflow, whichever cells the values share.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_COUNTER = 2**62
"""The largest sum of absolute weights of a sketch."""

_HALF = 32


def read_weights(weights: "ArrayLike | None", count: int) -> "NDArray[np.int64]":
    """Return the weights of ``count`` values as an array of one number for all or one for each."""
    try:
        given = np.asanyarray(1 if weights is None else weights)
    except ValueError:  # lists of different lengths
        given = np.empty(0, dtype=object)
    if given.size == 0 and given.ndim == 1 and given.dtype != object:
        given = given.astype(np.int64)
    too_large = given.dtype == np.uint64 and given.size and int(given.max()) >= 2**63
    if np.ma.isMaskedArray(given) or given.dtype.kind not in "iu" or too_large:
        raise InputError("sketches.weights_not_integers")
    if given.shape not in {(), (count,)}:
        raise InputError("sketches.wrong_number_of_weights")
    return np.ascontiguousarray(given.reshape(-1), dtype=np.int64)


def signed_sums(weights: "NDArray[np.int64]", count: int) -> tuple[int, int]:
    """Return the sum of what ``read_weights`` returned for ``count`` values, and the sum of the absolute values."""
    if weights.size == 1:
        return count * int(weights[0]), count * abs(int(weights[0]))
    high, low, taken_high, taken_low = map(int, _halves(weights))
    total, taken = (high << _HALF) + low, (taken_high << _HALF) + taken_low
    return total, total - 2 * taken


@njit(cache=True, nogil=True)
def _halves(numbers: "NDArray[np.int64]") -> tuple[int, int, int, int]:
    """Return the sums of the upper and the lower halves of all numbers, and of the negative ones."""
    high, low, taken_high, taken_low = 0, 0, 0, 0
    for i in range(numbers.size):
        upper, lower = numbers[i] >> _HALF, numbers[i] & 0xFFFFFFFF
        high, low = high + upper, low + lower
        if numbers[i] < 0:
            taken_high, taken_low = taken_high + upper, taken_low + lower
    return high, low, taken_high, taken_low


def exact_sum(numbers: "NDArray[np.int64]") -> int:
    """Return the sum of an array as an integer that does not wrap around."""
    high, low, _, _ = map(int, _halves(numbers))
    return (high << _HALF) + low
