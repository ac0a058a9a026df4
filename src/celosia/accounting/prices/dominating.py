"""Dominating pairs of events: no two neighbours are easier to distinguish than the pair.

A pair ``(P, Q)`` dominates when every hockey-stick divergence of neighbours, of every ``exp(epsilon)`` above and below
1, is at most the pair's. Domination survives composition, sampling and post-processing (Zhu, Dong and Wang 2022), so a
whole training run is priced by the pairs of its steps. Under add-remove ``P`` is the side that has the unit; under
replace-one the pair is symmetric, because it must cover both orders of neighbours.
"""

import math
from fractions import Fraction
from functools import lru_cache, singledispatch
from itertools import combinations

from celosia.accounting.pld.atoms import (
    approximate,
    bounded_range,
    coins,
    discrete_gaussian,
    discrete_laplace,
    randomized_response,
)
from celosia.accounting.pld.composition import LossDistribution
from celosia.accounting.pld.discretise import Pair
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal
from celosia.accounting.prices.basic import not_priced, pure, steps
from celosia.accounting.prices.gdp import mu
from celosia.accounting.prices.key_selection import tail_at_least
from celosia.accounting.prices.shuffling import shuffled_atoms
from celosia.accounting.prices.simplify import count_touched, inner, leaves, plain_guarantee, simplify
from celosia.core.errors import NotPricedError
from celosia.core.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    KeySelectionEvent,
    LaplaceEvent,
    RandomizedResponseEvent,
    SummedGaussianEvent,
)
from celosia.core.exact import double_at_least, double_at_most
from celosia.core.guarantees import ApproxDP, GaussianDP, PureDP
from celosia.core.structure import (
    ComposedEvent,
    FixedSampledEvent,
    GuaranteedEvent,
    ParallelEvent,
    PoissonSampledEvent,
    RepeatedEvent,
    ShuffledEvent,
)

_STEPS = 4096  # steps of a grid that stands for real-valued Laplace noise; a coarser grid dominates a finer one
_MIN_MU, _MAX_MU = 1e-8, 1e8  # of a normal pair
_MAX_SUMMED_VARIANCE = 1_000_000  # variance up to which discrete Gaussian noise is summed term by term


@singledispatch
def dominating(event: Event) -> Pair:
    """Return the pair that dominates an event; for a pure event, that of randomized response.

    >>> dominating(LaplaceEvent(scale=10, sensitivity=1)).losses
    array([-0.1,  0.1])
    """
    plain = simplify(event)
    if plain != event:
        return dominating(plain)
    return randomized_response(double_at_least(pure(event, "accounting.by_loss_distribution")))


def loss_distribution(parts: "list[tuple[Pair, int]]") -> LossDistribution:
    """Return the composition of pairs, each a number of times."""
    return LossDistribution.of([(pair, pair.swap(), times) for pair, times in parts])


@dominating.register
def _(event: LaplaceEvent) -> Pair:
    if event.arithmetic == "real":
        shift, scale = (_STEPS, _STEPS * event.scale / event.sensitivity) if event.sensitivity else (0, event.scale)
        return discrete_laplace(double_at_most(scale), shift)
    # All of the shift in one coordinate is the worst way to spread it (proofs/pairs.md).
    return discrete_laplace(double_at_most(event.scale), int(steps(event)))


@dominating.register
def _(event: GaussianEvent) -> Pair:
    if event.arithmetic == "real":
        return normal(mu(event))
    squared = math.floor(event.sensitivity_squared)
    if event.variance <= _MAX_SUMMED_VARIANCE and (event.dimension == 1 or squared <= 1):
        return discrete_gaussian(double_at_most(event.variance), math.isqrt(squared))
    return normal(mu(event))


@dominating.register
def _(event: SummedGaussianEvent) -> Pair:
    return normal(mu(event))


def normal(distance: float) -> Pair:
    """Return the normal pair of a mu, rounded up where it is tiny; a mu of 0 distinguishes nothing."""
    if distance > _MAX_MU:
        raise NotPricedError("accounting.mu_too_large", mu=distance)
    return Normal(max(distance, _MIN_MU)) if distance > 0 else randomized_response(0.0)


