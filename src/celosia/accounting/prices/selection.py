"""The price of a private search: the best of a secret random number K of runs (``PrivateSelectionEvent``).

With f the generating function of K, the best answer has f'(1 - a) times the probability that one run has, where a is
the chance that a run is better. So a search leaks as much as one run, plus the largest difference of ln f' between the
chances a and b of two neighbours; the chances come from a private mechanism, which keeps b near a. Papernot and Steinke
2022 (theorems 2 and 6) bound that difference with one Rényi order; the code here uses *all* orders: it bounds the
difference over every pair (a, b) that they allow, on a grid whose cells count at their worst corners. The proof, also
of the closed forms for pure privacy and for zCDP, is ``proofs/repetition.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.basic import basic, not_priced, pure
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.renyi import ORDERS, renyi
from celosia.accounting.prices.simplify import simplify
from celosia.core import Event, NotPricedError, PrivateSelectionEvent
from celosia.core.enclosure import exp_at_least, log_at_least, root_at_least
from celosia.core.exact import double_at_least, double_at_most, short_at_least

_SAFE = 1 + 1e-12  # far above the rounding of a few operations
_UNIT = 4e-15  # relative to the terms of a difference
_MAX_EPSILON = 500  # an epsilon whose exponential would fill the memory
_CELLS = 4096
_MIN_CHANCE = 1e-7  # the smallest chance that has a cell of its own
_NO_ETA = 1e-100  # so near to 0 that it is 0


def expected_runs(event: PrivateSelectionEvent) -> float:
    """Return the mean number of runs.

    >>> from celosia.core import LaplaceEvent
    >>> expected_runs(PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), gamma="0.1"))
    10.0
    """
    if event.mean is not None:
        return float(event.mean)
    assert event.eta is not None  # noqa: S101 - for the type checker: a negative binomial has one
    assert event.gamma is not None  # noqa: S101 - for the type checker: a negative binomial has one
    eta, tails = float(event.eta), 1 - event.gamma
    if event.eta == 1:
        return float(1 / event.gamma)
    odds = float(tails / event.gamma)
    # As a double, a gamma near 1 has lost its digits, and 1 - gamma has not.
    log = math.log1p(-float(tails)) if 2 * tails < 1 else math.log(float(event.gamma))
    # eta / (1 - gamma^eta), which at eta = 0 is 1 / ln(1/gamma); expm1 keeps its digits near 0.
    return odds * (eta / -math.expm1(eta * log) if abs(eta) > _NO_ETA else -1 / log)


def chances(event: Event) -> tuple[Array, Array]:
    """Return chances ``a`` of an outcome of ``event`` and, for each, the largest chance ``b`` for a neighbour.

    From the Rényi curve of the event: at every order, ``b <= (a exp(epsilon))^(1 - 1/order)``, and the same for the
    opposite outcome with the two data sets exchanged. Both grow.
    """
    a: Array = np.geomspace(_MIN_CHANCE, 1.0, _CELLS)
    a[-1] = 1.0
    curve = renyi(event, ORDERS)
    order, curve = ORDERS[np.isfinite(curve)], curve[np.isfinite(curve)]
    if not order.size:
        raise not_priced(event, "accounting.by_renyi")
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(a)[:, None] + curve
        near = np.exp(np.minimum((logs * ((order - 1) / order)).min(axis=1), 0.0))
        far = 1 - np.exp((np.log1p(-a)[:, None] * (order / (order - 1)) - curve).max(axis=1)) * (1 - 1e-12)
    return a, np.minimum(np.minimum(near * _SAFE, far + 1e-15), 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class _Region:
    """Cells of pairs (a, b): the least a and the largest b of each."""

    least: Array
    largest: Array


@lru_cache(maxsize=64)  # a calibration needs one curve at several sets of orders
def _region(event: Event) -> _Region:
    a, b = chances(event)
    return _Region(np.append(0.0, a[:-1]), np.maximum.accumulate(b))


def _log_slope(event: PrivateSelectionEvent, chance: Array) -> Array:
    """Return ln f'(1 - chance) less ln f'(1), where f generates the number of runs; it falls with the chance."""
    if event.mean is not None:
        return -double_at_most(event.mean) * chance
    assert event.eta is not None  # noqa: S101 - for the type checker: a negative binomial has one
    assert event.gamma is not None  # noqa: S101 - for the type checker: a negative binomial has one
    # ln gamma - ln(gamma + (1 - gamma) chance)
    return -float(event.eta + 1) * np.log1p(float((1 - event.gamma) / event.gamma) * chance)


@renyi.register
def _(event: PrivateSelectionEvent, orders: Array) -> Array:
    base = simplify(event.event)
    one = renyi(base, orders)
    over = orders - 1
    mean = math.log(expected_runs(event)) + 1e-13
    region = _region(base)
    a, b = _log_slope(event, region.least), _log_slope(event, region.largest)
    # Over all cells the largest of order ln f'(a) - (order - 1) ln f'(b); rounding is a part of the terms.
    grown = np.array([float(np.max(order * a - (order - 1) * b + _UNIT * order * np.abs(b))) for order in orders])
    extra = np.minimum(grown, _by_one_order(event, base, over))
    total = mean + extra + over * one
    if event.mean is not None:  # no run at all has the same probability for neighbours, and comes on top
        total = np.logaddexp(total, -double_at_most(event.mean))
    curve: Array = np.maximum((total + 1e-14 * (np.abs(mean) + np.abs(extra))) / over, 0.0) * _SAFE
    try:
        return np.minimum(curve, closed_forms.pure(pure(event), orders))
    except NotPricedError:
        return curve


def _by_one_order(event: PrivateSelectionEvent, base: Event, over: Array) -> Array:
    """Return the bounds of theorem 2 on ln f'(a) order - (order - 1) ln f'(b); none for the Poisson law."""
    if event.eta is None or event.gamma is None:
        return np.full(over.size, math.inf)
    curve = renyi(base, ORDERS)
    power, least = double_at_least(event.eta + 1), double_at_least(log_at_least(1 / event.gamma))
    cost = np.min(curve * ((ORDERS - 1) / ORDERS) + least / ORDERS)
    return over * (power * min(float(cost), least) * _SAFE)


@basic.register
def _(event: PrivateSelectionEvent) -> tuple[Fraction, Fraction]:
    epsilon = pure(simplify(event.event), "accounting.by_epsilon_of_search")
    return short_at_least(epsilon + _pure_extra(event, epsilon)), Fraction(0)


def _pure_extra(event: PrivateSelectionEvent, epsilon: Fraction) -> Fraction:
    """Return how much ln f' differs at most between chances that are exp(epsilon) apart in both directions."""
    if event.eta is None or event.gamma is None:
        assert event.mean is not None  # noqa: S101 - of every Poisson law
        if epsilon > _MAX_EPSILON:
            return event.mean
        most = exp_at_least(epsilon)
        return event.mean * (most - 1) / (most + 1)
    if epsilon > _MAX_EPSILON:
        return (event.eta + 1) * min(epsilon, log_at_least(1 / event.gamma))
    most = exp_at_least(epsilon)
    return (event.eta + 1) * min(log_at_least((most + event.gamma) / (1 + event.gamma * most)), epsilon)


@rho.register
def _(event: PrivateSelectionEvent) -> Fraction:
    try:
        return rho.dispatch(Event)(event)
    except NotPricedError:
        if event.eta is None or event.gamma is None:
            raise
    one, least = rho(simplify(event.event)), log_at_least(1 / event.gamma)
    if one == 0:
        return Fraction(0)
    # theorem 2 at its best order, and the mean by the order at which it costs least: proofs/repetition.md
    runs = log_at_least(Fraction(expected_runs(event)) * Fraction(10**12 + 1, 10**12))
    order = (event.eta + 1) * (least if one >= least else 2 * root_at_least(one * least) - one)
    return short_at_least(one + order + 2 * root_at_least(one * max(runs, Fraction(0))))
