"""The compiled inner loop of ``uniform.subsets``: many uniform subsets at once.

Floyd's algorithm (Bentley and Floyd 1987) takes one bounded number for each element: for j from ``size - chosen`` to
``size - 1`` draw t from 0 to j and take t, or j if t is taken already. Every subset comes out with the same
probability. Bounded numbers are products of a 32-bit digit and the bound, and the digits that would favour some are
drawn again (Lemire 2019).
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_RANGE = np.uint64(1 << 32)


@njit(cache=True, nogil=True)
def fill(
    out: "NDArray[np.int64]", first: int, size: int, digits: "NDArray[np.uint32]", marks: "NDArray[np.bool_]"
) -> int:
    """Fill the rows of ``out`` from ``first`` on, in increasing order; return the row that the digits ended in.

    That row is begun again with further digits: the number of rejected digits does not depend on the numbers taken.
    ``marks`` has room for each number, all False, or is empty: then the numbers taken are kept in order by insertion.
    """
    chosen = out.shape[1]
    read = 0
    for row in range(first, len(out)):
        taken = 0
        while taken < chosen and read < digits.size:
            bound = np.uint64(size - chosen + taken + 1)
            product = np.uint64(digits[read]) * bound
            read += 1
            if (product & _LOW) < bound and (product & _LOW) < _RANGE % bound:
                continue
            if marks.size:
                _mark(out, row, taken, product >> _HALF, bound, marks)
            else:
                _insert(out, row, taken, product >> _HALF, bound)
            taken += 1
        if marks.size:
            _collect(out, row, taken, marks)
        if taken < chosen:
            return row
    return len(out)


@njit(cache=True, nogil=True)
def _mark(
    out: "NDArray[np.int64]", row: int, taken: int, number: np.uint64, bound: np.uint64, marks: "NDArray[np.bool_]"
) -> None:
    """Take a number, or the last below ``bound`` (larger than all that are taken) if it is taken already."""
    kept = bound - np.uint64(1) if marks[number] else number
    marks[kept] = True
    out[row, taken] = kept


@njit(cache=True, nogil=True)
def _insert(out: "NDArray[np.int64]", row: int, taken: int, number: np.uint64, bound: np.uint64) -> None:
    """Do the same with the numbers taken in increasing order."""
    kept = np.int64(number)
    place = taken
    while place > 0 and out[row, place - 1] > kept:
        place -= 1
    if place > 0 and out[row, place - 1] == kept:
        out[row, taken] = np.int64(bound) - 1
        return
    for i in range(taken, place, -1):
        out[row, i] = out[row, i - 1]
    out[row, place] = kept


@njit(cache=True, nogil=True)
def _collect(out: "NDArray[np.int64]", row: int, taken: int, marks: "NDArray[np.bool_]") -> None:
    """Clear the marks; write the numbers in increasing order if the row is full."""
    if taken < out.shape[1]:
        for i in range(taken):
            marks[out[row, i]] = False
        return
    found = 0
    number = 0
    while found < taken:
        out[row, found] = number  # for now: the next that is marked stays
        found += marks[number]
        marks[number] = False
        number += 1
