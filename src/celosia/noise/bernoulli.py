"""Coins whose probability is exactly a rational number, exp(-x), or the truth probability of randomized response.

Arrays of coins compare one random byte each with the first digits of the probability; the few ties take a word more,
and the ties among those are decided digit by digit (``decide.below``). ``coins_exp`` gives every coin its own exponent.
"""

from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_non_negative, exact_positive, exact_probability
from celosia.noise.decide import Enclosure, below, certain, exp_enclosure, logistic_enclosure, ratio_enclosure
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_BYTE, _WORD = 8, 64
_COIN = 52  # bits of a coin that is compared in floating point: exact in a double
_SLACK = 2.0**-36


def flip(probability: Exact, source: "Source | None" = None) -> bool:
    """Flip one coin that shows True with exactly ``probability``.

    >>> flip(1), flip(0)
    (True, False)
    """
    return _flip(ratio_enclosure(exact_probability(probability, name="probability")), source)


def flip_exp(x: Exact, source: "Source | None" = None) -> bool:
    """Flip one coin that shows True with probability exactly ``exp(-x)``.

    >>> flip_exp(0)
    True
    """
    return _flip(exp_enclosure(exact_non_negative(x, name="x")), source)


def flip_logistic(epsilon: Exact, categories: int = 2, source: "Source | None" = None) -> bool:
    """Flip one coin that shows True with probability exactly ``e^epsilon / (e^epsilon + categories - 1)``.

    >>> flip_logistic(1) in (True, False)
    True
    """
    return _flip(_logistic(epsilon, categories), source)


def flip_odds(epsilon: Exact, odds: Exact, source: "Source | None" = None) -> bool:
    """Flip one coin that shows True with probability exactly ``1 / (1 + odds * exp(-epsilon))``.

    >>> flip_odds(1, "1/3") in (True, False)
    True
    """
    return _flip(_odds(epsilon, odds), source)


def bernoulli(probability: Exact, count: int, source: "Source | None" = None) -> "NDArray[np.bool_]":
    """Flip ``count`` independent coins that show True with exactly ``probability``.

    >>> from celosia.noise import Seeded
    >>> int(bernoulli("1/3", 9000, Seeded(7)).sum())
    2993
    """
    return _sample(ratio_enclosure(exact_probability(probability, name="probability")), count, source)


def bernoulli_exp(x: Exact, count: int, source: "Source | None" = None) -> "NDArray[np.bool_]":
    """Flip ``count`` independent coins that show True with probability exactly ``exp(-x)``.

    >>> bool(bernoulli_exp(0, 100).all())
    True
    """
    return _sample(exp_enclosure(exact_non_negative(x, name="x")), count, source)


def bernoulli_logistic(
    epsilon: Exact, count: int, *, categories: int = 2, source: "Source | None" = None
) -> "NDArray[np.bool_]":
    """Flip ``count`` independent coins that show True with probability ``e^epsilon / (e^epsilon + categories - 1)``.

    >>> bernoulli_logistic(1, 100).dtype
    dtype('bool')
    """
    return _sample(_logistic(epsilon, categories), count, source)


def bernoulli_odds(epsilon: Exact, odds: Exact, count: int, source: "Source | None" = None) -> "NDArray[np.bool_]":
    """Flip ``count`` independent coins that show True with probability ``1 / (1 + odds * exp(-epsilon))``.

    ``odds`` is any rational number greater than 0: the weight of False for a weight 1 of True, where epsilon is 0.

    >>> from celosia.noise import Seeded
    >>> int(bernoulli_odds(0, "1/3", 8000, Seeded(7)).sum())
    6015
    """
    return _sample(_odds(epsilon, odds), count, source)


def coins_exp(rate: Exact, gaps: "NDArray[np.int64]", source: "Source | None" = None) -> "NDArray[np.bool_]":
    """Flip one coin for each gap: coin ``i`` shows True with probability exactly ``exp(-rate * gaps[i])``.

    >>> coins_exp(1, np.array([0, 10**6])).tolist()
    [True, False]
    """
    slope = exact_non_negative(rate, name="rate")
    source = source_or_system(source)
    gaps = np.asarray(gaps)
    if gaps.size and (gaps.dtype.kind not in "iu" or int(gaps.min()) < 0):
        raise ParameterError("noise.gaps_not_natural")
    coins = source.words(gaps.size).reshape(gaps.shape) >> np.uint64(_WORD - _COIN)
    with np.errstate(over="ignore"):  # exp(-infinity) is 0, which is near enough: a warning would depend on the data
        chances = np.exp(-float(slope) * gaps.astype(np.float64)) * 2.0**_COIN
    shown = coins + 1.0 <= chances * (1 - _SLACK)
    # The relative error of a chance grows with its exponent, but where that is large the chance is below a digit.
    for where in np.argwhere(~shown & (coins < chances * (1 + _SLACK) + _SLACK)).tolist():
        place = tuple(where)
        shown[place] = below(int(coins[place]), _COIN, exp_enclosure(slope * int(gaps[place])), source)
    return shown


def _logistic(epsilon: Exact, categories: int) -> Enclosure:
    others = exact_integer(categories, name="categories", least=2) - 1
    return logistic_enclosure(exact_non_negative(epsilon, name="epsilon"), others)


def _odds(epsilon: Exact, odds: Exact) -> Enclosure:
    return logistic_enclosure(exact_non_negative(epsilon, name="epsilon"), exact_positive(odds, name="odds"))


def _flip(probability: Enclosure, source: "Source | None") -> bool:
    source = source_or_system(source)
    return below(source.word(), _WORD, probability, source)


def _sample(probability: Enclosure, count: int, source: "Source | None") -> "NDArray[np.bool_]":
    source = source_or_system(source)
    count = exact_integer(count, name="count", least=0)
    yes, no = certain(probability, _BYTE)
    digits = source.words(-(-count // 8)).astype("<u8", copy=False).view(np.uint8)[:count]
    shown = digits < yes if yes <= 255 else np.ones(count, dtype=np.bool_)
    for digit in range(yes, min(no, 256)):
        tied = np.flatnonzero(digits == digit)
        shown[tied] = _break_ties(probability, digit, source.words(tied.size), source)
    return shown


def _break_ties(
    probability: Enclosure, digit: int, words: "NDArray[np.uint64]", source: "Source"
) -> "NDArray[np.bool_]":
    """Decide coins whose first byte is ``digit`` by a further word each."""
    least = digit << _WORD
    yes, no = (min(max(bound - least, 0), 1 << _WORD) for bound in certain(probability, _BYTE + _WORD))
    shown = words < np.uint64(yes) if yes < 1 << _WORD else np.ones(words.size, dtype=np.bool_)
    if no > yes:  # at most a few words in 2^64
        for i in np.flatnonzero((words >= np.uint64(yes)) & (words <= np.uint64(no - 1))).tolist():
            shown[i] = below(least | int(words[i]), _BYTE + _WORD, probability, source)
    return shown
