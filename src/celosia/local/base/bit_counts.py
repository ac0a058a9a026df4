"""Column sums of a matrix of packed bits: how many reports have each bit.

The bits of 64 columns are added side by side: a word is a digit of 64 binary counters at once, and full adders carry
from one digit to the next (Harley and Seal's counting, across rows). A report costs about one nanosecond for a word of
64 bits, and is never unpacked.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.packing import Bytes, Words

_WORD = 64
_BLOCK_ROWS = 1016  # a multiple of 8 below 2^10: ten digits hold every sum
_BLOCK_WORDS = 8  # read together: a line of the cache


def add_bits(payload: "Bytes", counts: "NDArray[np.int64]") -> None:
    """Add to ``counts`` how many of the reports have each bit; bits beyond the counts are ignored."""
    words = _as_words(payload)
    sums = np.zeros(words.shape[1] * _WORD, dtype=np.int64)
    _add_words(words, sums)
    counts += sums[: counts.size]


def count_ones(payload: "Bytes") -> "NDArray[np.int64]":
    """Return how many bits each report has set."""
    words = _as_words(payload)
    ones = np.empty(len(words), dtype=np.int64)
    _count_words(words, ones)
    return ones


def _as_words(payload: "Bytes") -> "Words":
    rows, size = payload.shape
    if size % 8 or not payload.flags.c_contiguous or payload.ctypes.data % 8:
        padded = np.zeros((rows, -(-size // 8) * 8), dtype=np.uint8)
        padded[:, :size] = payload
        payload = padded
    return payload.view("<u8").astype(np.uint64, copy=False)


@njit(cache=True, nogil=True)
def _add_words(words: "Words", counts: "NDArray[np.int64]") -> None:
    rows, width = words.shape
    columns = np.zeros((_BLOCK_WORDS, _BLOCK_ROWS), dtype=np.uint64)
    for first in range(0, rows, _BLOCK_ROWS):
        some = min(_BLOCK_ROWS, rows - first)
        for column in range(_BLOCK_WORDS):
            for i in range(some, _BLOCK_ROWS):
                columns[column, i] = 0
        for left in range(0, width, _BLOCK_WORDS):
            few = min(_BLOCK_WORDS, width - left)
            for i in range(some):
                for column in range(few):
                    columns[column, i] = words[first + i, left + column]
            for column in range(few):
                _add_column(columns[column], counts[(left + column) * _WORD : (left + column + 1) * _WORD])


@njit(cache=True, nogil=True)
def _add_digits(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Add three digits: return the last digit of the sum, and the carry."""
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@njit(cache=True, nogil=True)
def _add_column(column: "Words", counts: "NDArray[np.int64]") -> None:
    ones = twos = fours = np.uint64(0)
    high = np.zeros(7, dtype=np.uint64)  # the digits of 8, 16 … 512
    for i in range(0, column.size, 8):
        ones, two_a = _add_digits(ones, column[i], column[i + 1])
        ones, two_b = _add_digits(ones, column[i + 2], column[i + 3])
        twos, four_a = _add_digits(twos, two_a, two_b)
        ones, two_a = _add_digits(ones, column[i + 4], column[i + 5])
        ones, two_b = _add_digits(ones, column[i + 6], column[i + 7])
        twos, four_b = _add_digits(twos, two_a, two_b)
        fours, carry = _add_digits(fours, four_a, four_b)
        digit = 0
        while carry:
            carried = high[digit] & carry
            high[digit] ^= carry
            carry = carried
            digit += 1
    for bit in range(_WORD):
        shift = np.uint64(bit)
        total = (ones >> shift & 1) + 2 * (twos >> shift & 1) + 4 * (fours >> shift & 1)
        for digit in range(7):
            total += (high[digit] >> shift & 1) << np.uint64(digit + 3)
        counts[bit] += np.int64(total)


@njit(cache=True, nogil=True)
def _count_words(words: "Words", ones: "NDArray[np.int64]") -> None:
    pairs, nibbles = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    for i in range(len(words)):
        total = np.uint64(0)
        for j in range(words.shape[1]):
            word = words[i, j]
            word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
            word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
            word = (word + (word >> np.uint64(4))) & nibbles
            total += (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
        ones[i] = np.int64(total)
