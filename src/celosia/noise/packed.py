"""Coins in packed bits: 64 to a word, each exactly of the stated probability.

A coin is a uniform number compared with the probability, digit by digit. Here 64 coins read their next digit from one
random word: a lane is decided where its digit differs from the probability's, and lanes that are still equal go on.
About seven words decide 64 coins; the few lanes that are equal for all digits of the kernel are decided one by one,
against enclosures (``decide.below``), so that no rounding enters. The comparison is Knuth and Yao's (1976), in lanes.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_non_negative, exact_positive, exact_probability, safe_repr
from celosia.noise.decide import Enclosure, below, leading, logistic_enclosure, ratio_enclosure
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_WORD = 64
_DIGITS = 32  # of the probability that the kernel compares with; one coin in 2^32 is still tied then
_CHUNK = 1 << 14  # random words at a time: 128 KiB stay in the cache
_WORDS_PER_LANE = 8  # random words that 64 coins take, and a little more
_MAX_TIES = 256


def packed_bernoulli(probability: Exact, rows: int, bits: int, source: "Source | None" = None) -> "NDArray[np.uint64]":
    """Flip ``bits`` coins in each of ``rows`` rows; a bit is 1 with exactly ``probability``.

    The answer has ``ceil(bits / 64)`` words a row, the least significant bit first; unused bits of the last word are 0.
    """
    return _draw_packed(ratio_enclosure(exact_probability(probability, name="probability")), rows, bits, source)


def packed_logistic(
    epsilon: Exact,
    rows: int,
    bits: int,
    *,
    odds: Exact = 1,
    complement: bool = False,
    source: "Source | None" = None,
) -> "NDArray[np.uint64]":
    """Flip coins as ``packed_bernoulli`` does; a bit is 1 with probability ``1 / (1 + odds * exp(-epsilon))``.

    With ``complement`` it is 0 with that probability: 1 is the lie of randomized response and not the truth.
    """
    odds_ = exact_positive(odds, name="odds")
    if not isinstance(complement, bool):
        raise ParameterError("noise.complement_not_boolean", value=safe_repr(complement))
    coins = _draw_packed(logistic_enclosure(exact_non_negative(epsilon, name="epsilon"), odds_), rows, bits, source)
    if complement:
        coins ^= _lanes(exact_integer(bits, name="bits"))
    return coins


def _draw_packed(probability: Enclosure, rows: int, bits: int, source: "Source | None") -> "NDArray[np.uint64]":
    source = source_or_system(source)
    rows, bits = exact_integer(rows, name="rows", least=0), exact_integer(bits, name="bits")
    lanes = _lanes(bits)
    out = np.zeros((rows, lanes.size), dtype=np.uint64)
    prefix, exact = leading(probability, _DIGITS)
    if prefix >> _DIGITS:
        out[:] = lanes
        return out
    digits = np.array([-(prefix >> place & 1) % (1 << _WORD) for place in reversed(range(_DIGITS))], dtype=np.uint64)
    flat = out.reshape(-1)
    where, which = np.empty(_MAX_TIES, dtype=np.int64), np.empty(_MAX_TIES, dtype=np.uint64)
    done = 0
    while done < flat.size:
        words = source.words(min(_CHUNK, _WORDS_PER_LANE * (flat.size - done) + _DIGITS))
        done, tied = _compare(flat, done, lanes, digits, words, where, which)
        if not exact:  # else a number with these very digits is not below
            for i, mask in zip(where[:tied].tolist(), which[:tied].tolist(), strict=True):
                flat[i] |= np.uint64(_settle(mask, prefix, probability, source))
    return out


def _lanes(bits: int) -> "NDArray[np.uint64]":
    """Return the bits of a row that are used."""
    lanes = np.full(-(-bits // _WORD), 2**64 - 1, dtype=np.uint64)
    if bits % _WORD:
        lanes[-1] = (1 << bits % _WORD) - 1
    return lanes


def _settle(tied: int, prefix: int, probability: Enclosure, source: "Source") -> int:
    """Decide the lanes whose digits so far are the probability's own."""
    shown = 0
    for lane in range(_WORD):
        if tied >> lane & 1 and below(prefix, _DIGITS, probability, source):
            shown |= 1 << lane
    return shown


@njit(cache=True, nogil=True)
def _compare(
    out: "NDArray[np.uint64]",
    first: int,
    lanes: "NDArray[np.uint64]",
    digits: "NDArray[np.uint64]",
    words: "NDArray[np.uint64]",
    where: "NDArray[np.int64]",
    which: "NDArray[np.uint64]",
) -> tuple[int, int]:
    """Fill ``out`` from ``first`` on, as far as the words reach; return where it stopped and how many words are tied.

    A digit of the probability is a whole word, all ones or all zeros: there is no branch but the stop.
    """
    read = 0
    tied = 0
    i = first
    column = first % lanes.size
    while i < out.size and read + digits.size <= words.size and tied < where.size:
        shown = np.uint64(0)
        equal = lanes[column]
        column = column + 1 if column + 1 < lanes.size else 0
        level = 0
        while equal and level < digits.size:
            word = words[read + level]
            shown |= equal & digits[level] & ~word
            equal &= ~(word ^ digits[level])
            level += 1
        read += level
        out[i] = shown
        if equal:
            where[tied] = i
            which[tied] = equal
            tied += 1
        i += 1
    return i, tied
