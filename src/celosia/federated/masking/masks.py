"""Masks: uniform integers modulo a power of two, which cancel in a sum.

Every pair of parties shares a stream; the one of the lower number adds it, the other subtracts it. Everyone also adds a
stream of its own, so that a message that comes late, after its pairs were brought back, still reveals nothing. All
arithmetic is that of 64-bit words; lower bits of a uniform word are uniform. Bonawitz and others 2017.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from celosia.noise.keyed import KEY_BYTES, keyed_words

Words = NDArray[np.uint64]

_MAX_WORDS: Final = 2**21  # drawn at once


def add_streams(keys: list[bytes], width: int) -> Words:
    """Return the sum of the streams of several keys, ``width`` words of each."""
    rows = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)
    block = max(1, _MAX_WORDS // width)
    total = np.zeros(width, dtype=np.uint64)
    for start in range(0, len(rows), block):
        total += keyed_words(rows[start : start + block], width).sum(axis=0, dtype=np.uint64)
    return total


def add_masks(values: NDArray[np.int64], *, own: Words, added: Words, subtracted: Words, bits: int) -> Words:
    """Return masked values modulo ``2**bits``: plus a mask of one's own, plus and minus those shared with others.

    >>> one = np.array([1], dtype=np.uint64)
    >>> add_masks(np.array([-3]), own=one, added=one, subtracted=one + one, bits=4).tolist()
    [13]
    """
    return reduce_bits(values.astype(np.int64).view(np.uint64) + own + added - subtracted, bits)


def reduce_bits(words: Words, bits: int) -> Words:
    """Return words modulo ``2**bits``."""
    return np.asarray(words & np.uint64((1 << bits) - 1))


def to_signed(words: Words, bits: int) -> NDArray[np.int64]:
    """Return the integers nearest to 0 that words stand for, modulo ``2**bits``."""
    shift = np.uint64(64 - bits)
    return np.asarray((words << shift).view(np.int64) >> np.int64(64 - bits))
