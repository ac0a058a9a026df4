"""Binomial probabilities with many digits, for counts of any size.

Factorials of large numbers lose their digits in logarithms: at a hundred million trials the textbook formula is wrong
in the seventh place. Loader (2000) writes a probability as the exponential of a deviance times small corrections of
Stirling's formula, each of which is computed without cancellation.
"""

import math

import numpy as np
import scipy

from celosia.accounting.checks import Array


def binomial_masses(count: float | Array, probability: float, successes: Array) -> Array:
    """Return the probabilities of numbers of successes; relative error below 1e-13 + 1e-15 times the deviation."""
    count, successes = np.broadcast_arrays(np.asarray(count, dtype=np.float64), successes)
    failures = count - successes
    probability = max(probability, 1e-300)
    inside = (successes > 0) & (failures > 0)
    s, f, n = np.where(inside, successes, 1.0), np.where(inside, failures, 1.0), np.where(inside, count, 2.0)
    exponent = _stirling(n) - _stirling(s) - _stirling(f)
    exponent -= _deviance(s, n * probability) + _deviance(f, n * (1 - probability))
    edge = np.where(successes > 0, count * math.log(probability), count * math.log1p(-probability))
    with np.errstate(under="ignore"):
        return np.where(inside, np.sqrt(n / (2 * np.pi * s * f)) * np.exp(exponent), np.exp(edge))


def _stirling(n: Array) -> Array:
    """Return ``ln(n!)`` less Stirling's formula."""
    small = np.minimum(n, 16.0)
    direct = scipy.special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    large = np.maximum(n, 16.0)
    square = 1 / large**2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / large
    return np.where(n < 16, direct, series)


def _deviance(x: Array, mean: Array) -> Array:
    """Return ``x ln(x / mean) + mean - x``, without cancellation near the mean."""
    t = (x - mean) / mean
    small = np.clip(t, -0.1, 0.1)
    series = np.zeros_like(t)
    for k in range(18, 1, -1):
        series = 1 / (k * (k - 1)) - small * series
    return mean * np.where(np.abs(t) <= 0.1, small * small * series, (1 + t) * np.log1p(t) - t)
