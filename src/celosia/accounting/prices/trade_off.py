"""Trade-off curves: how often a test of two neighbours must miss, given how often it may give a false alarm.

A privacy profile and a trade-off curve are equivalent: f(a) is the largest of 0, 1 - delta - e^epsilon a and e^-epsilon
(1 - delta - a) over all (epsilon, delta) that hold (Wasserman and Zhou 2010; Dong, Roth and Su 2022). Misses are
bounded from below, so curves are rounded down; profiles are rounded up. The profile of Gaussian privacy is the integral
over s > 0 of phi(z + s)(1 - e^(-mu s)) with z = epsilon/mu - mu/2: positive terms only, so that no digits are lost
where mu is small (the textbook's difference of two normal tails is that integral).
"""

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from celosia.accounting.checks import Array, check_epsilons, vector
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, exact_non_negative, exact_probability, safe_repr

_SAFE = 1 + 1e-11  # far above the error of the quadrature
_UNDERFLOW = 1e-300  # more than what underflow can take away
_MIN_DELTA = 1e-290  # well above _UNDERFLOW, which is added to every delta
_MAX_EPSILON = 2.0**16  # the end of a profile that never vanishes
_POINTS = 512  # epsilons of which each gives two lines of a trade-off curve
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def gaussian_profile(mu: Exact, epsilons: ArrayLike) -> Array:
    """Return delta (rounded up) at each epsilon, also below 0, for ``mu``-Gaussian privacy."""
    distance = _double(mu, "mu")
    epsilon = check_epsilons(epsilons)
    size = np.abs(epsilon)
    if distance == 0:
        return np.where(epsilon < 0, -np.expm1(-size), 0.0)
    with np.errstate(over="ignore", under="ignore"):
        delta = np.minimum(_gaussian(distance, size) * _SAFE + _UNDERFLOW, 1.0)
        # The pair is symmetric: H at -epsilon is 1 - exp(-epsilon) + exp(-epsilon) H at epsilon.
        return np.where(epsilon >= 0, delta, np.minimum(-np.expm1(-size) * _SAFE + np.exp(-size) * delta, 1.0))


def _gaussian(mu: float, epsilon: Array) -> Array:
    z = epsilon / mu - mu / 2
    z = z - 4e-16 * (epsilon / mu + mu)  # the integral falls with z: rounding must not have raised it
    # Where the loss grows slowly within the tail the difference would lose digits; where fast, the quadrature would.
    slow = mu <= np.where(z >= 0, (z + np.sqrt(z * z + 80)) / 2, 4.0)
    tail = np.maximum(z, -1e8)
    difference = scipy.special.ndtr(-tail) - _bell(tail) * scipy.special.erfcx((tail + mu) / math.sqrt(2)) / 2
    return np.where(slow, _integral(mu, np.where(slow, z, 0.0)), difference)


def _bell(z: Array) -> Array:
    bell: Array = np.exp(-z * z / 2)
    return bell


def _integral(mu: float, z: Array) -> Array:
    """Integrate to where the integrand has fallen by e^-40 (z is at least -2), by Gauss and Legendre's rule."""
    reach = np.where(z >= 0, 80 / (np.sqrt(z * z + 80) + np.abs(z)), 11.0)
    s = reach[:, None] * (_NODES + 1) / 2
    inside = np.exp(-(z[:, None] + s / 2) * s) * -np.expm1(-mu * s)
    total: Array = _bell(z) / math.sqrt(2 * math.pi) * reach / 2 * (inside @ _WEIGHTS)
    return total


def gaussian_epsilon(mu: Exact, delta: Exact) -> float:
    """Return the smallest epsilon (rounded up) at which ``mu``-Gaussian privacy has ``delta``."""
    distance, target = _double(mu, "mu"), _target(delta)
    if gaussian_profile(distance, [0.0])[0] <= target:
        return 0.0
    high = (distance / 2 + math.sqrt(-2 * math.log(target))) * distance * (1 + 1e-9)
    if not high < math.inf:
        raise ParameterError("accounting.epsilon_of_mu_overflows", mu=safe_repr(mu))
    return _least(lambda epsilon: gaussian_profile(distance, epsilon) <= target, 0.0, high)


def gaussian_mu_for(epsilon: Exact, delta: Exact) -> float:
    """Return the largest mu (rounded down) for which ``mu``-Gaussian privacy implies (epsilon, delta)-privacy."""
    rate, target = double_at_most(exact_non_negative(epsilon, name="epsilon")), _target(delta)
    high = 1.0
    while gaussian_profile(high, [rate])[0] <= target:
        high *= 2
    low = high / 2
    while gaussian_profile(low, [rate])[0] > target:
        low /= 2
        if low < 1e-300:
            raise ParameterError("accounting.delta_beyond_doubles", delta=safe_repr(delta))
    for _ in range(60):
        middle = (low + high) / 2
        enough = gaussian_profile(middle, [rate])[0] <= target
        low, high = (middle, high) if enough else (low, middle)
    return low


