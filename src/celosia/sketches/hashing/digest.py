"""A 64-bit digest of every value of a column: XXH64 (Collet 2014), the same bits on every machine.

A text is digested as its UTF-8 bytes, bytes as they are, and an integer as its 8 bytes, little-endian and in two's
complement. XXH64 spreads values well and fast but is not cryptographic: an adversary who chooses the values and knows
the seed can make them collide. The guarantees of a sketch over its random hash functions come from ``family``.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.sketches.hashing.columns import Values, read_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def digest(values: Values, *, seed: int = 0) -> "NDArray[np.uint64]":
    """Return XXH64 of every value, with a seed from 0 to 2^64 - 1.

    >>> [hex(number) for number in digest(["", "a", "abc"]).tolist()]
    ['0xef46db3751d8e999', '0xd24ec4f1a98c6e5b', '0x44bc2cf5ad770999']
    >>> digest([97]) == digest([b"a" + bytes(7)])
    array([ True])
    """
    column, start = read_column(values), as_seed(seed)
    out = np.empty(len(column), dtype=np.uint64)
    if column.integers is not None:
        _digest_integers(column.integers, start, out)
    else:
        _digest_strings(column.offsets, column.data, start, out)
    return out


def digest_bytes(data: bytes, *, seed: int = 0) -> int:
    """Return XXH64 of one string of bytes."""
    content = np.frombuffer(data, dtype=np.uint8)
    return int(_digest_one(content, 0, content.size, as_seed(seed)))


def as_seed(seed: int) -> np.uint64:
    """Return a seed as 64 bits, or raise ``ParameterError``."""
    number = exact_integer(seed, name="seed", least=0)
    if number >= 2**64:
        raise ParameterError("sketches.seed_too_large", seed=safe_repr(seed))
    return np.uint64(number)


@njit(cache=True, nogil=True, inline="always")
def _rotate(word: np.uint64, by: int) -> np.uint64:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@njit(cache=True, nogil=True)
def _mix(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(lane + word * _P2, 31) * _P1


@njit(cache=True, nogil=True)
def _avalanche(state: np.uint64) -> np.uint64:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))


@njit(cache=True, nogil=True)
def xxh64_word(word: np.uint64, seed: np.uint64) -> np.uint64:
    """Return XXH64 of the 8 little-endian bytes of a word; compiled, for other compiled loops."""
    state = (seed + _P5 + np.uint64(8)) ^ _mix(np.uint64(0), word)
    return _avalanche(_rotate(state, 27) * _P1 + _P4)


@njit(cache=True, nogil=True)
def _digest_integers(values: "NDArray[np.int64]", seed: np.uint64, out: "NDArray[np.uint64]") -> None:
    for i in range(values.size):
        out[i] = xxh64_word(np.uint64(values[i]), seed)


@njit(cache=True, nogil=True)
def _digest_strings(
    offsets: "NDArray[np.int64]", data: "NDArray[np.uint8]", seed: np.uint64, out: "NDArray[np.uint64]"
) -> None:
    for i in range(offsets.size - 1):
        out[i] = _digest_one(data, offsets[i], offsets[i + 1], seed)


@njit(cache=True, nogil=True)
def _word(data: "NDArray[np.uint8]", at: int, size: int) -> np.uint64:
    """Return ``size`` bytes as a little-endian number: LLVM makes one load of it."""
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(data[np.uint64(at + i)]) << np.uint64(8 * i)
    return word


@njit(cache=True, nogil=True)
def _digest_one(data: "NDArray[np.uint8]", start: int, stop: int, seed: np.uint64) -> np.uint64:
    length = stop - start
    if length < 32:
        state = seed + _P5
    else:
        state = _digest_stripes(data, start, stop - 32, seed)
        start += length // 32 * 32
    state += np.uint64(length)
    while start + 8 <= stop:
        state = _rotate(state ^ _mix(np.uint64(0), _word(data, start, 8)), 27) * _P1 + _P4
        start += 8
    if start + 4 <= stop:
        state = _rotate(state ^ (_word(data, start, 4) * _P1), 23) * _P2 + _P3
        start += 4
    while start < stop:
        state = _rotate(state ^ (np.uint64(data[np.uint64(start)]) * _P5), 11) * _P1
        start += 1
    return _avalanche(state)


@njit(cache=True, nogil=True)
def _digest_stripes(data: "NDArray[np.uint8]", start: int, last: int, seed: np.uint64) -> np.uint64:
    """Digest the whole stripes of 32 bytes, of which the last begins at ``last`` or before."""
    a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
    while start <= last:
        a = _mix(a, _word(data, start, 8))
        b = _mix(b, _word(data, start + 8, 8))
        c = _mix(c, _word(data, start + 16, 8))
        d = _mix(d, _word(data, start + 24, 8))
        start += 32
    state = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
    for lane in (a, b, c, d):
        state = (state ^ _mix(np.uint64(0), lane)) * _P1 + _P4
    return state
