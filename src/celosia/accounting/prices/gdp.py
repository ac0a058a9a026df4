"""Gaussian privacy of events: one number mu, exact for Gaussian noise, which composes by squares.

Only bounds are here. The central-limit values that the literature gives for sampled mechanisms are not bounds and are
never used: a sampled event has a mu only when it is pure. Grid noise is slightly more revealing than continuous noise
(see ``discrete_normal``). A pure mechanism has mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)): its trade-off curve is made
of two straight lines above that of mu (Dong, Roth and Su 2022).
"""

import math
from fractions import Fraction
from functools import lru_cache, singledispatch

import scipy

from celosia.accounting.pld.summed_gaussian import get_gaussian, get_spread
from celosia.accounting.prices.basic import not_priced, pure
from celosia.accounting.prices.discrete_normal import gaussian_dp
from celosia.accounting.prices.simplify import count_touched, inner, leaves, plain_guarantee, simplify, split_group
from celosia.core import (
    ApproxDP,
    ComposedEvent,
    Event,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    NotPricedError,
    ParallelEvent,
    ParameterError,
    PostProcessedEvent,
    PureDP,
    RepeatedEvent,
    ReplacedEvent,
    ShuffledEvent,
    SummedGaussianEvent,
)
from celosia.core.enclosure import root_at_least
from celosia.core.exact import double_at_least

_SAFE = 1 + 1e-13  # far above the rounding of a few operations


@singledispatch
def mu(event: Event) -> float:
    """Return the mu of one event, rounded up; a pure event is priced by its epsilon.

    >>> round(mu(GaussianEvent(variance=10**12, sensitivity_squared=10**12)), 9)
    1.0
    """
    return _of_pure(pure(event, "accounting.by_gaussian"))


def _of_pure(epsilon: Fraction) -> float:
    rate = double_at_least(epsilon)
    if rate < 1:  # nearly 1/2 against 1/2: its distance from there keeps all digits
        return 2 * math.sqrt(2) * float(scipy.special.erfinv(math.tanh(rate / 2))) * (1 + 1e-12)
    # The logarithm of the smaller probability, because the larger one is 1 in doubles from epsilon = 37 on.
    return -2 * float(scipy.special.ndtri_exp(scipy.special.log_expit(-rate))) * (1 + 1e-12)


@mu.register
def _(event: GaussianEvent) -> float:
    if event.arithmetic == "real":
        return float(root_at_least(event.sensitivity_squared / event.variance)) * _SAFE
    return grid_gaussian_mu(event)


@lru_cache(maxsize=256)  # 120 roundings are tried, and a training run repeats the same noise
def grid_gaussian_mu(event: GaussianEvent | SummedGaussianEvent) -> float:
    """Return the mu of noise on the grid; raise ``NotPricedError`` where the noise is hardly a step wide."""
    spread = get_spread(event) if isinstance(event, SummedGaussianEvent) else 0.0
    try:
        return gaussian_dp(event.variance, math.floor(event.sensitivity_squared), event.dimension, spread=spread)
    except ParameterError as error:
        raise NotPricedError("accounting.gaussian_not_priced", event=type(event).__name__, reason=error) from error


@mu.register
def _(event: SummedGaussianEvent) -> float:
    return mu(get_gaussian(event)) if event.arithmetic == "real" else grid_gaussian_mu(event)


@mu.register
def _(event: GuaranteedEvent) -> float:
    match plain_guarantee(event):
        case GaussianDP(mu=value):
            return float(value) * _SAFE
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0):
            return _of_pure(epsilon)
        case _:
            raise not_priced(event, "accounting.by_gaussian")


@mu.register
def _(event: ComposedEvent | RepeatedEvent) -> float:
    return math.sqrt(math.fsum(times * mu(part) ** 2 for part, times in leaves(event))) * _SAFE


@mu.register
def _(event: ParallelEvent) -> float:
    return math.hypot(*sorted(mu(simplify(part)) for part in event.events)[-count_touched(event) :]) * _SAFE


@mu.register
def _(event: ShuffledEvent) -> float:
    return mu(inner(event))


@mu.register
def _(event: GroupEvent | ReplacedEvent | PostProcessedEvent) -> float:
    part, size = split_group(event)
    return mu(part) if size == 1 else mu(part) * size * _SAFE