@dominating.register
def _(event: RandomizedResponseEvent) -> Pair:
    if event.coins is not None:
        return coins(*event.coins)
    return randomized_response(double_at_least(event.epsilon), event.categories)


@dominating.register
def _(event: ExponentialEvent) -> Pair:
    return bounded_range(double_at_least(event.epsilon))


@dominating.register
def _(event: KeySelectionEvent) -> Pair:
    # Keys have noise of their own, so that those which one unit reaches compose.
    lone = min(double_at_least(tail_at_least(event.scale, event.threshold)), 1.0)
    return _composed([(approximate(double_at_least(1 / event.scale), lone), event.affected_keys)])


@dominating.register
def _(event: GuaranteedEvent) -> Pair:
    match plain_guarantee(event):
        case PureDP(epsilon=epsilon):
            return randomized_response(double_at_least(epsilon))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return approximate(double_at_least(epsilon), double_at_least(delta))
        case GaussianDP(mu=distance):
            return normal(double_at_least(distance))
        case _:
            raise not_priced(event, "accounting.by_loss_of_renyi_curve")


@dominating.register
def _(event: ComposedEvent | RepeatedEvent) -> Pair:
    return _composed([(dominating(part), times) for part, times in leaves(event)])


def _composed(parts: "list[tuple[Pair, int]]") -> Pair:
    if all(isinstance(pair, Normal) for pair, _ in parts):
        squares = sum(times * pair.mu**2 for pair, times in parts if isinstance(pair, Normal))
        return normal(math.sqrt(squares) * (1 + 1e-15 * (2 + len(parts))))
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    return loss_distribution(parts).atoms()[0]


@dominating.register
def _(event: ParallelEvent) -> Pair:
    kinds: dict[Event, int] = {}
    for part in event.events:
        kinds[part] = kinds.get(part, 0) + 1
    pairs = {kind: dominating(simplify(kind)) for kind in kinds}
    if count_touched(event) == 1:
        return _worst(list(pairs.values()))
    # Two parts at once: of two kinds, or of one kind twice.
    both = [_composed([(pairs[one], 1), (pairs[other], 1)]) for one, other in combinations(kinds, 2)]
    twice = [_composed([(pairs[kind], 2)]) for kind, number in kinds.items() if number > 1]
    return _worst([*both, *twice] or list(pairs.values()))


def _worst(pairs: "list[Pair]") -> Pair:
    """Return a pair that dominates each of several."""
    if all(isinstance(pair, Normal) for pair in pairs):
        return Normal(max(pair.mu for pair in pairs if isinstance(pair, Normal)))
    worst, *others = (_atoms(pair) for pair in pairs)
    for other in others:
        worst = worst.worse(other)
    return worst


def _atoms(pair: Pair) -> Atoms:
    return pair if isinstance(pair, Atoms) else loss_distribution([(pair, 1)]).atoms()[0]


@dominating.register
def _(event: PoissonSampledEvent | FixedSampledEvent) -> Pair:
    return sample_pair(dominating(inner(event)), event)


def sample_pair(pair: Pair, event: PoissonSampledEvent | FixedSampledEvent) -> Pair:
    """Return the pair of an event on a sample, from the pair of the event on all records."""
    base = _atoms(pair) if isinstance(pair, SampledNormal) else pair
    share = min(double_at_least(event.probability), 1.0)
    if share == 0:
        return randomized_response(0.0)
    return base.poisson(share)[0] if isinstance(event, PoissonSampledEvent) else base.fixed(share)


@dominating.register
def _(event: ShuffledEvent) -> Pair:
    local = inner(event)
    if pure(local) == 0:
        return randomized_response(0.0)
    known = local.categories if isinstance(local, RandomizedResponseEvent) and local.coins is None else None
    return _shuffle_atoms(pure(local), event.reports, known)


@lru_cache(maxsize=32)  # a second or more for a thousand million reports, and every accountant needs it
def _shuffle_atoms(epsilon: Fraction, reports: int, categories: int | None) -> Atoms:
    return shuffled_atoms(epsilon, reports, categories=categories)
