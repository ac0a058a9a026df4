"""Support of candidates in a hashed table of counts: the sum, over all rows, of the cell of the candidate.

All estimates from hashed reports use it, and with many candidates it takes most of the time. It works on blocks of
candidates row after row, so that their sums, the row and its polynomial stay in the cache.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.core.errors import ParameterError
from celosia.sketches.hashing.mersenne import evaluate_four, first_four, reduce61, to_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.sketches.hashing.family import HashFamily

_INDEPENDENCE = 3  # of all local protocols; a constant makes the loop three times as fast
_BLOCK = 2048  # candidates whose sums fit in the nearest cache


def support(table: "NDArray[np.int64]", family: "HashFamily", digests: "NDArray[np.uint64]") -> "NDArray[np.int64]":
    """Return, for each digest, the sum of ``table[row, column of the digest in that row]`` over all rows."""
    if family.independence != _INDEPENDENCE or table.shape != (family.rows, family.width):
        raise ParameterError("local.support_table_mismatch", shape=(family.rows, family.width))
    sums = np.zeros(digests.size, dtype=np.int64)
    _support(np.ascontiguousarray(table), family.coefficients, np.ascontiguousarray(digests), sums)
    return sums


@njit(cache=True, nogil=True)
def _support(
    table: "NDArray[np.int64]",
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    sums: "NDArray[np.int64]",
) -> None:
    width = np.uint64(table.shape[1])
    words = np.empty(_BLOCK, dtype=np.uint64)
    for first in range(0, digests.size, _BLOCK):
        size = min(_BLOCK, digests.size - first)
        for i in range(size):
            words[i] = reduce61(digests[first + i])
        for row in range(table.shape[0]):
            four = first_four(coefficients, row)
            cells = table[row]
            for i in range(size):
                column = to_range(evaluate_four(four, _INDEPENDENCE, words[i]), width)
                sums[first + i] += cells[np.uint64(column)]  # unsigned: no wraparound check
