"""Compiled loops over the bits and counters of Bloom filters.

Position i of a value is ⌊w_i · bits / 2^64⌋, where w_1, w_2 … are the words of SplitMix64 started at its digest: the
state grows by 0x9E3779B97F4A7C15, and a word is its state after two rounds of shift, exclusive or and product.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.sketches.hashing.mersenne import high_product

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def position(state: np.uint64, bits: int) -> np.int64:
    """Return the position, from 0 to bits - 1 (at most 2^32), of a state of SplitMix64.

    The first output of SplitMix64 from the seed 1234567 is 6457827717110365317 (Vigna's test vector).
    """
    word = (state ^ (state >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    word ^= word >> np.uint64(31)
    return np.int64(high_product(word, np.uint64(bits)))


@njit(cache=True, nogil=True)
def set_bits(digests: "NDArray[np.uint64]", words: "NDArray[np.uint64]", bits: int, hashes: int) -> None:
    """Set the bits of every digest."""
    for i in range(digests.size):
        state = digests[i]
        for _ in range(hashes):
            state += _GOLDEN
            place = np.uint64(position(state, bits))
            words[place >> np.uint64(6)] |= np.uint64(1) << (place & np.uint64(63))


@njit(cache=True, nogil=True)
def contains_all(
    digests: "NDArray[np.uint64]", words: "NDArray[np.uint64]", bits: int, hashes: int, out: "NDArray[np.bool_]"
) -> None:
    """Write for every digest whether all its bits are set."""
    for i in range(digests.size):
        state, found = digests[i], True
        for _ in range(hashes):
            state += _GOLDEN
            place = np.uint64(position(state, bits))
            if not (words[place >> np.uint64(6)] >> (place & np.uint64(63))) & np.uint64(1):
                found = False
                break
        out[i] = found


@njit(cache=True, nogil=True)
def add_to_counters(
    digests: "NDArray[np.uint64]", weights: "NDArray[np.int64]", counters: "NDArray[Any]", hashes: int, most: int
) -> None:
    """Raise the counters of every digest by its weight (``weights`` has one or as many), up to ``most``."""
    for i in range(digests.size):
        state, weight = digests[i], weights[i if weights.size > 1 else 0]
        for _ in range(hashes):
            state += _GOLDEN
            place = position(state, counters.size)
            room = most - np.int64(counters[place])
            counters[place] = most if weight > room else np.int64(counters[place]) + weight


@njit(cache=True, nogil=True)
def smallest_counters(
    digests: "NDArray[np.uint64]", counters: "NDArray[Any]", hashes: int, out: "NDArray[np.int64]"
) -> None:
    """Write the smallest counter of every digest."""
    for i in range(digests.size):
        state, least = digests[i], np.int64(2**62)
        for _ in range(hashes):
            state += _GOLDEN
            least = min(least, np.int64(counters[position(state, counters.size)]))
        out[i] = least


@njit(cache=True, nogil=True)
def take_counters(digests: "NDArray[np.uint64]", counters: "NDArray[Any]", hashes: int, most: int) -> int:
    """Lower the counters of every possible member by one, and return the number of digests that are no members.

    A counter that reached ``most`` stays: its true count is unknown.
    """
    absent = 0
    for i in range(digests.size):
        state, found = digests[i], True
        for _ in range(hashes):
            state += _GOLDEN
            if counters[position(state, counters.size)] == 0:
                found = False
                break
        if not found:
            absent += 1
            continue
        state = digests[i]
        for _ in range(hashes):
            state += _GOLDEN
            place = position(state, counters.size)
            if 0 < counters[place] < most:
                counters[place] -= 1
    return absent


def count_bits(words: "NDArray[np.uint64]") -> int:
    """Return the number of set bits."""
    return int(_count(words))


@njit(cache=True, nogil=True)
def _count(words: "NDArray[np.uint64]") -> np.int64:
    # Sideways sums: of pairs, of fours, of bytes, then all bytes by one product.
    total = np.int64(0)
    for i in range(words.size):
        word = words[i]
        word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
        word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return total
