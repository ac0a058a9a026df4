"""The privacy of discrete Gaussian noise: exact for one number, by concentrated privacy for a vector.

For one number moved by ``shift`` steps the privacy profile is a sum over integers (Canonne, Kamath and Steinke
2020); the continuous formula is *not* a bound for it. For a vector delta depends on the direction of the
shift, not only on its length, so the bound goes through rho = length^2 / (2 variance) and their conversion. All values
are rounded towards less privacy.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from celosia.core.errors import ParameterError
from celosia.noise.gaussian import log_normaliser

_MAX_SUMMED_SIGMA = 1_000.0  # standard deviations up to which the profile is summed term by term
_MAX_DEVIATIONS = 38.0  # standard deviations; the probability beyond them is below the next number
_TAIL_MASS = 1e-300
_SAFE = 1 + 1e-9  # far above the rounding of the sums
_SLACK = 1e-14  # relative to the privacy loss: an output that just does not count in doubles may count in truth
_MIN_NORMAL_TAIL = 1e-290
_MAX_VARIANCE = 1e300  # variances beyond would leave the range of doubles
_STEPS = 60


def discrete_gaussian_delta(variance: float, shift: int, epsilon: float) -> float:
    """Return the smallest delta (rounded up) for discrete Gaussian noise and inputs ``shift`` steps apart.

    This is why the function exists: the continuous formula gives 1e-6 here, which is not a bound.
    """
    if shift == 0:
        return 0.0
    sigma = math.sqrt(variance)
    # An output x has privacy loss (shift^2 + 2 shift x) / (2 variance): it counts from here on.
    threshold = epsilon * variance / shift - shift / 2
    if sigma > _MAX_SUMMED_SIGMA:
        return _delta_by_integrals(sigma, threshold, shift, epsilon)
    first = max(math.floor(threshold), math.floor(-_MAX_DEVIATIONS * sigma) - 1)  # one early: the threshold was rounded
    x = np.arange(first, math.ceil(max(first, 0) + _MAX_DEVIATIONS * sigma) + 2, dtype=np.float64)
    log_mass = -(x**2) / (2 * variance) - log_normaliser(variance)
    loss = (shift**2 + 2 * shift * x) / (2 * variance)
    excess = np.maximum(loss - epsilon + _SLACK * (np.abs(loss) + epsilon), 0.0)
    return min(1.0, float(np.sum(np.exp(log_mass) * -np.expm1(-excess))) * _SAFE + _TAIL_MASS)


def _delta_by_integrals(sigma: float, threshold: float, shift: int, epsilon: float) -> float:
    """Bound ``P(X >= first) - e^epsilon P(X >= first + shift)`` by integrals: the first above, the second below."""
    first = math.floor(threshold) + 1
    above, below = _sum_at_most(first, sigma), _sum_at_least(first + shift, sigma)
    # The logarithm, because exp(epsilon) alone may be beyond the doubles. A subnormal tail has lost its digits and may
    # have been rounded up: nothing is subtracted for it, which only makes delta larger.
    matched = math.exp(min(epsilon + math.log(below), 0.0)) if below > _MIN_NORMAL_TAIL else 0.0
    return min(1.0, max(0.0, above * (1 + 1e-12) - matched * (1 - 1e-12)))


def _sum_at_most(first: int, sigma: float) -> float:
    """Bound ``P(X >= first)`` from above; the normaliser is ``sigma sqrt(2 pi)`` in all digits."""
    if first - 0.5 >= sigma:  # the curve is convex from here on: a midpoint is below its stretch
        return _upper_tail((first - 0.5) / sigma)
    return _trapezium(first, sigma) + _left(sigma)


def _sum_at_least(first: int, sigma: float) -> float:
    return _trapezium(first, sigma) - (0 if first >= sigma else _left(sigma))  # a trapezium is above a convex curve


def _trapezium(first: int, sigma: float) -> float:
    z = first / sigma
    return _upper_tail(z) + math.exp(-z * z / 2) / (2 * sigma * math.sqrt(2 * math.pi))


def _left(sigma: float) -> float:
    """Bound what Euler and Maclaurin's formula leaves: (max of |f'| + integral of |f''|) / 12, over the normaliser."""
    return 0.101 / (sigma * sigma)


def _upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def concentrated_delta(rho: float, epsilon: float) -> float:
    """Return the delta (rounded up) that rho-zCDP implies at ``epsilon``, by the best order alpha."""

    def log_delta(log_order: float) -> float:
        over = math.exp(log_order)  # alpha - 1
        return over * ((over + 1) * rho - epsilon) - math.log(over) - (over + 1) * math.log1p(1 / over)

    low, high = -20.0, min(20.0 + max(0.0, -math.log(rho)), 700.0)
    for _ in range(2 * _STEPS):  # any order gives a valid bound, so that a search in floating point is enough
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if log_delta(a) < log_delta(b) else (a, high)
    return min(1.0, math.exp(min(0.0, log_delta((low + high) / 2))) * _SAFE)


@lru_cache(maxsize=1024)
def smallest_variance(epsilon: Fraction, delta: Fraction, shift: int) -> Fraction:
    """Return the smallest variance with which one number, moved by ``shift`` steps, is (epsilon, delta)-private.

    It is the smallest above which all are enough: where the noise is hardly one step wide the profile is not monotone,
    and a much smaller variance may be enough by chance. The returned variance is checked.
    """
    target = float(delta) * (1 - 1e-15)
    rate = float(epsilon)
    start = (shift / rate) * (shift / rate)  # a product becomes infinite where a power would raise
    return Fraction(_least(lambda variance: discrete_gaussian_delta(variance, shift, rate) <= target, start=start))


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-privacy."""
    target = float(delta) * (1 - 1e-15)
    rate = float(epsilon)
    inverse = _least(lambda inverse: concentrated_delta(1 / inverse, rate) <= target, start=1 / rate)
    return Fraction(1 / inverse)


def _least(enough: Callable[[float], bool], start: float) -> float:
    """Return nearly the least number that is enough; the returned one is."""
    high = min(start, _MAX_VARIANCE)
    while not enough(high):
        high *= 2
        if high > _MAX_VARIANCE:
            raise ParameterError("accounting.gaussian_target_out_of_reach")
    low = high / 2
    while low > sys.float_info.min and enough(low):
        high, low = low, low / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-12 * high:
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
