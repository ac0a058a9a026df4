"""Rényi divergences of the mechanisms in closed form, as functions of the orders.

Each curve bounds the divergence of every order between 1 (Kullback-Leibler) and infinity (the largest privacy loss) for
all neighbours. The textbook forms subtract nearly equal numbers when epsilon is small, so they are written here as sums
of positive terms: each is right to about 14 digits for every epsilon, and then rounded up by one part in 10^13. Rates
are rounded up when they become doubles, which is sound because every curve grows with its rate.

Mironov 2017 (randomized response, Laplace, Gaussian); Bun and Steinke 2016 (pure privacy); Dong, Durfee and Rogers 2020
(bounded range). The derivations are in ``proofs/renyi-curves.md``.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, double_at_least, exact_integer, exact_non_negative, exact_positive, safe_repr

_SAFE = 1 + 1e-13  # ten times the error of the formulas
_UNDERFLOW = 1e-300  # more than what underflow can take away
_MIN_EXCESS_ORDER = 1e-20  # stands for order 1: a divergence grows with its order, here by less than a double can hold
_MAX_EXPONENT = 600.0  # exponents beyond are treated in logarithms
_SERIES = 1.25  # arguments up to which the power series of L converges fast: its radius is pi


def pure(epsilon: Exact, orders: ArrayLike) -> Array:
    """Return the Rényi curve of any ``epsilon``-private mechanism: that of randomized response, the worst of them."""
    return randomized_response(epsilon, orders)


def randomized_response(epsilon: Exact, orders: ArrayLike, categories: int = 2) -> Array:
    """Return the Rényi curve of randomized response over ``categories`` answers."""
    rate = double_at_least(exact_non_negative(epsilon, name="epsilon"))
    order, over = _orders(orders)
    wrong = float(exact_integer(categories, name="categories", least=2) - 1)  # answers that are not the truth
    others = wrong * math.exp(-rate)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        growth = np.expm1(np.minimum(over * rate, _MAX_EXPONENT)) * -np.expm1(-order * rate) / (1 + others)
        rest = np.exp(-(order + over) * rate) + (wrong - 1) * np.exp(-order * rate)
        value = np.where(
            over * rate <= _MAX_EXPONENT,
            np.log1p(growth) / over,
            rate - (np.log1p(others) - np.log1p(rest)) / over,
        )
    return _round_up(value, rate)


def laplace(scale: Exact, orders: ArrayLike, sensitivity: Exact = 1) -> Array:
    """Return the Rényi curve of continuous Laplace noise."""
    spread = exact_positive(scale, name="scale")
    rate = double_at_least(exact_non_negative(sensitivity, name="sensitivity") / spread)
    order, over = _orders(orders)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        odds = over / order
        share = odds / (1 + odds)
        growth = (1 - share) * _exp_minus_linear(np.minimum(over * rate, _MAX_EXPONENT)) + share * _exp_minus_linear(
            -order * rate
        )
        value = np.where(
            over * rate <= _MAX_EXPONENT,
            np.log1p(growth) / over,
            rate - (np.log1p(odds) - np.log1p(odds * np.exp(-(order + over) * rate))) / over,
        )
    return _round_up(value, rate)


def discrete_laplace(scale: Exact, shift: int, orders: ArrayLike) -> Array:
    """Return the Rényi curve of two-sided geometric noise of ratio ``exp(-1/scale)``, moved by ``shift`` whole steps.

    One step is randomized response; many small steps come near to continuous Laplace noise.
    """
    spread = exact_positive(scale, name="scale")
    steps = exact_integer(shift, name="shift", least=0)
    step, rate = double_at_least(1 / spread), double_at_least(steps / spread)
    order, over = _orders(orders)
    ratio, between = math.exp(-step), float(max(steps - 1, 0))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = np.minimum(over * rate, _MAX_EXPONENT)
        ends = np.expm1(exponent) * -np.expm1(-order * rate)
        inner = -ratio * math.expm1(-between * step) * np.expm1(np.minimum(_inner(step, between, over), _MAX_EXPONENT))
        small = np.log1p((ends + inner) / (1 + ratio)) / over
        width = (order + over) * step
        inside = math.expm1(-step) * np.expm1(-between * width) / np.expm1(width)
        large = rate + np.log((1 + np.exp(-width * steps) + inside) / (1 + ratio)) / over
        value = np.where(over * rate <= _MAX_EXPONENT, small, large)
    return _round_up(value, rate)


def gaussian(variance: Exact, sensitivity_squared: Exact, orders: ArrayLike) -> Array:
    """Return the Rényi curve of Gaussian noise, continuous or discrete (for which it is a bound)."""
    ratio = exact_non_negative(sensitivity_squared, name="sensitivity_squared") / exact_positive(
        variance, name="variance"
    )
    order, _ = _orders(orders)
    if ratio == 0:
        return np.zeros_like(order)
    with np.errstate(over="ignore"):
        return order * double_at_least(ratio / 2) * _SAFE


def bounded_range(epsilon: Exact, orders: ArrayLike) -> Array:
    """Return the Rényi curve of mechanisms whose privacy losses span at most ``epsilon``, as the exponential's do.

    At most ``order * epsilon**2 / 8``, and at most the curve of any ``epsilon``-private mechanism.
    """
    rate = double_at_least(exact_non_negative(epsilon, name="epsilon"))
    order, over = _orders(orders)
    half = np.full_like(order, rate / 2)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = np.minimum(over, 1.0)
        low = (1 + near) * _rise(half, near * half) / near + _rise(near * half, (1 - near) * half)
        far = np.clip(over, 1.0, 1e100)  # beyond, the limit is as good
        high = ((1 + far) * _rise(far * half, half) + _rise(half, (far - 1) * half)) / far
        value = np.where(over <= 1, low, np.where(over <= 1e100, high, rate))
    return _round_up(value, rate)


def _orders(orders: ArrayLike) -> tuple[Array, Array]:
    """Return the orders and their excess over 1, with infinity kept and 1 replaced by a number just above."""
    try:
        order = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError("accounting.orders_not_numbers", orders=safe_repr(orders)) from error
    if order.size == 0 or np.asarray(orders).dtype == np.bool_ or not (order >= 1).all():
        raise ParameterError("accounting.orders_below_one", orders=safe_repr(orders))
    return order, np.maximum(order - 1, _MIN_EXCESS_ORDER)


def _round_up(value: Array, largest: float) -> Array:
    """Round up, but not beyond the largest privacy loss, which order infinity has."""
    if largest == 0:
        return np.zeros_like(value)
    return np.fmin(value * _SAFE + _UNDERFLOW, largest)


def _exp_minus_linear(x: Array) -> Array:
    """Return ``exp(x) - 1 - x`` without cancellation."""
    small = np.clip(x, -1.0, 1.0)
    total = np.zeros_like(x)
    for k in range(20, 2, -1):
        total = (1 + total) * small / k
    return np.where(np.abs(x) <= 1, small * small / 2 * (1 + total), np.expm1(x) - x)


def _inner(step: float, between: float, over: Array) -> Array:
    """Return the logarithm of the growth by the losses strictly between the ends, for ``between`` whole losses."""
    if between < 2:  # none, or one whose loss is 0
        return np.zeros_like(over)
    half = np.full_like(over, step / 2)
    return _rise(between * half, between * over * step) - _rise(half, over * step)


@cache
def _coefficients() -> list[float]:
    """Return those of the power series of L in ``x**2``: ``x L'(x) = x cosh(x) / sinh(x) - 1``."""
    quotients: list[Fraction] = []  # of the series of cosh(x) by that of sinh(x) / x
    for n in range(23):
        known = sum((one / math.factorial(2 * (n - k) + 1) for k, one in enumerate(quotients)), Fraction(0))
        quotients.append(Fraction(1, math.factorial(2 * n)) - known)
    return [float(one / (2 * n)) for n, one in enumerate(quotients) if n > 0]


