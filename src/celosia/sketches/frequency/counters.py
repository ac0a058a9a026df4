"""Compiled loops over tables of counters: add a weight to one cell of every row, and read the cells of a value.

``coefficients`` are those of a ``HashFamily`` whose rows are the table's; ``signs`` are those of a second one, for
sketches that add or subtract. Each row is one pass over the digests, which a caller hands over in pieces that stay in
the cache: there are no temporaries of digests times rows.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.sketches.hashing.mersenne import evaluate_four, first_four, reduce61, sign_of, to_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_counts", "add_signed", "read_counts", "read_signed"]


@njit(cache=True, nogil=True)
def add_counts(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    weights: "NDArray[np.int64]",
    table: "NDArray[np.int64]",
) -> None:
    """Add to the cells of every digest its weight (``weights`` has one for all, or one for each).

    >>> table = np.zeros((1, 4), dtype=np.int64)
    >>> add_counts(np.array([[2**60]], dtype=np.uint64), np.arange(3, dtype=np.uint64), np.array([5]), table)
    >>> table.tolist()
    [[0, 0, 15, 0]]
    """
    independence, width, each = coefficients.shape[1], np.uint64(table.shape[1]), weights.size > 1
    for row in range(coefficients.shape[0]):
        four, cells = first_four(coefficients, row), table[row]
        for i in range(digests.size):
            y = evaluate_four(four, independence, reduce61(digests[i]))
            cells[np.uint64(to_range(y, width))] += weights[i] if each else weights[0]


@njit(cache=True, nogil=True)
def add_signed(
    coefficients: "NDArray[np.uint64]",
    signs: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    weights: "NDArray[np.int64]",
    table: "NDArray[np.int64]",
) -> None:
    """Add to the cells of every digest its weight times its sign in that row.

    >>> table = np.zeros((1, 4), dtype=np.int64)
    >>> add_signed(*np.full((2, 1, 1), 2**60, dtype=np.uint64), np.arange(3, dtype=np.uint64), np.array([5]), table)
    >>> table.tolist()
    [[0, 0, -15, 0]]
    """
    independence, width, each = coefficients.shape[1], np.uint64(table.shape[1]), weights.size > 1
    sign_independence = signs.shape[1]
    for row in range(coefficients.shape[0]):
        four, sign_four, cells = first_four(coefficients, row), first_four(signs, row), table[row]
        for i in range(digests.size):
            x = reduce61(digests[i])
            sign = sign_of(evaluate_four(sign_four, sign_independence, x))
            place = np.uint64(to_range(evaluate_four(four, independence, x), width))
            cells[place] += sign * (weights[i] if each else weights[0])


@njit(cache=True, nogil=True)
def read_counts(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    table: "NDArray[np.int64]",
    out: "NDArray[np.int64]",
) -> None:
    """Write the cells of every digest, one row of ``out`` for each row of the table.

    >>> out = np.zeros((1, 2), dtype=np.int64)
    >>> read_counts(np.array([[2**60]], dtype=np.uint64), np.arange(2, dtype=np.uint64), np.array([[1, 2, 3, 4]]), out)
    >>> out.tolist()
    [[3, 3]]
    """
    independence, width = coefficients.shape[1], np.uint64(table.shape[1])
    for row in range(coefficients.shape[0]):
        four, cells = first_four(coefficients, row), table[row]
        for i in range(digests.size):
            y = evaluate_four(four, independence, reduce61(digests[i]))
            out[row, i] = cells[np.uint64(to_range(y, width))]


@njit(cache=True, nogil=True)
def read_signed(
    coefficients: "NDArray[np.uint64]",
    signs: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    table: "NDArray[np.int64]",
    out: "NDArray[np.int64]",
) -> None:
    """Write the cells of every digest times its signs.

    >>> out, families = np.zeros((1, 2), dtype=np.int64), np.full((2, 1, 1), 2**60, dtype=np.uint64)
    >>> read_signed(*families, np.arange(2, dtype=np.uint64), np.array([[1, 2, 3, 4]]), out)
    >>> out.tolist()
    [[-3, -3]]
    """
    independence, width = coefficients.shape[1], np.uint64(table.shape[1])
    sign_independence = signs.shape[1]
    for row in range(coefficients.shape[0]):
        four, sign_four, cells = first_four(coefficients, row), first_four(signs, row), table[row]
        for i in range(digests.size):
            x = reduce61(digests[i])
            place = np.uint64(to_range(evaluate_four(four, independence, x), width))
            out[row, i] = sign_of(evaluate_four(sign_four, sign_independence, x)) * cells[place]
