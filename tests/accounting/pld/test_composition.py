"""Composed loss distributions against exact compositions, published values and dp-accounting."""

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.accounting.pld.atoms import discrete_laplace, randomized_response
from celosia.accounting.pld.composition import LossDistribution
from celosia.accounting.pld.discretise import Pair
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal
from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

DELTA = 1e-5


def sampled(mu: float, probability: float) -> tuple[Pair, Pair]:
    return (
        SampledNormal(mu=mu, probability=probability, kind="remove"),
        SampledNormal(mu=mu, probability=probability, kind="add"),
    )


def composed(*pairs: tuple[Pair, int]) -> LossDistribution:
    return LossDistribution.of([(pair, pair, times) for pair, times in pairs])


def optimal_composition(epsilon0: float, times: int, epsilon: float) -> float:
    """Kairouz, Oh and Viswanath 2015: the exact delta of ``times`` pure mechanisms, in 40 digits."""
    with mpmath.workdps(40):
        step, at = mpmath.mpf(epsilon0), mpmath.mpf(epsilon)
        p = 1 / (1 + mpmath.exp(-step))
        total = mpmath.mpf(0)
        for heads in range(times + 1):
            loss = (2 * heads - times) * step
            if loss > at:
                weight = mpmath.binomial(times, heads) * p**heads * (1 - p) ** (times - heads)
                total += weight * (1 - mpmath.exp(at - loss))
        return float(total)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle and Wang 2018, theorem 8, in 40 digits."""
    with mpmath.workdps(40):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


# ------------------------------------------------------------------------------------------------ published values


def test_the_sampled_gaussian_lies_within_the_published_bounds() -> None:
    # Gopi, Lee and Wutschitz 2021 (prv-accountant): between 6.1777 and 6.1977; dp-accounting's own, 6.1877.
    forward, backward = sampled(1.0, 0.01)
    found = LossDistribution.of([(forward, backward, 10_000)])
    assert 6.1777 <= found.epsilon(DELTA) <= 6.20
    assert found.epsilon(DELTA) == pytest.approx(6.18774, abs=2e-4)
    assert found.forward.epsilon(DELTA) > found.backward.epsilon(DELTA)


def test_a_thousand_laplace_answers() -> None:
    assert 17.42 <= composed((discrete_laplace(10 * 2**10, 2**10), 1000)).epsilon(DELTA) <= 17.43


def test_a_thousand_coins_are_the_optimal_composition() -> None:
    found = composed((randomized_response(0.1), 1000))
    assert round(found.epsilon(DELTA), 3) == 17.787
    for epsilon in (1.0, 5.0, 10.0, 17.0, 20.0, 25.0):
        exact = optimal_composition(0.1, 1000, epsilon)
        assert exact <= found.delta(epsilon) <= exact * (1 + 1e-4)
    assert optimal_composition(0.1, 1000, found.epsilon(DELTA) - 1e-6) > DELTA


def test_normals_compose_to_a_normal() -> None:
    cases: list[int] = [1, 100, 10**4, 10**6]
    for times in cases:
        found = composed((Normal(mu=1.0), times))
        mu = math.sqrt(times)
        for deviations in (0.0, 2.0, 4.0, 5.0):
            epsilon = times / 2 + deviations * mu
            assert gaussian_delta(mu, epsilon) <= found.delta(epsilon)
            raised = epsilon * (1 + 1e-4) + 1e-4
            assert found.delta(raised) <= gaussian_delta(mu, epsilon)


def test_noise_one_tenth_smaller_is_noticed() -> None:
    assert composed((Normal(mu=0.9), 100)).delta(60.0) < gaussian_delta(10.0, 60.0)


# --------------------------------------------------------------------------------------------------- dp-accounting


def test_different_mechanisms_agree_with_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as theirs

    forward, backward = sampled(1.0, 0.1)
    fine = discrete_laplace(10 * 2**10, 2**10)
    ours = LossDistribution.of([(forward, backward, 100), (Normal(mu=0.2), Normal(mu=0.2), 20), (fine, fine, 50)])
    whole = (
        theirs.from_gaussian_mechanism(1.0, sampling_prob=0.1)
        .self_compose(100)
        .compose(theirs.from_gaussian_mechanism(5.0).self_compose(20))
        .compose(theirs.from_laplace_mechanism(10.0).self_compose(50))
    )
    for delta in (1e-2, 1e-5, 1e-7):
        assert ours.epsilon(delta) == pytest.approx(whole.get_epsilon_for_delta(delta), rel=2e-4)


def test_samples_of_fixed_size_are_between_the_gaussian_and_its_add_remove_sampling() -> None:
    fixed = composed((SampledNormal(mu=1.0, probability=0.01, kind="fixed"), 1000)).epsilon(DELTA)
    forward, backward = sampled(1.0, 0.01)
    assert LossDistribution.of([(forward, backward, 1000)]).epsilon(DELTA) < fixed
    assert fixed < composed((Normal(mu=1.0), 1000)).epsilon(DELTA) / 10


# ------------------------------------------------------------------------------------------------------------ laws

PAIRS = [randomized_response(0.5), randomized_response(1.5), discrete_laplace(2.0, 3), Normal(mu=0.5), Normal(mu=2.0)]
parts = st.lists(st.tuples(st.sampled_from(PAIRS), st.integers(1, 40)), min_size=1, max_size=3)


def enumerated(pairs: list[Atoms], epsilon: float) -> float:
    """The hockey-stick divergence of a product, outcome by outcome."""
    total = 1 - math.prod(1 - pair.infinity for pair in pairs)
    for index in itertools.product(*(range(len(pair.losses)) for pair in pairs)):
        loss = math.fsum(float(pair.losses[i]) for pair, i in zip(pairs, index, strict=True))
        mass = math.prod(float(pair.masses[i]) for pair, i in zip(pairs, index, strict=True))
        total += mass * -math.expm1(min(0.0, epsilon - loss))
    return total


LEAKY = Atoms(
    losses=np.array([-0.2, 0.7]),
    masses=np.array([0.6, 0.395]),
    infinity=0.005,
    missing=1 - 0.6 * math.exp(0.2) - 0.395 * math.exp(-0.7),
)


@settings(deadline=None, max_examples=20)
@given(
    st.lists(
        st.sampled_from([randomized_response(0.5), randomized_response(1.5), discrete_laplace(2.0, 3), LEAKY]),
        min_size=1,
        max_size=4,
    ),
    st.floats(-1.0, 4.0),
)
def test_small_products_are_bounded_from_above_and_closely(pairs: list[Atoms], epsilon: float) -> None:
    exact = enumerated(pairs, epsilon)
    found = float(LossDistribution.of([(pair, pair, 1) for pair in pairs]).delta(epsilon))
    assert exact * (1 - 1e-12) <= found <= exact + 1e-3


@settings(deadline=None, max_examples=12)
@given(parts, st.floats(1e-9, 0.1))
def test_epsilon_keeps_to_delta(pairs: list[tuple[Pair, int]], delta: float) -> None:
    found = composed(*pairs)
    assert found.delta(found.epsilon(delta)) <= delta
    profile = found.profile(np.linspace(-5, 30, 50))
    assert np.all(np.diff(profile) <= 0)
    assert np.all((profile >= 0) & (profile <= 1))


@settings(deadline=None, max_examples=7)
@given(parts)
def test_more_repetitions_cost_more(pairs: list[tuple[Pair, int]]) -> None:
    more = [(pair, times + 1) for pair, times in pairs]
    assert composed(*more).epsilon(1e-6) >= composed(*pairs).epsilon(1e-6)


@settings(deadline=None, max_examples=7)
@given(parts)
def test_order_does_not_matter_and_equal_pairs_are_counted(pairs: list[tuple[Pair, int]]) -> None:
    one = composed(*pairs).epsilon(1e-6)
    assert composed(*reversed(pairs)).epsilon(1e-6) == pytest.approx(one, rel=1e-6)
    split = [part for pair, times in pairs for part in ((pair, 1), (pair, times))]
    counted = composed(*[(pair, times + 1) for pair, times in pairs])
    assert composed(*split).epsilon(1e-6) == pytest.approx(counted.epsilon(1e-6), rel=1e-9)


@settings(deadline=None, max_examples=5)
@given(parts)
def test_a_pair_that_tells_nothing_changes_next_to_nothing(pairs: list[tuple[Pair, int]]) -> None:
    nothing = Atoms(losses=np.zeros(1), masses=np.ones(1))
    before = composed(*pairs).epsilon(1e-6)
    assert composed(*pairs, (nothing, 5)).epsilon(1e-6) == pytest.approx(before, rel=1e-3)


# --------------------------------------------------------------------------------------------------- other properties


def test_both_directions_count() -> None:
    forward, backward = sampled(1.0, 0.2)
    one, other = LossDistribution.of([(forward, backward, 20)]), LossDistribution.of([(backward, forward, 20)])
    assert one.epsilon(DELTA) == pytest.approx(other.epsilon(DELTA), rel=1e-9)
    assert one.delta(0.5) == max(float(curve.delta(np.array([0.5]))[0]) for curve in (one.forward, one.backward))


def test_a_very_large_loss_needs_no_larger_memory() -> None:
    found = composed((randomized_response(1e4), 1), (randomized_response(0.1), 10))
    assert len(found.forward.cells.masses) < 2**21
    assert 1e4 <= found.epsilon(DELTA) <= 1.001e4 + 1


def test_small_deltas_are_certified_after_many_repetitions() -> None:
    forward, backward = sampled(1.0, 0.01)
    found = LossDistribution.of([(forward, backward, 10**6)])
    assert found.floor < 1e-12
    assert found.epsilon(1e-10) < 1.01 * 166.83


@pytest.mark.parametrize(
    "pair", [sampled(1.0, 0.2), (randomized_response(0.5), randomized_response(0.5)), (LEAKY, LEAKY.swap())], ids=str
)
@pytest.mark.parametrize("times", [1, 7, 300])
def test_the_composition_as_atoms_has_the_same_curves(pair: tuple[Pair, Pair], times: int) -> None:
    found = LossDistribution.of([(*pair, times)])
    forward, backward = found.atoms()
    epsilons = np.linspace(2 * found.interval, 3.0, 20)
    for atoms, curve in ((forward, found.forward), (backward, found.backward)):
        assert atoms.profile(epsilons) == pytest.approx(curve.delta(epsilons), rel=1e-6, abs=1e-12)
    assert forward.masses.sum() + forward.infinity == pytest.approx(1.0, abs=1e-12)


def test_atoms_are_bounds_in_both_directions() -> None:
    for times in (2, 7, 50):
        forward, backward = composed((randomized_response(0.5), times)).atoms()
        for epsilon in (0.0, 0.3, 1.0, 2.5):
            exact = optimal_composition(0.5, times, epsilon)
            mirrored = 1 - math.exp(-epsilon) + math.exp(-epsilon) * exact
            for atoms in (forward, backward):
                above, below = atoms.profile([epsilon, -epsilon])
                assert exact <= above <= exact * (1 + 1e-4) + 1e-12
                assert mirrored <= below * (1 + 1e-12) <= mirrored * (1 + 1e-4) + 1e-12


def test_a_composition_of_a_composition_is_the_composition() -> None:
    forward, backward = sampled(1.0, 0.2)
    block = LossDistribution.of([(forward, backward, 50)]).atoms()
    twice = LossDistribution.of([(*block, 4)])
    whole = LossDistribution.of([(forward, backward, 200)])
    assert whole.epsilon(DELTA) * (1 - 1e-6) <= twice.epsilon(DELTA) <= whole.epsilon(DELTA) * 1.001


def test_an_interval_may_be_given() -> None:
    found = LossDistribution.of([(randomized_response(0.1), randomized_response(0.1), 100)], interval=0.01)
    assert found.interval == 0.01
    assert found.epsilon(DELTA) == pytest.approx(composed((randomized_response(0.1), 100)).epsilon(DELTA), rel=1e-6)


# ------------------------------------------------------------------------------------------------------- bad input

HERE = randomized_response(0.1)


def test_bad_compositions_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (composed, "pairs must not be empty"),
        (lambda: composed((HERE, 0)), "times must be at least 1, not 0"),
        (lambda: composed((HERE, -3)), "times must be at least 1, not -3"),
        (lambda: composed((HERE, 1.5)), r"times must be an integer, not 1\.5"),  # type: ignore[arg-type]
        (lambda: composed((HERE, 2**60)), r"times must be at most 2\^50"),
        (lambda: LossDistribution.of([(HERE, HERE, 1)], interval=0.0), r"interval must be positive, not 0\.0"),
        (lambda: LossDistribution.of([(HERE, HERE, 1)], interval=math.nan), "interval must be positive, not nan"),
        (lambda: LossDistribution.of([(HERE, HERE, 1)], interval=1e-12), "interval must leave"),
        (lambda: LossDistribution.of([(HERE, HERE, 1)], cells=10), "cells must be between"),
    ]
    for call, words in cases:
        with pytest.raises(ParameterError, match=words):
            call()


def test_bad_deltas_are_refused() -> None:
    cases: list[float] = [0.0, 1.0, -1e-5, 2.0, math.nan, math.inf, True]
    for value in cases:
        with pytest.raises(ParameterError, match="delta must be greater than 0 and less than 1"):
            composed((HERE, 1)).epsilon(value)


def test_bad_epsilons_are_refused() -> None:
    cases: list[float] = [math.nan, math.inf, -math.inf, True]
    for value in cases:
        found = composed((HERE, 1))
        with pytest.raises(ParameterError, match="epsilon must be a finite number"):
            found.delta(value)


def test_a_delta_below_the_floor_is_refused() -> None:
    found = LossDistribution.of([(LEAKY, LEAKY, 10)])
    ask = partial(found.epsilon, 0.01)
    with pytest.raises(ParameterError, match=r"delta must be at least 0\.0489"):
        ask()


def test_atoms_of_tiny_losses_keep_their_digits() -> None:
    for size in (1e-5, 1e-7, 1e-9, 1e-11):
        # The masses in the middle differ by the divergence at 0, which is far below the rounding of 1.
        with mpmath.workdps(40):
            p = [mpmath.mpf(share) for share in ("0.1", "0.6", "0.3")]
            q = [p[0] * mpmath.exp(-size), p[1] * mpmath.exp(size / 3)]
            q.append(1 - sum(q))
            found = sorted((float(mpmath.log(a / b)), float(a)) for a, b in zip(p, q, strict=True))
            exact = float(sum(max(a - b, 0) for a, b in zip(p, q, strict=True)))
        losses, masses = np.array(found).T
        step = Atoms(losses=losses, masses=masses)
        for pair in LossDistribution.of([(step, step.swap(), 1)]).atoms():
            assert exact <= pair.profile([0.0])[0] <= exact * (1 + 1e-9)