def _rise(start: Array, step: Array) -> Array:
    """Return ``L(start + step) - L(start)`` for ``L(x) = ln(sinh(x) / x)``, without cancellation."""
    end = start + step
    far = np.maximum(start, 0.5 * _SERIES)
    # ln(sinh(end) / sinh(start)) = step + log1p(...), both positive; ln(end / start) is well below it when far.
    apart = step + np.log1p(np.exp(-2 * far) * np.expm1(-2 * step) / np.expm1(-2 * far)) - np.log1p(step / far)
    wide = np.maximum(end, _SERIES)
    across = wide + np.log1p(-np.exp(-2 * wide)) - np.log(2 * wide) - _series(np.zeros_like(start), start)
    return np.where(end <= _SERIES, _series(start, step), np.where(start >= 0.5 * _SERIES, apart, across))


def _series(start: Array, step: Array) -> Array:
    """Return the same by the power series of L, for small arguments (others are clipped)."""
    low = np.minimum(start, _SERIES)
    high = np.minimum(start + step, _SERIES)
    total, power, mixed = np.zeros_like(low), np.ones_like(low), np.ones_like(low)
    for coefficient in _coefficients():
        total += coefficient * mixed
        power = power * low**2
        mixed = mixed * high**2 + power
    rise: Array = total * np.minimum(step, _SERIES) * (low + high)
    return rise
