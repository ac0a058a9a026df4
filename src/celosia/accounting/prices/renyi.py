"""Rényi divergences of events, at any orders, and their conversion to epsilon and delta.

A mechanism is priced by its closed form where it has one; a sampled event is priced by its dominating pair. Every value
is rounded up. The conversion is that of Canonne, Kamath and Steinke 2020 (proposition 12), at the best of the orders.
"""

import math
from functools import lru_cache, singledispatch

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.iteration.contraction import iteration_curve
from celosia.accounting.pld.atoms import coin
from celosia.accounting.pld.discretise import Pair
from celosia.accounting.pld.normal import SampledNormal
from celosia.accounting.pld.summed_gaussian import get_gaussian, get_slack
from celosia.accounting.prices import closed_forms
from celosia.accounting.prices.basic import not_priced, pure, steps
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.dominating import dominating, normal, sample_pair
from celosia.accounting.prices.gdp import mu
from celosia.accounting.prices.simplify import count_touched, inner, leaves, plain_guarantee, simplify, split_group
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    ParallelEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ShuffledEvent,
    SummedGaussianEvent,
)
from celosia.core.exact import double_at_least, double_at_most
from celosia.core.iterations import ContractiveIterationEvent, PNSGDEvent

ORDERS: Array = 1 + np.geomspace(0.01, 1e6, 200)
"""The orders of the Rényi accountant: from nearly 1, where delta is large, to a million, where epsilon is tiny."""
ORDERS.flags.writeable = False

_SAFE = 1 + 1e-12  # far above the rounding of a few operations
_UNDERFLOW = 1e-300  # more than what underflow takes away


@singledispatch
def renyi(event: Event, orders: Array) -> Array:
    """Return upper bounds on the Rényi divergences of an event; a pure event is priced by its epsilon.

    >>> renyi(GaussianEvent(variance=4, sensitivity_squared=1), np.array([2.0, 8.0])).round(9)
    array([0.25, 1.  ])
    """
    return closed_forms.pure(pure(event, "accounting.by_renyi"), orders)


@renyi.register
def _(event: LaplaceEvent, orders: Array) -> Array:
    if event.arithmetic == "real":
        return closed_forms.laplace(event.scale, orders, event.sensitivity)
    return closed_forms.discrete_laplace(event.scale, int(steps(event)), orders)


@renyi.register
def _(event: GaussianEvent, orders: Array) -> Array:
    return closed_forms.gaussian(event.variance, event.sensitivity_squared, orders)


@renyi.register
def _(event: SummedGaussianEvent, orders: Array) -> Array:
    raised = renyi(get_gaussian(event), orders) + get_slack(event)
    return np.minimum(raised, orders * double_at_least(rho(event))) * _SAFE


@renyi.register
def _(event: RandomizedResponseEvent, orders: Array) -> Array:
    if event.coins is not None:
        return _divergences(coin(*event.coins), orders)  # exact: at each order, the larger of the two directions
    return closed_forms.randomized_response(event.epsilon, orders, event.categories)


@renyi.register
def _(event: ExponentialEvent, orders: Array) -> Array:
    return closed_forms.bounded_range(event.epsilon, orders)


@lru_cache(maxsize=16)
def _pair(event: Event) -> Pair:
    return dominating(event)  # some take long, and are needed again at other orders


@renyi.register(ShuffledEvent)
def _of_pair(event: Event, orders: Array) -> Array:
    return _divergences(_pair(event), orders)


@renyi.register
def _(event: PoissonSampledEvent | FixedSampledEvent, orders: Array) -> Array:
    part = inner(event)
    if all(isinstance(leaf, GaussianEvent | SummedGaussianEvent) for leaf, _ in leaves(part)):
        # The list of losses of discrete noise ends somewhere, and what is beyond has infinite divergence; the normal
        # distribution that dominates it has not.
        return _divergences(sample_pair(normal(mu(part)), event), orders)
    return _of_pair(event, orders)


def _divergences(pair: Pair, orders: Array) -> Array:
    curve = pair.renyi(orders)
    if isinstance(pair, SampledNormal):
        return curve  # never below that of the swapped pair: Mironov, Talwar and Zhang 2019, theorem 5
    return np.maximum(curve, pair.swap().renyi(orders))


