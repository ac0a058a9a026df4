"""HMAC-SHA256 and the ChaCha20 keystream, compiled, for many keys at once.

The libraries that ``source`` and ``keyed`` use serve one key a call; a simulated population has a key for each person
and value. These loops are FIPS 180-4 (SHA-256), RFC 2104 (HMAC) and RFC 8439 (ChaCha20), one row after the other, and
give the libraries' bits: tests compare them with the published vectors. No branch and no index depends on a secret.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit, uint32

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _root_digits(power: int, count: int) -> "NDArray[np.uint32]":
    """Return the first 32 fractional bits of roots of the first primes: SHA-256's constants, by their definition."""
    primes = [n for n in range(2, 312) if all(n % d for d in range(2, n))][:count]
    digits = []
    for prime in primes:
        scaled = prime << 32 * power
        low, high = 0, 1 << 40
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**power <= scaled else (low, middle)
        digits.append(low & 0xFFFFFFFF)
    return np.array(digits, dtype=np.uint32)


_START = _root_digits(2, 8)
_ROUND = _root_digits(3, 64)
_SIGMA = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)


@njit(cache=True, nogil=True)
def _right(x: np.uint32, by: int) -> np.uint32:
    return uint32((uint32(x) >> uint32(by)) | (uint32(x) << uint32(32 - by)))


@njit(cache=True, nogil=True)
def _compress(state: "NDArray[np.uint32]", block: "NDArray[np.uint8]", schedule: "NDArray[np.uint32]") -> None:
    for t in range(16):
        schedule[t] = (
            uint32(block[4 * t]) << uint32(24)
            | uint32(block[4 * t + 1]) << uint32(16)
            | uint32(block[4 * t + 2]) << uint32(8)
            | uint32(block[4 * t + 3])
        )
    for t in range(16, 64):
        early, late = schedule[t - 15], schedule[t - 2]
        small0 = _right(early, 7) ^ _right(early, 18) ^ uint32(early >> uint32(3))
        small1 = _right(late, 17) ^ _right(late, 19) ^ uint32(late >> uint32(10))
        schedule[t] = uint32(schedule[t - 16] + small0 + schedule[t - 7] + small1)
    a, b, c, d, e, f, g, h = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    for t in range(64):
        large1 = _right(e, 6) ^ _right(e, 11) ^ _right(e, 25)
        large0 = _right(a, 2) ^ _right(a, 13) ^ _right(a, 22)
        first = uint32(h + large1 + ((e & f) ^ (~e & g)) + _ROUND[t] + schedule[t])
        second = uint32(large0 + ((a & b) ^ (a & c) ^ (b & c)))
        a, b, c, d, e, f, g, h = uint32(first + second), a, b, c, uint32(d + first), e, f, g
    state[0] = uint32(state[0] + a)
    state[1] = uint32(state[1] + b)
    state[2] = uint32(state[2] + c)
    state[3] = uint32(state[3] + d)
    state[4] = uint32(state[4] + e)
    state[5] = uint32(state[5] + f)
    state[6] = uint32(state[6] + g)
    state[7] = uint32(state[7] + h)


@njit(cache=True, nogil=True)
def _finish(
    state: "NDArray[np.uint32]", message: "NDArray[np.uint8]", schedule: "NDArray[np.uint32]", out: "NDArray[np.uint8]"
) -> None:
    """Absorb a message after a first block of 64 bytes, pad it, and write the digest."""
    block = np.zeros(64, dtype=np.uint8)
    whole_blocks = message.size // 64
    for i in range(whole_blocks):
        _compress(state, message[64 * i : 64 * i + 64], schedule)
    rest = message.size - 64 * whole_blocks
    block[:rest] = message[64 * whole_blocks :]
    block[rest] = 0x80
    if rest >= 56:
        _compress(state, block, schedule)
        block[:] = 0
    length = np.uint64(8 * (64 + message.size))
    for i in range(8):
        block[56 + i] = np.uint8((length >> np.uint64(56 - 8 * i)) & np.uint64(255))
    _compress(state, block, schedule)
    for i in range(32):
        out[i] = np.uint8((state[i // 4] >> uint32(24 - 8 * (i % 4))) & uint32(255))


@njit(cache=True, nogil=True)
def hmac_sha256(secrets: "NDArray[np.uint8]", messages: "NDArray[np.uint8]", out: "NDArray[np.uint8]") -> None:
    """Write HMAC-SHA256 of each row of ``messages`` under the same row of ``secrets``, at most 64 bytes each."""
    block = np.empty(64, dtype=np.uint8)
    inner = np.empty(32, dtype=np.uint8)
    schedule = np.empty(64, dtype=np.uint32)
    state = np.empty(8, dtype=np.uint32)
    for row in range(len(secrets)):
        block[:] = 0x36
        for i in range(secrets.shape[1]):
            block[i] ^= secrets[row, i]
        state[:] = _START
        _compress(state, block, schedule)
        _finish(state, messages[row], schedule, inner)
        for i in range(64):
            block[i] ^= 0x36 ^ 0x5C
        state[:] = _START
        _compress(state, block, schedule)
        _finish(state, inner, schedule, out[row])


@njit(cache=True, nogil=True, inline="always")
def _quarter(x: "NDArray[np.uint32]", a: int, b: int, c: int, d: int) -> None:
    x[a] = uint32(x[a] + x[b])
    x[d] = _right(x[d] ^ x[a], 16)
    x[c] = uint32(x[c] + x[d])
    x[b] = _right(x[b] ^ x[c], 20)
    x[a] = uint32(x[a] + x[b])
    x[d] = _right(x[d] ^ x[a], 24)
    x[c] = uint32(x[c] + x[d])
    x[b] = _right(x[b] ^ x[c], 25)


@njit(cache=True, nogil=True)
def chacha20(keys: "NDArray[np.uint8]", counter: "NDArray[np.uint32]", out: "NDArray[np.uint64]") -> None:
    """Write the keystream of each key, as little-endian words, from a counter and nonce of four words on."""
    start = np.empty(16, dtype=np.uint32)
    x = np.empty(16, dtype=np.uint32)
    start[:4] = _SIGMA
    for row in range(len(keys)):
        for i in range(8):
            start[4 + i] = (
                uint32(keys[row, 4 * i])
                | uint32(keys[row, 4 * i + 1]) << uint32(8)
                | uint32(keys[row, 4 * i + 2]) << uint32(16)
                | uint32(keys[row, 4 * i + 3]) << uint32(24)
            )
        start[12:] = counter
        for block in range(0, out.shape[1], 8):
            x[:] = start
            for _ in range(10):
                _quarter(x, 0, 4, 8, 12)
                _quarter(x, 1, 5, 9, 13)
                _quarter(x, 2, 6, 10, 14)
                _quarter(x, 3, 7, 11, 15)
                _quarter(x, 0, 5, 10, 15)
                _quarter(x, 1, 6, 11, 12)
                _quarter(x, 2, 7, 8, 13)
                _quarter(x, 3, 4, 9, 14)
            for i in range(min(8, out.shape[1] - block)):
                low = uint32(x[2 * i] + start[2 * i])
                high = uint32(x[2 * i + 1] + start[2 * i + 1])
                out[row, block + i] = np.uint64(low) | np.uint64(high) << np.uint64(32)
            start[12] = uint32(start[12] + uint32(1))
