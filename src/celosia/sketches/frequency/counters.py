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


@njit(cache=True, nogil=True)
def add_counts(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    weights: "NDArray[np.int64]",
    table: "NDArray[np.int64]",
) -> None:
    """Add to the cells of every digest its weight (``weights`` has one for all, or one for each)."""
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
    """Add to the cells of every digest its weight times its sign in that row."""
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
    """Write the cells of every digest, one row of ``out`` for each row of the table."""
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
    """Write the cells of every digest times its signs."""
    independence, width = coefficients.shape[1], np.uint64(table.shape[1])
    sign_independence = signs.shape[1]
    for row in range(coefficients.shape[0]):
        four, sign_four, cells = first_four(coefficients, row), first_four(signs, row), table[row]
        for i in range(digests.size):
            x = reduce61(digests[i])
            place = np.uint64(to_range(evaluate_four(four, independence, x), width))
            out[row, i] = sign_of(evaluate_four(sign_four, sign_independence, x)) * cells[place]
