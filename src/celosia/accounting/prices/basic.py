"""Epsilon and delta of one event, and the classical theorems of composition.

``basic`` gives the pair (epsilon, delta) of an event that is known without any theory of composition: exact, or rounded
up. Sums of such pairs hold even for events that are chosen after seeing earlier answers.

Dwork and Roth 2014; Dwork, Rothblum and Vadhan 2010 (``advanced_epsilon``, in the form for unequal parts of Rogers,
Roth, Ullman and Vadhan 2016); Kairouz, Oh and Viswanath 2015 (``optimal_delta``); Balle, Barthe and Gaboardi 2018
(sampling).
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch

import numpy as np
import scipy

from celosia.accounting.prices.bounded_laplace import bounded_laplace_loss
from celosia.accounting.prices.gaussian import concentrated_delta
from celosia.accounting.prices.key_selection import tail_at_least
from celosia.accounting.prices.simplify import count_touched, inner, leaves, plain_guarantee, simplify, split_group
from celosia.core import (
    ApproxDP,
    ComposedEvent,
    Event,
    FixedSampledEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RepeatedEvent,
    ReplacedEvent,
    ShuffledEvent,
)
from celosia.core.enclosure import exp_at_least, log_at_least
from celosia.core.events import (
    AboveThresholdEvent,
    BoundedLaplaceEvent,
    ExponentialEvent,
    KeySelectionEvent,
    KNormEvent,
    NoisyMaxEvent,
    PermuteAndFlipEvent,
)
from celosia.core.exact import short_at_least
from celosia.core.messages.message import Message

_SAFE = 1 + 1e-12  # far above the rounding of a few operations
_MAX_EPSILON = 1_000  # an epsilon whose exponential would fill the memory
_MAX_TERMS = 2**18  # of a binomial sum, held in memory at once
_MAX_DEVIATIONS = 40.0  # standard deviations of a binomial beyond which nothing is left that a double could hold


def not_priced(event: Event, by: str, *, delta: bool = False) -> NotPricedError:
    """Return the error for an event that an accountant has no theorem for, or none because the event has a delta.

    ``by`` is the code of the method.
    """
    method = Message("accounting.by_with_delta", method=Message(by)) if delta else Message(by)
    return NotPricedError("accounting.event_not_priced", type=type(event).__name__, method=method)


@singledispatch
def basic(event: Event) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of one event, exact or rounded up.

    A new kind of event registers its own: ``basic.register(Kind)``.

    >>> basic(LaplaceEvent(scale=10, sensitivity=1))
    (Fraction(1, 10), Fraction(0, 1))
    """
    raise not_priced(event, "accounting.by_epsilon_and_delta")


def pure(event: Event, by: str = "accounting.by_pure") -> Fraction:
    """Return the epsilon of an event that needs no delta, or raise an error that names the accountant ``by``."""
    try:
        epsilon, delta = basic(event)
    except NotPricedError as error:
        raise not_priced(event, by) from error
    if delta > 0:
        raise not_priced(event, by, delta=True)
    return epsilon


def steps(event: LaplaceEvent | KNormEvent) -> Fraction:
    """Return by how much neighbours differ: an integer number of grid steps, unless the noise is real-valued."""
    return event.sensitivity if event.arithmetic == "real" else Fraction(math.floor(event.sensitivity))


@basic.register
def _(event: LaplaceEvent | KNormEvent) -> tuple[Fraction, Fraction]:
    return steps(event) / event.scale, Fraction(0)


@basic.register
def _(
    event: RandomizedResponseEvent | ExponentialEvent | PermuteAndFlipEvent | NoisyMaxEvent | AboveThresholdEvent,
) -> tuple[Fraction, Fraction]:
    return event.epsilon, Fraction(0)


@basic.register
def _(event: BoundedLaplaceEvent) -> tuple[Fraction, Fraction]:
    loss = bounded_laplace_loss(event.scale, event.sensitivity, event.reach, event.dimension)
    if event.arithmetic == "real" or not loss <= event.epsilon:
        raise NotPricedError("accounting.bounded_laplace_scale_too_small")
    return event.epsilon, Fraction(0)


@basic.register
def _(event: KeySelectionEvent) -> tuple[Fraction, Fraction]:
    # Each key that the unit is in moves by one step, or shows by its mere presence.
    lone = tail_at_least(event.scale, event.threshold)
    return event.affected_keys / event.scale, min(event.affected_keys * lone, Fraction(1))


@basic.register
def _(event: GuaranteedEvent) -> tuple[Fraction, Fraction]:
    match plain_guarantee(event):
        case PureDP(epsilon=epsilon):
            return epsilon, Fraction(0)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case _:
            raise not_priced(event, "accounting.by_epsilon_and_delta")


