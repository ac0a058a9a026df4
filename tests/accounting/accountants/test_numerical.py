"""Published values of numerical composition, dp-accounting on the same events, and products of small tables."""

from __future__ import annotations

import math

import dp_accounting
import pytest
from dp_accounting import pld

from celosia.accounting import AdaptiveAccountant, GDPAccountant, PLDAccountant, PureAccountant
from celosia.core import (
    ZCDP,
    ApproxDP,
    FixedSampledEvent,
    GaussianEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PoissonSampledEvent,
    RandomizedResponseEvent,
    ReplaceOne,
)
from celosia.testing import divergence, witnesses

COUNT = LaplaceEvent(scale=10, sensitivity=1)
FINE = GaussianEvent(variance=2**40, sensitivity_squared=2**40)
STEP = PoissonSampledEvent(event=FINE, probability="0.01")


@pytest.fixture(scope="module")
def counts() -> PLDAccountant:
    return PLDAccountant().spend(COUNT, times=1000)


@pytest.fixture(scope="module")
def training() -> PLDAccountant:
    return PLDAccountant().spend(STEP, times=10_000)


def test_a_thousand_counts(counts: PLDAccountant) -> None:
    # Noise on whole counts is randomized response, whose optimal composition is known.
    optimal = PureAccountant().spend(COUNT, times=1000).epsilon(1e-5)
    assert counts.epsilon(1e-5) == pytest.approx(17.787, abs=5e-4)
    assert optimal * (1 - 1e-9) <= counts.epsilon(1e-5) <= optimal * (1 + 1e-4)
    assert counts.delta(17.787) == pytest.approx(1e-5, rel=1e-3)


def test_a_thousand_fine_counts() -> None:
    # Of continuous noise dp-accounting 0.6.0 says 17.4237.
    fine = PLDAccountant().spend(LaplaceEvent(scale=10 * 2**20, sensitivity=2**20), times=1000)
    assert 17.42 <= fine.epsilon(1e-5) <= 17.43


def test_ten_thousand_steps_of_training(training: PLDAccountant) -> None:
    # sigma = 1, q = 0.01, delta = 1e-5: between 6.1777 and 6.1977 by prv-accountant (Gopi, Lee and Wutschitz 2021);
    # 6.1877 by dp-accounting 0.6.0 on a grid of 1e-4.
    assert 6.1777 <= training.epsilon(1e-5) <= 6.20
    assert training.epsilon(1e-5) == pytest.approx(6.1877, abs=2e-3)
    assert training.delta(6.1777) <= 1.2e-5
    assert training.epsilon(1e-7) > training.epsilon(1e-5) > training.epsilon(1e-3)


def test_gaussian_noise_is_as_good_as_its_closed_form() -> None:
    for sigma, times in ((0.7, 1), (2.0, 10), (10.0, 1000)):
        event = GaussianEvent(variance=sigma**2, sensitivity_squared=1, arithmetic="real")
        exact = GDPAccountant().spend(event, times=times)
        found = PLDAccountant().spend(event, times=times)
        for delta in (1e-3, 1e-6, 1e-9):
            assert exact.epsilon(delta) * (1 - 1e-9) <= found.epsilon(delta) <= exact.epsilon(delta) * (1 + 2e-4)


def test_unlike_steps_cost_what_dp_accounting_says() -> None:
    reference = pld.PLDAccountant(value_discretization_interval=1e-4)
    reference.compose(dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.0)), 100)
    reference.compose(dp_accounting.LaplaceDpEvent(5.0), 10)
    step = PoissonSampledEvent(
        event=GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real"), probability="0.1"
    )
    found = (
        PLDAccountant().spend(step, times=100).spend(LaplaceEvent(scale=5, sensitivity=1, arithmetic="real"), times=10)
    )
    assert found.epsilon(1e-5) == pytest.approx(reference.get_epsilon(1e-5), rel=2e-3)
    assert found.delta(2) == pytest.approx(reference.get_delta(2), rel=2e-2)


def test_samples_of_fixed_size_cost_what_dp_accounting_says() -> None:
    # Replace-one, sigma = 1, q = 0.01, 10,000 steps: 10.881 by dp-accounting 0.6.0, whose noise is stated for twice the
    # sensitivity of one record; without replacement, Zhu, Dong and Wang 2022.
    event = GaussianEvent(variance=2**40, sensitivity_squared=4 * 2**40, adjacency=ReplaceOne)
    found = PLDAccountant().spend(FixedSampledEvent(event=event, size=1, population=100), times=10_000)
    assert found.epsilon(1e-5) > 10.881


def test_long_products_of_tables_are_covered_and_hardly_more() -> None:
    known = {witness.event: witness for witness in witnesses()}
    for event, times in ((RandomizedResponseEvent(epsilon=1), 12), (LaplaceEvent(scale=2, sensitivity=3), 6)):
        spent = PLDAccountant().spend(event, times=times)
        for epsilon in (0.0, 0.7, 2.0, 5.0):
            truth = divergence([known[event]] * times, epsilon)
            assert truth * (1 - 1e-12) <= spent.delta(epsilon) <= truth * (1 + 1e-3) + 1e-12


def test_parts_of_a_partition() -> None:
    one, other = RandomizedResponseEvent(epsilon=1), RandomizedResponseEvent(epsilon="0.5")
    beside = PLDAccountant().spend(ParallelEvent(events=(one, other)))
    sequential = PLDAccountant().spend(one).spend(other)
    assert beside.epsilon(1e-3) == pytest.approx(sequential.epsilon(1e-3), rel=1e-3)
    fixed = PLDAccountant().spend(ParallelEvent(events=(one, other), fixed=True))
    assert fixed.epsilon(1e-3) == pytest.approx(PLDAccountant().spend(one).epsilon(1e-3), rel=1e-9)


def test_an_answer_is_not_computed_twice(counts: PLDAccountant) -> None:
    first = counts._distribution()
    counts.delta(3)
    assert counts._distribution() is first
    twin = PLDAccountant().spend(COUNT)
    before = twin._distribution()
    assert twin.spend(COUNT)._distribution() is not before


def test_it_is_no_accountant_for_filters() -> None:
    assert not issubclass(PLDAccountant, AdaptiveAccountant)


def test_what_no_epsilon_takes_away_is_said() -> None:
    leaky = PLDAccountant().spend(GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")), times=10)
    with pytest.raises(NotPricedError, match="smaller than these events can guarantee"):
        leaky.epsilon("1e-6")
    assert leaky.delta(1000) == pytest.approx(1e-5, rel=1e-3)
    assert math.isfinite(leaky.epsilon("1e-4"))


def test_what_has_no_distribution_is_not_priced() -> None:
    with pytest.raises(NotPricedError):
        PLDAccountant().spend(GuaranteedEvent(guarantee=ZCDP(rho=1)))
    many = PLDAccountant().spend(COUNT, times=2**51)
    with pytest.raises(NotPricedError, match="No privacy-loss distribution can be computed"):
        many.epsilon(1e-5)
    assert many.events == ((COUNT, 2**51),)
