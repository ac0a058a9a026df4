"""How far the sum of discrete Gaussian noises is from one discrete Gaussian of the same variance.

At every integer the probability of the sum is that of the single Gaussian times a factor that has a period and varies
little. ``spread`` bounds the logarithm of the largest factor over the smallest, and ``step_change`` that of two factors
next to each other, which is far smaller for many parts: both by Poisson's summation formula. A privacy loss is larger
by what the factors change between neighbours. Kairouz, Liu and Steinke 2021 bound the spread by ``10 sum exp(-2 pi^2
sigma^2 j / (j + 1))``; the smaller bounds are proved in ``proofs/summed-gaussian.md``.
"""

import math
from dataclasses import fields
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
_MAX_WAVES = 1 - 1e-9
_POISSON_FROM = 0.25  # variance from which the series of waves falls faster than that of integers


def get_gaussian(event: SummedGaussianEvent) -> GaussianEvent:
    """Return the discrete Gaussian noise of the same variance, which the sum resembles."""
    return GaussianEvent(**{one.name: getattr(event, one.name) for one in fields(event) if one.name != "parts"})


def count_moved(event: SummedGaussianEvent) -> int:
    """Return how many coordinates can differ between neighbours: each that does differs by a step or more."""
    return min(event.dimension, math.floor(event.sensitivity_squared))


def get_spread(event: SummedGaussianEvent) -> float:
    """Return the spread of one coordinate of an event; 0 where the sum is exactly Gaussian."""
    return 0.0 if _is_gaussian(event) else spread(event.variance / event.parts, event.parts)


def get_slack(event: SummedGaussianEvent) -> float:
    """Return by how much a privacy loss may exceed that of the single Gaussian, in all coordinates together."""
    steps = math.floor(event.sensitivity_squared)  # an integer is at most its square, so moves add up to no more
    if _is_gaussian(event) or steps == 0:
        return 0.0
    change = step_change(event.variance / event.parts, event.parts)
    return min(count_moved(event) * get_spread(event), steps * change) * _SAFE


def _is_gaussian(event: SummedGaussianEvent) -> bool:
    return event.arithmetic == "real" or event.parts == 1


@lru_cache(maxsize=1024)
def spread(variance: Fraction, parts: int) -> float:
    """Return the spread of the sum of ``parts`` noises of parameter ``variance`` each, rounded up.

    >>> spread(Fraction(2), 7) < 1e-12 < spread(Fraction(1), 7) < 1e-5
    True
    """
    square = _to_double(variance)
    waves, _ = _add_waves(square, parts)
    by_lattice = 2 * math.atanh(waves) if waves < _MAX_WAVES else math.inf
    return min(_by_merging(square, parts), by_lattice) * _SAFE + _UNDERFLOW


@lru_cache(maxsize=1024)
def step_change(variance: Fraction, parts: int) -> float:
    """Return by how much the logarithm of the factor changes from an integer to the next, rounded up.

    >>> step_change(Fraction(1, 2), 1000) < 1e-3 < 0.1 < spread(Fraction(1, 2), 1000)
    True
    """
    waves, slopes = _add_waves(_to_double(variance), parts)
    return slopes / (1 - waves) * _SAFE + _UNDERFLOW if waves < _MAX_WAVES else math.inf


def _to_double(variance: Fraction) -> float:
    return max(double_at_most(variance), 1e-290)


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


def _add_waves(square: float, parts: int) -> tuple[float, float]:
    """Return the sum over the waves of the lattice of parts that cancel, and of their changes between integers."""
    supports = np.arange(1, min(parts, _MAX_TERMS) + 1)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        wave = np.exp(-2 * math.pi**2 * square * (1 - np.minimum(supports, parts / 2) / parts))
        log_heights = np.log(2 * wave / (1 - wave**3))  # the squares 1, 4, 9, ... are at least 1, 4, 7, ...
        log_ways = scipy.special.gammaln(parts + 1) - scipy.special.gammaln(supports + 1)
        log_ways = log_ways - scipy.special.gammaln(parts - supports + 1)
        waves = np.exp(np.minimum(log_ways + supports * log_heights, 300.0))
        slopes = 2 * math.pi * waves * (supports / parts) / (1 - wave**3)
    left_out = _bound_more_waves(square, parts) if parts > _MAX_TERMS else 0.0
    return float(waves.sum()) + left_out, float(slopes.sum()) + 4 * math.pi * left_out


def _bound_more_waves(square: float, parts: int) -> float:
    """Bound the waves of supports above ``_MAX_TERMS``, each as high as those of half the parts; infinite if large."""
    half = math.exp(-(math.pi**2) * square)
    if half >= 0.5:
        return math.inf
    ratio = 2 * math.e * parts * half / (1 - half**3) / _MAX_TERMS
    return 2 * ratio**_MAX_TERMS if ratio < 0.5 else math.inf