def _least(enough: Callable[[Array], NDArray[np.bool_]], low: float, high: float) -> float:
    """Return nearly the least number that is enough, where ``high`` is; the returned one is."""
    for _ in range(11):  # each round keeps one of 33 stretches
        inner = np.linspace(low, high, 34)[1:-1]
        good = enough(inner)
        first = int(np.argmax(good)) if good.any() else inner.size
        low = float(inner[first - 1]) if first else low
        high = float(inner[first]) if first < inner.size else high
    return high


def pure_trade_off(epsilon: Exact, errors: ArrayLike) -> Array:
    """Return the least probability of a miss at each probability of a false alarm, under pure privacy."""
    return approximate_trade_off(epsilon, 0, errors)


def approximate_trade_off(epsilon: Exact, delta: Exact, errors: ArrayLike) -> Array:
    """Return the least probability of a miss at each probability of a false alarm, under (epsilon, delta)-privacy."""
    rate = _double(epsilon, "epsilon")
    share = double_at_least(exact_probability(delta, name="delta"))
    return _polygon(np.array([rate]), np.array([share]), check_errors(errors))


def gaussian_trade_off(mu: Exact, errors: ArrayLike) -> Array:
    """Return the least probability of a miss at each probability of a false alarm, under Gaussian privacy."""
    distance = _double(mu, "mu")
    with np.errstate(under="ignore"):
        return np.maximum(
            scipy.special.ndtr(-scipy.special.ndtri(check_errors(errors)) - distance) / _SAFE - _UNDERFLOW, 0.0
        )


def trade_off(profile: Callable[[Array], Array], errors: ArrayLike, epsilons: ArrayLike | None = None) -> Array:
    """Return a lower bound on the miss at each false alarm, from any function that gives delta at epsilons.

    Each epsilon gives a valid bound and the best is taken, so a coarse choice of ``epsilons`` is sound.

    >>> trade_off(lambda epsilons: gaussian_profile(1, epsilons), [0.5]).round(4)
    array([0.1587])
    """
    chosen = profile_points(profile) if epsilons is None else check_epsilons(epsilons)
    if chosen.size == 0 or (chosen < 0).any():
        raise ParameterError("accounting.epsilons_negative_or_empty", epsilons=safe_repr(epsilons))
    deltas = np.asarray(profile(chosen), dtype=np.float64)
    if deltas.shape != chosen.shape or not (deltas >= 0).all():
        raise ParameterError("accounting.profile_returned_no_deltas")
    return _polygon(chosen, np.minimum(deltas, 1.0), check_errors(errors))


def profile_points(profile: Callable[[Array], Array]) -> Array:
    """Return epsilons from 0 to where the profile has nearly vanished, denser near 0."""
    reaches = np.exp2(np.arange(-20.0, 17.0))
    low = np.asarray(profile(reaches)) <= 1e-10
    reach = float(reaches[np.argmax(low)]) if low.any() else _MAX_EPSILON
    points: Array = reach * np.linspace(0.0, 1.0, _POINTS) ** 2
    return points


def _polygon(epsilons: Array, deltas: Array, errors: Array) -> Array:
    """Return the largest of the two lines of each (epsilon, delta), rounded down."""
    kept = (1 - deltas)[:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        growth = np.exp(epsilons)[:, None]
        steep = kept - np.where(errors > 0, growth * errors * _SAFE, 0.0)
        flat = (kept - errors) / growth
    best: Array = np.max(np.maximum(steep, flat), axis=0)
    return np.maximum(best / _SAFE - 1e-15, 0.0)


def check_errors(errors: ArrayLike, name: str = "errors") -> Array:
    """Return probabilities of error as an array; all must be between 0 and 1."""
    values = vector(errors, name)
    if not ((values >= 0) & (values <= 1)).all():
        raise ParameterError("core.outside_unit_interval", name=name, value=safe_repr(errors))
    return values


def _double(value: Exact, name: str) -> float:
    return double_at_least(exact_non_negative(value, name=name))


def _target(delta: Exact) -> float:
    target = double_at_most(exact_probability(delta, name="delta"))
    if not _MIN_DELTA <= target < 1:
        raise ParameterError("accounting.delta_below_least", least=_MIN_DELTA, delta=safe_repr(delta))
    return target * (1 - 1e-13)  # a sum taken again in another order must still be below delta
