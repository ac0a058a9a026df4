"""How far the sum of discrete Gaussian noises is from one discrete Gaussian of the same variance.

At every integer the probability of the sum is that of the single Gaussian times a factor that has a period and varies
little. ``spread`` bounds the logarithm of the largest factor over the smallest: two bounds by Poisson's summation
formula, of which the smaller counts. A coordinate that moves makes the privacy loss larger by the spread at most.
Kairouz, Liu and Steinke 2021 bound the same by ``10 sum exp(-2 pi^2 sigma^2 j / (j + 1))``; the proof of the smaller
bounds is in ``proofs/summed-gaussian.md``.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from celosia.accounting.checks import Array
from celosia.core import GaussianEvent, SummedGaussianEvent
from celosia.core.exact import double_at_most

_SAFE = 1 + 1e-9  # far above the rounding of sums of a few thousand positive terms
_UNDERFLOW = 1e-300
_MAX_TERMS = 4096
_WAVES = np.arange(1, 12)
_POISSON_FROM = 0.25  # variance from which the series of waves falls faster than that of integers


def get_gaussian(event: SummedGaussianEvent) -> GaussianEvent:
    """Return the discrete Gaussian noise of the same variance, which the sum resembles."""
    return GaussianEvent(
        variance=event.variance,
        sensitivity_squared=event.sensitivity_squared,
        grid=event.grid,
        dimension=event.dimension,
        adjacency=event.adjacency,
        unit=event.unit,
        arithmetic=event.arithmetic,
    )


def count_moved(event: SummedGaussianEvent) -> int:
    """Return how many coordinates can differ between neighbours: each that does differs by a step or more."""
    return min(event.dimension, math.floor(event.sensitivity_squared))


def get_spread(event: SummedGaussianEvent) -> float:
    """Return the spread of one coordinate of an event; 0 where the sum is exactly Gaussian."""
    if event.arithmetic == "real" or event.parts == 1:
        return 0.0
    return spread(event.variance / event.parts, event.parts)


@lru_cache(maxsize=1024)
def spread(variance: Fraction, parts: int) -> float:
    """Return the spread of the sum of ``parts`` noises of parameter ``variance`` each, rounded up.

    >>> spread(Fraction(2), 7) < 1e-12 < spread(Fraction(1), 7) < 1e-5
    True
    """
    square = max(double_at_most(variance), 1e-290)
    return min(_by_merging(square, parts), _by_lattice(square, parts)) * _SAFE + _UNDERFLOW


def _by_merging(square: float, parts: int) -> float:
    """Add the parts one by one: adding to a sum of j parts changes the spread by that of variance j / (j + 1)."""
    terms = min(parts - 1, _MAX_TERMS)
    already = np.arange(1, terms + 1)
    changes = _log_range(square * (1 - 1e-14) * already / (already + 1))
    return float(changes.sum() + (parts - 1 - terms) * changes[-1])


def _log_range(square: Array) -> Array:
    """Return ln(largest / smallest) of the sum of exp(-(k - t)^2 / (2 square)) over integers k, over all shifts t."""
    wide = np.maximum(square, _POISSON_FROM)
    waves = 2 * np.exp(-2 * math.pi**2 * np.outer(wide, _WAVES**2))
    by_waves = np.log1p(waves.sum(axis=1)) - np.log1p((waves * (-1.0) ** _WAVES).sum(axis=1))
    narrow = np.minimum(square, _POISSON_FROM)
    with np.errstate(over="ignore", under="ignore"):
        whole = np.exp(-(_WAVES**2) / (2 * narrow[:, None])).sum(axis=1)
        between = np.exp(-_WAVES * (_WAVES + 1) / (2 * narrow[:, None])).sum(axis=1)
    directly = np.log1p(2 * whole) + 1 / (8 * narrow) - math.log(2) - np.log1p(between)
    return np.asarray(np.where(square >= _POISSON_FROM, by_waves, directly))


def _by_lattice(square: float, parts: int) -> float:
    """Add all parts at once: twice artanh of the sum over the waves of the lattice of parts that cancel."""
    supports = np.arange(1, min(parts, _MAX_TERMS) + 1)
    share = np.minimum(supports, parts / 2) / parts
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        wave = np.exp(-2 * math.pi**2 * square * (1 - share))
        heights = wave / (1 - wave**3)  # the squares 1, 4, 9, ... are at least 1, 4, 7, ...
        log_ways = scipy.special.gammaln(parts + 1) - scipy.special.gammaln(supports + 1)
        log_ways = log_ways - scipy.special.gammaln(parts - supports + 1)
        total = float(np.exp(np.minimum(log_ways + supports * np.log(2 * heights), 700.0)).sum())
    if parts > _MAX_TERMS:
        half = math.exp(-(math.pi**2) * square)  # the wave of a support of half the parts or more, the largest
        left_out = 2 * math.e * parts * half / (1 - half**3) / _MAX_TERMS if half < 1 else math.inf
        total += 2 * left_out**_MAX_TERMS if left_out < 0.5 else math.inf
    return 2 * math.atanh(total) if total < 1 - 1e-9 else math.inf