@basic.register
def _(event: ComposedEvent | RepeatedEvent) -> tuple[Fraction, Fraction]:
    total = ApproxDP(epsilon=0, delta=0)
    for part, times in leaves(event):
        epsilon, delta = basic(part)
        total += ApproxDP(
            epsilon=short_at_least(times * epsilon), delta=min(short_at_least(times * delta), Fraction(1))
        )
    return total.epsilon, total.delta


@basic.register
def _(event: ParallelEvent) -> tuple[Fraction, Fraction]:
    most = count_touched(event)
    epsilons, deltas = zip(*(basic(simplify(part)) for part in event.events), strict=True)
    return sum(sorted(epsilons)[-most:], Fraction(0)), min(sum(sorted(deltas)[-most:], Fraction(0)), Fraction(1))


@basic.register
def _(event: PoissonSampledEvent | FixedSampledEvent) -> tuple[Fraction, Fraction]:
    epsilon, delta = basic(inner(event))
    q = event.probability
    if q in (0, 1):
        return q * epsilon, q * delta
    if epsilon > _MAX_EPSILON:  # exp(epsilon) would fill the memory: ln(1 - q + q e^epsilon) with e^epsilon taken out
        return epsilon + log_at_least(q + (1 - q) * exp_at_least(Fraction(-_MAX_EPSILON))), q * delta
    return log_at_least(1 + q * (exp_at_least(epsilon) - 1)), q * delta


@basic.register
def _(event: ShuffledEvent) -> tuple[Fraction, Fraction]:
    return basic(inner(event))


@basic.register
def _(event: GroupEvent | ReplacedEvent | PostProcessedEvent) -> tuple[Fraction, Fraction]:
    part, size = split_group(event)
    epsilon, delta = basic(part)
    if size == 1:
        return epsilon, delta
    group = ApproxDP(epsilon=epsilon, delta=delta).group(size)
    return group.epsilon, group.delta


def advanced_epsilon(parts: Iterable[tuple[Fraction, int]], slack: float) -> float:
    """Return the epsilon of advanced composition at an additional delta of ``slack``, for parts (epsilon, number)."""
    drift = squares = 0.0
    for epsilon, times in parts:
        rate = float(epsilon) * _SAFE
        # exp(epsilon) may be beyond the doubles; then the bound is infinite.
        drift += times * rate * (math.expm1(rate) if rate < 700 else math.inf)
        squares += times * rate * rate
    return (math.sqrt(2 * squares * -math.log(slack)) + drift) * _SAFE


def optimal_delta(epsilon0: float, times: int, epsilon: float) -> float:
    """Return the smallest delta at ``epsilon`` of ``times`` pure mechanisms of ``epsilon0``, rounded up.

    The worst of them is randomized response, whose privacy loss after ``times`` answers is ``epsilon0`` times a
    binomial count of agreeing minus disagreeing answers. Every term of the sum is positive, so that doubles lose no
    more than a factor that is put back; what lies beyond the summed range is added whole. Where even the summed range
    is too long (beyond some ten million answers), the bound of concentrated privacy takes its place.
    """
    if epsilon0 == 0:
        return 0.0
    agree = float(scipy.special.expit(epsilon0))
    spread = math.sqrt(times * agree * (1 - agree)) + 1
    least = math.floor((epsilon / epsilon0 + times) / 2)  # counts below it lose less than epsilon; one early
    low = max(0, least, math.floor(times * agree - _MAX_DEVIATIONS * spread))
    high = min(times, math.ceil(max(times * agree, low) + _MAX_DEVIATIONS * spread))
    if low > high:
        return 0.0
    if high - low > _MAX_TERMS:
        return concentrated_delta(max(times * epsilon0 * math.tanh(epsilon0 / 2) * _SAFE, 1e-300), epsilon)
    count = np.arange(low, high + 1, dtype=np.float64)
    log_mass = (
        scipy.special.gammaln(times + 1) - scipy.special.gammaln(count + 1) - scipy.special.gammaln(times - count + 1)
        - count * np.log1p(math.exp(-epsilon0)) - (times - count) * np.logaddexp(0, epsilon0)
    )  # fmt: skip
    loss = (2 * count - times) * epsilon0
    excess = np.maximum(loss - epsilon + 1e-14 * (np.abs(loss) + epsilon), 0.0)
    # Logarithms of gamma functions are right to some 1e-16 of themselves, which are millions for a million answers;
    # what is beyond the range is less than 1e-9 of what is in it, for the terms fall faster and faster.
    rounding = math.exp(min(4e-15 * (float(scipy.special.gammaln(times + 1)) + times * epsilon0 + 100), 700.0))
    return min(1.0, float(np.sum(np.exp(log_mass) * -np.expm1(-excess))) * rounding * (1 + 1e-9) + 1e-300)
