"""Every pair dominates the tables of its event, at every epsilon above and below 0, alone, sampled and composed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import dominating
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal
from celosia.accounting.prices.dominating import loss_distribution, normal, sample_pair
from celosia.core import (
    ZCDP,
    ComposedEvent,
    Event,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    Guarantee,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PoissonSampledEvent,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.testing import Witness, witnesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

EPSILONS = np.array([-6.0, -2.0, -1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0, 2.0, 6.0])
COUNT = LaplaceEvent(scale=2, sensitivity=1)
FINE = GaussianEvent(variance=2**40, sensitivity_squared=2**40)


def hockey_stick(here: Array, there: Array) -> Array:
    return np.array([np.maximum(here - math.exp(epsilon) * there, 0).sum() for epsilon in EPSILONS])


def check_a_pair_dominates_every_table_at_every_epsilon(witness: Witness) -> None:
    try:
        pair = dominating(witness.event)
    except NotPricedError:
        assert isinstance(witness.event, GuaranteedEvent)
        return
    ways = [(witness.here, witness.there)]
    if witness.event.adjacency is ReplaceOne:
        ways.append((witness.there, witness.here))  # the order of neighbours is anybody's
    for here, there in ways:
        assert (hockey_stick(here, there) <= pair.profile(EPSILONS) + 1e-14).all()
        assert (hockey_stick(there, here) <= pair.swap().profile(EPSILONS) + 1e-14).all()


def test_a_pair_dominates_every_table_at_every_epsilon() -> None:
    for witness in witnesses():
        check_a_pair_dominates_every_table_at_every_epsilon(witness)


TIGHT = (
    COUNT,
    LaplaceEvent(scale=2, sensitivity=3),
    RandomizedResponseEvent(epsilon=1),
    RandomizedResponseEvent(epsilon=1, categories=4),
    PoissonSampledEvent(event=COUNT, probability="1/4"),
    GroupEvent(event=COUNT, size=3),
)


def test_pairs_of_what_is_known_whole_are_exact() -> None:
    for event in TIGHT:
        [witness] = [one for one in witnesses() if one.event == event]
        np.testing.assert_allclose(
            dominating(event).profile(EPSILONS), hockey_stick(witness.here, witness.there), atol=1e-11
        )


def test_a_sample_of_a_composition_is_sampled_once() -> None:
    twice = PoissonSampledEvent(event=RepeatedEvent(event=COUNT, times=2), probability="1/4")
    [one] = [witness for witness in witnesses() if witness.event == COUNT]
    both = one @ one
    here = 0.25 * both.here + 0.75 * both.there
    truth = hockey_stick(here, both.there)
    pair = dominating(twice)
    assert (truth <= pair.profile(EPSILONS) + 1e-14).all()
    np.testing.assert_allclose(pair.profile(EPSILONS), truth, atol=1e-4)
    assert (hockey_stick(both.there, here) <= pair.swap().profile(EPSILONS) + 1e-14).all()


@given(st.floats(0.2, 20), st.floats(0.1, 5))
def test_real_valued_noise_is_dominated_by_a_fine_grid(scale: float, sensitivity: float) -> None:
    pair = dominating(LaplaceEvent(scale=scale, sensitivity=sensitivity, arithmetic="real"))
    rate = sensitivity / scale
    epsilons = np.linspace(0, rate, 20)
    truth = -np.expm1((epsilons - rate) / 2)  # the profile of continuous Laplace noise
    found = pair.profile(epsilons)
    assert (found >= truth - 1e-14).all()
    np.testing.assert_allclose(found, truth, atol=1e-3 * rate)


def test_gaussian_noise() -> None:
    assert isinstance(dominating(GaussianEvent(variance=16, sensitivity_squared=4)), Atoms)
    assert isinstance(dominating(GaussianEvent(variance=16, sensitivity_squared=2, dimension=2)), Normal)
    assert isinstance(dominating(GaussianEvent(variance=16, sensitivity_squared=1, dimension=2)), Atoms)
    real = dominating(GaussianEvent(variance=16, sensitivity_squared=4, arithmetic="real"))
    assert isinstance(real, Normal)
    assert real.mu == pytest.approx(0.5, rel=1e-12)
    composed = dominating(RepeatedEvent(event=FINE, times=10**6))
    assert isinstance(composed, Normal)
    assert composed.mu == pytest.approx(1000, rel=1e-9)


def test_what_reveals_nothing_has_a_pair_that_tells_nothing_apart() -> None:
    cases: list[Event] = [
        GaussianEvent(variance=2**40, sensitivity_squared=0),
        GaussianEvent(variance=4, sensitivity_squared=0, arithmetic="real"),
        GaussianEvent(variance=4, sensitivity_squared="0.5"),
        GuaranteedEvent(guarantee=GaussianDP(mu=0)),
        LaplaceEvent(scale=1, sensitivity=0),
        LaplaceEvent(scale=1, sensitivity=0, arithmetic="real"),
        PoissonSampledEvent(event=FINE, probability=0),
        FixedSampledEvent(event=RandomizedResponseEvent(epsilon=1), size=0, population=9),
    ]
    for event in cases:
        assert (dominating(event).profile(EPSILONS[EPSILONS >= 0]) <= 1e-15).all()


def test_distances_beyond_all_reason() -> None:
    tiny = normal(1e-40)
    assert isinstance(tiny, Normal)
    assert tiny.mu >= 1e-40
    with pytest.raises(NotPricedError, match="is too large"):
        normal(1e9)


def test_a_share_that_rounds_to_one_is_one() -> None:
    nearly = PoissonSampledEvent(event=COUNT, probability="0.99999999999999999999")
    np.testing.assert_allclose(dominating(nearly).profile(EPSILONS), dominating(COUNT).profile(EPSILONS), atol=1e-14)
    third = PoissonSampledEvent(event=FINE, probability="1/3")
    pair = sample_pair(Normal(1.0), third)
    assert isinstance(pair, SampledNormal)
    assert pair.probability >= 1 / 3


def test_parts_of_a_partition() -> None:
    one, other = RandomizedResponseEvent(epsilon=1), RandomizedResponseEvent(epsilon="0.5")
    beside = dominating(ParallelEvent(events=(one, other))).profile(EPSILONS)
    sequential = loss_distribution([(dominating(one), 1), (dominating(other), 1)]).profile(EPSILONS)
    np.testing.assert_allclose(beside[EPSILONS >= 0], sequential[EPSILONS >= 0], atol=1e-5)
    fixed = dominating(ParallelEvent(events=(one, other, other), fixed=True)).profile(EPSILONS)
    np.testing.assert_allclose(fixed, dominating(one).profile(EPSILONS), atol=1e-12)
    single = dominating(ParallelEvent(events=(one,))).profile(EPSILONS)
    np.testing.assert_allclose(single, dominating(one).profile(EPSILONS), atol=1e-12)
    normals = [GaussianEvent(variance=2**40, sensitivity_squared=s * 2**40, adjacency=ReplaceOne) for s in (9, 16, 4)]
    pair = dominating(ParallelEvent(events=normals))
    assert isinstance(pair, Normal)
    assert pair.mu == pytest.approx(5, rel=1e-9)


def test_the_worst_of_unlike_parts_covers_each() -> None:
    # Neither is worse at every epsilon: the coin has a larger loss, the noise a longer tail.
    noise = GaussianEvent(variance=4, sensitivity_squared=4, dimension=2)
    pair = dominating(ParallelEvent(events=(COUNT, noise))).profile(EPSILONS)
    for part in (COUNT, noise):
        assert (pair >= dominating(part).profile(EPSILONS) - 1e-14).all()


def test_what_has_no_pair_is_not_priced() -> None:
    cases: list[Guarantee] = [ZCDP(rho=1), RenyiDP(orders=(2,), epsilons=(1,))]
    for guarantee in cases:
        event = GuaranteedEvent(guarantee=guarantee)
        for whole in (event, ComposedEvent(events=(COUNT, event)), GroupEvent(event=event, size=1)):
            with pytest.raises(NotPricedError, match="GuaranteedEvent cannot be priced"):
                dominating(whole)


def test_what_is_pure_has_the_pair_of_randomized_response() -> None:
    group = GroupEvent(event=PoissonSampledEvent(event=COUNT, probability="1/4"), size=2)
    pair = dominating(group)
    assert isinstance(pair, Atoms)
    assert pair.losses.size == 2
    with pytest.raises(NotPricedError):
        dominating(GroupEvent(event=PoissonSampledEvent(event=FINE, probability="1/4"), size=2))
    quiet = ShuffledEvent(event=RandomizedResponseEvent(epsilon=0), reports=10)
    assert dominating(quiet).profile(np.zeros(1))[0] == 0
