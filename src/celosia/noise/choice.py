"""Exact random choices: by integer weights, by the exponential mechanism's weights, and by permute-and-flip.

The exponential choice never forms a floating-point softmax. Each weight ``n_i exp(-rate * gap_i)`` is covered by an
integer; one candidate is drawn by these integers and kept with the exact ratio of the true weight to its cover, which
is nearly one: rejection sampling with an exact last step, in time that does not depend on the weights.
Permute-and-flip (McKenna and Sheldon 2020) flips all its coins at once: the first head of a random order is a uniformly
random one among the heads.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_positive
from celosia.noise.bernoulli import coins_exp
from celosia.noise.decide import below, exp_enclosure
from celosia.noise.source import source_or_system
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

_MAX_TOTAL = 2**63 - 1
_COVER_BITS = 61  # the sum of all covers stays below 2^62
_SLACK = 2.0**-36
_WORD, _COIN = 64, 52  # a coin of 52 bits is exact in a double


def categorical(weights: "ArrayLike", count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
    """Draw ``count`` indices, each with probability proportional to its integer weight.

    >>> from celosia.noise import Seeded
    >>> np.bincount(categorical([1, 0, 3], 4000, Seeded(7))).tolist()
    [1024, 0, 2976]
    """
    numbers = np.asarray(weights)
    if numbers.ndim != 1 or numbers.dtype.kind not in "ui" or (numbers < 0).any():
        raise ParameterError("noise.weights_not_natural")
    total = sum(numbers.tolist())
    if not 0 < total <= _MAX_TOTAL:
        raise ParameterError("noise.weight_sum_out_of_range")
    ends = np.cumsum(numbers, dtype=np.int64)
    return np.searchsorted(ends, uniform_below(total, count, source), side="right").astype(np.int64, copy=False)


def exponential_choice(
    rate: Exact,
    gaps: "NDArray[np.int64]",
    *,
    multiplicities: "NDArray[np.int64] | None" = None,
    source: "Source | None" = None,
) -> int:
    """Draw one index with probability proportional to ``multiplicities[i] * exp(-rate * gaps[i])``, exactly.

    The gaps (how far each candidate is from the best) are 0 or greater.

    >>> exponential_choice(50, np.array([3, 0, 2]))
    1
    """
    slope = exact_positive(rate, name="rate")
    source = source_or_system(source)
    gaps = np.asarray(gaps)
    counts = np.ones(gaps.size, dtype=np.int64) if multiplicities is None else np.asarray(multiplicities)
    _check(gaps, counts)
    least = gaps[counts > 0].min()  # the best may be one that cannot be chosen
    gaps = np.maximum(gaps, least) - least  # the same distribution
    with np.errstate(over="ignore"):  # exp(-infinity) is 0, which is near enough: a warning would depend on the data
        weights = counts.astype(np.float64) * np.exp(-float(slope) * gaps.astype(np.float64))
    # Covers: weight * unit rounded up, with a slack far above any rounding error of the floating-point exponential. The
    # unit follows the largest weight, which is 1 or more, so that the covers of vanishing weights hardly count.
    unit = 2.0 ** (_COVER_BITS - 1 - math.frexp(weights.max())[1] - int(gaps.size).bit_length())
    weights = weights * unit
    covers = np.where(counts > 0, np.maximum(np.ceil(weights * (1 + _SLACK)), 1), 0).astype(np.int64)
    ends = np.cumsum(covers)
    while True:
        chosen = int(np.searchsorted(ends, integer_below(int(ends[-1]), source), side="right"))
        coin = source.word() >> (_WORD - _COIN)
        if coin + 1 <= float(weights[chosen]) / int(covers[chosen]) * (1 - _SLACK) * 2.0**_COIN:
            return chosen
        kept = Fraction(unit) * int(counts[chosen]) / int(covers[chosen])
        if below(coin, _COIN, exp_enclosure(slope * int(gaps[chosen]), kept), source):
            return chosen


def permute_and_flip(rate: Exact, gaps: "NDArray[np.int64]", *, source: "Source | None" = None) -> int:
    """Draw one index by permute-and-flip with coins ``exp(-rate * gaps[i])``; the least gap is 0.

    >>> permute_and_flip(50, np.array([3, 0, 2]))
    1
    """
    slope = exact_positive(rate, name="rate")
    source = source_or_system(source)
    gaps = np.asarray(gaps)
    _check(gaps, np.ones(gaps.size, dtype=np.int64))
    if int(gaps.min()) > 0:
        raise ParameterError("noise.least_gap_not_zero")
    heads = np.flatnonzero(coins_exp(slope, gaps, source))
    return int(heads[integer_below(heads.size, source)])


def _check(gaps: "NDArray[np.int64]", counts: "NDArray[np.int64]") -> None:
    if gaps.ndim != 1 or gaps.size == 0 or gaps.shape != counts.shape:
        raise ParameterError("noise.gaps_without_multiplicities")
    if gaps.dtype.kind not in "iu" or counts.dtype.kind not in "iu":
        raise ParameterError("noise.gaps_not_integers")
    if int(counts.min()) < 0 or int(counts.max()) == 0:
        raise ParameterError("noise.multiplicities_negative_or_zero")
    if int(gaps.min()) < 0:
        raise ParameterError("noise.gaps_negative")