@renyi.register
def _(event: ContractiveIterationEvent | PNSGDEvent, orders: Array) -> Array:
    return iteration_curve(event, orders)


@renyi.register
def _(event: GuaranteedEvent, orders: Array) -> Array:
    match plain_guarantee(event):
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0):
            return closed_forms.pure(epsilon, orders)
        case ZCDP(rho=rho):
            return orders * (float(rho) * _SAFE)
        case GaussianDP(mu=mu):
            return orders * (float(mu**2 / 2) * _SAFE)
        case RenyiDP() as known:
            return _between(known, orders)
        case _:
            raise not_priced(event, "accounting.by_renyi", delta=True)


def _between(known: RenyiDP, orders: Array) -> Array:
    """Return a curve known at some orders: a divergence grows with its order, so the next known one is a bound."""
    # An order that is no double is known up to the double below it.
    at = np.searchsorted(np.array([double_at_most(order) for order in known.orders]), orders)
    values = np.array([*(float(epsilon) * _SAFE for epsilon in known.epsilons), math.inf])
    return np.asarray(values[at])


@renyi.register
def _(event: ComposedEvent | RepeatedEvent, orders: Array) -> Array:
    curves = [times * renyi(part, orders) for part, times in leaves(event)]
    return np.asarray(np.sum(curves, axis=0)) * _SAFE


@renyi.register
def _(event: ParallelEvent, orders: Array) -> Array:
    kinds = dict.fromkeys(event.events)
    curves = [renyi(simplify(kind), orders) for kind in kinds for _ in range(min(2, event.events.count(kind)))]
    return np.asarray(np.sort(curves, axis=0)[-count_touched(event) :].sum(axis=0))


@renyi.register
def _(event: GroupEvent | ReplacedEvent | PostProcessedEvent, orders: Array) -> Array:
    part, size = split_group(event)
    if size == 1:
        return renyi(part, orders)
    # Mironov 2017, proposition 2: a group of 2^c at order alpha >= 2 costs 3^c times the divergence of 2^c alpha. Below
    # order 2 its value at 2 is a bound.
    doublings = (size - 1).bit_length()
    return 3.0**doublings * renyi(part, 2.0**doublings * np.maximum(orders, 2.0))


def renyi_epsilon(orders: Array, curve: Array, delta: float) -> float:
    """Return the smallest epsilon at ``delta`` that a Rényi curve implies, over the orders given."""
    return float(np.nanmin(epsilons_by_order(orders, curve, delta)))


def epsilons_by_order(orders: Array, curve: Array, delta: float) -> Array:
    """Return the epsilon at ``delta`` that each single order of a Rényi curve implies."""
    shrink, slack = -np.log1p(1 / (orders - 1)), (math.log(delta) + np.log(orders)) / (orders - 1)
    # Rounding is a part of the terms, which may be larger than their sum.
    values = curve + shrink - slack + 1e-15 * (curve + np.abs(shrink) + np.abs(slack))
    return np.asarray(np.maximum(values, 0.0) * _SAFE)


def largest_divergences(orders: Array, epsilon: float, delta: Array | float) -> Array:
    """Return the largest divergence, rounded down, of each order that alone implies ``epsilon`` and ``delta``."""
    grown, slack = -np.log1p(-1 / orders), (np.log(delta) + np.log(orders)) / (orders - 1)
    return np.asarray((epsilon + grown + slack) - 1e-12 * (epsilon + grown + np.abs(slack)))


def renyi_delta(orders: Array, curve: Array, epsilon: float) -> float:
    """Return the smallest delta at ``epsilon`` that a Rényi curve implies, over the orders given."""
    over = orders - 1
    logs = over * (curve - epsilon) - np.log(over) - orders * np.log1p(1 / over)
    logs = logs + 1e-15 * (over * (curve + epsilon) + np.abs(np.log(over)) + 10)
    return float(min(1.0, math.exp(min(0.0, float(np.nanmin(logs)))) * (1 + 1e-9) + _UNDERFLOW))
