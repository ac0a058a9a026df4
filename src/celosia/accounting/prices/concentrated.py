"""Zero-concentrated privacy of events: one number rho, which bounds the Rényi divergence of every order by rho alpha.

Gaussian noise on the grid keeps the bound of its continuous sibling (Canonne, Kamath and Steinke 2020, theorem 4). A
pure mechanism is dominated by randomized response, whose divergence relative to its order is largest at order 1: rho =
epsilon tanh(epsilon / 2). A choice by the exponential mechanism has a privacy loss of bounded *range*, hence epsilon^2
/ 8 (Cesar and Rogers 2021). Sampling amplifies an epsilon but not a rho: a sampled event has a rho only when it is
pure.
"""

from fractions import Fraction
from functools import singledispatch

from celosia.accounting.iteration.allocation import gaussian_rho
from celosia.accounting.iteration.pnsgd import pnsgd_rho
from celosia.accounting.pld.summed_gaussian import count_moved, get_gaussian, get_slack, get_spread
from celosia.accounting.prices.basic import not_priced, pure
from celosia.accounting.prices.simplify import count_touched, inner, leaves, plain_guarantee, simplify, split_group
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    ContractiveIterationEvent,
    Event,
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    ParallelEvent,
    PNSGDEvent,
    PostProcessedEvent,
    PureDP,
    RepeatedEvent,
    ReplacedEvent,
    ShuffledEvent,
    SummedGaussianEvent,
)
from celosia.core.enclosure import exp_at_most, root_at_least
from celosia.core.exact import short_at_least

_MAX_EPSILON = 1_000  # beyond, exp(-epsilon) is 0 in hundreds of digits, and is taken for 0


@singledispatch
def rho(event: Event) -> Fraction:
    """Return the rho of one event, exact or rounded up; a pure event is priced by its epsilon.

    >>> from celosia.core import LaplaceEvent
    >>> rho(GaussianEvent(variance=100, sensitivity_squared=1))
    Fraction(1, 200)
    >>> round(float(rho(LaplaceEvent(scale=10, sensitivity=1))), 6)
    0.004996
    """
    return _of_pure(pure(event, "accounting.by_concentrated"))


def _of_pure(epsilon: Fraction) -> Fraction:
    small = exp_at_most(-epsilon) if epsilon < _MAX_EPSILON else Fraction(0)
    return short_at_least(epsilon * (1 - small) / (1 + small))  # epsilon tanh(epsilon / 2)


@rho.register
def _(event: GaussianEvent) -> Fraction:
    return event.sensitivity_squared / (2 * event.variance)


@rho.register
def _(event: SummedGaussianEvent) -> Fraction:
    alone, slack = rho(get_gaussian(event)), Fraction(get_slack(event))
    if slack == 0:
        return alone
    # The slack raises every divergence; or the sum is as close to the Gaussian as a choice of the range of the spread.
    together = root_at_least(alone) + Fraction(get_spread(event)) * root_at_least(Fraction(count_moved(event), 2))
    return short_at_least(min(alone + slack, together**2))


@rho.register
def _(event: ExponentialEvent) -> Fraction:
    return min(event.epsilon**2 / 8, _of_pure(event.epsilon))


@rho.register
def _(event: GuaranteedEvent) -> Fraction:
    match plain_guarantee(event):
        case ZCDP(rho=value):
            return value
        case GaussianDP(mu=mu):
            return mu**2 / 2
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0):
            return _of_pure(epsilon)
        case _:
            raise not_priced(event, "accounting.by_concentrated")


@rho.register
def _(event: ComposedEvent | RepeatedEvent) -> Fraction:
    return sum((short_at_least(times * rho(part)) for part, times in leaves(event)), Fraction(0))


@rho.register
def _(event: ParallelEvent) -> Fraction:
    return sum(sorted(rho(simplify(part)) for part in event.events)[-count_touched(event) :], Fraction(0))


@rho.register
def _(event: ShuffledEvent) -> Fraction:
    return rho(inner(event))


@rho.register
def _(event: ContractiveIterationEvent) -> Fraction:
    if event.noise != "gaussian":
        raise not_priced(event, "accounting.by_concentrated_of_other_noise")
    return gaussian_rho(event.steps, event.start)


@rho.register
def _(event: PNSGDEvent) -> Fraction:
    return Fraction(pnsgd_rho(event))


@rho.register
def _(event: GroupEvent | ReplacedEvent | PostProcessedEvent) -> Fraction:
    part, size = split_group(event)
    return rho(part) * size**2
