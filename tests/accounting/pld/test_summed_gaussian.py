"""Sums of discrete Gaussian noises, convolved exactly, against the bounds on their form and every price."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    GDPAccountant,
    PLDAccountant,
    RenyiAccountant,
    ZCDPAccountant,
    best,
    calibrate,
    mu,
    renyi,
    rho,
)
from celosia.accounting.pld.summed_gaussian import get_slack, spread, step_change
from celosia.accounting.prices.simplify import simplify
from celosia.core import (
    ApproxDP,
    CertifiedEvent,
    GaussianEvent,
    GroupEvent,
    NotPricedError,
    PoissonSampledEvent,
    ReplacedEvent,
    ReplaceOne,
    SummedGaussianEvent,
)
from celosia.testing import Witness, divergence

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDERS = np.array([1.01, 1.5, 2.0, 4.0, 16.0, 64.0])
ACCOUNTANTS = (ZCDPAccountant, RenyiAccountant, GDPAccountant, PLDAccountant)
SHARES = st.floats(0.05, 2)
PARTS = st.integers(2, 6)


def convolve(share: float, parts: int) -> NDArray[np.float64]:
    """The probabilities of the sum, on the integers up to 14 standard deviations from 0."""
    reach = math.ceil(14 * math.sqrt(share * parts)) + 2
    alone = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * share))
    found = reduce(lambda done, _: np.convolve(done, alone / alone.sum()), range(parts), np.ones(1))
    middle = len(found) // 2
    return np.asarray(found[middle - reach : middle + reach + 1])


def price(parts: int, share: float, *, shift: int = 1, dimension: int = 1) -> SummedGaussianEvent:
    return SummedGaussianEvent(
        parts=parts, variance=parts * Fraction(share), sensitivity_squared=shift**2 * dimension, dimension=dimension
    )


def shifted(share: float, parts: int, shift: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    noise = np.pad(convolve(share, parts), shift)
    noise /= noise.sum()
    return noise, np.roll(noise, shift)


@given(SHARES, st.integers(2, 12))
def test_the_spread_is_a_bound_and_below_the_published_one(share: float, parts: int) -> None:
    found = spread(Fraction(share), parts)
    noise = convolve(share, parts)
    far = min(len(noise) // 2, max(parts, math.ceil(3 * math.sqrt(share * parts))))
    z = np.arange(-far, far + 1)
    factors = np.log(noise[z + len(noise) // 2]) + z**2 / (2 * share * parts)
    assert np.ptp(factors) <= found + 1e-11
    published = 10 * sum(math.exp(-2 * math.pi**2 * share * j / (j + 1)) for j in range(1, parts))
    assert share < 0.5 or found <= published


@given(st.floats(0.1, 1.5), st.integers(2, 60))
def test_the_change_from_step_to_step_is_a_bound(share: float, parts: int) -> None:
    noise = convolve(share, parts)
    z = np.arange(-(reach := math.ceil(8 * math.sqrt(share * parts))), reach + 1)
    factors = np.log(noise[z + len(noise) // 2]) + z**2 / (2 * share * parts)
    assert np.abs(np.diff(factors)).max() <= step_change(Fraction(share), parts) + 1e-11


@given(st.floats(0.2, 0.6), st.sampled_from([20, 60, 150]), st.integers(1, 3), st.sampled_from([0.0, 0.1, 0.4]))
def test_many_small_parts_cost_little_more_than_one_gaussian(
    share: float, parts: int, shift: int, epsilon: float
) -> None:
    event = price(parts, share, shift=shift)
    here, there = shifted(share, parts, shift)
    true = divergence([Witness(event=event, here=here, there=there)], epsilon)
    assert RenyiAccountant().spend(event).delta(epsilon) >= true * (1 - 1e-9) - 1e-12
    assert (renyi(event, ORDERS[:4]) >= compute_divergences(share, parts, shift)[:4] - 1e-9).all()


def test_a_thousand_parts_are_nearly_free() -> None:
    event = SummedGaussianEvent(parts=1000, variance=500, sensitivity_squared=9, dimension=9)
    alone = GaussianEvent(variance=500, sensitivity_squared=9, dimension=9)
    assert best(event, "1e-6").epsilon < best(alone, "1e-6").epsilon + 0.1
    assert 9 * spread(Fraction(1, 2), 1000) > 1


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25, 0.5, 1.0])
def test_the_spread_of_two_parts_is_exact(share: float) -> None:
    noise = convolve(share, 2)
    middle = len(noise) // 2
    exact = math.log(noise[middle]) - math.log(noise[middle + 1]) - 1 / (4 * share)
    assert spread(Fraction(share), 2) == pytest.approx(abs(exact), rel=1e-8)


def test_the_spread_shrinks_with_the_shares_and_grows_with_their_number() -> None:
    for parts in (2, 7, 100, 5000, 10**6):
        found = [spread(Fraction(share), parts) for share in ("0.01", "0.1", "0.3", "1", "2", "10", "10000")]
        assert sorted(found, reverse=True) == found
        assert 0 < found[-1] < 1e-290
    assert spread(Fraction(1, 10**300), 3) < math.inf
    assert spread(Fraction(1, 3), 10**6) > spread(Fraction(1, 3), 10**5)


@given(SHARES, PARTS, st.integers(1, 3), st.sampled_from([0.0, 0.3, 1.0, 2.5]))
def test_no_price_is_below_the_truth(share: float, parts: int, shift: int, epsilon: float) -> None:
    event = price(parts, share, shift=shift)
    true = divergence([Witness(event=event, here=(two := shifted(share, parts, shift))[0], there=two[1])], epsilon)
    for kind in ACCOUNTANTS:
        try:
            found = kind().spend(event).delta(epsilon)
        except NotPricedError:
            assert kind in (GDPAccountant, PLDAccountant)  # noise that is hardly a step wide
            continue
        assert found >= true * (1 - 1e-9) - 1e-12


@given(SHARES, PARTS, st.integers(1, 3))
def test_renyi_divergences_are_bounds(share: float, parts: int, shift: int) -> None:
    event = price(parts, share, shift=shift)
    exact = compute_divergences(share, parts, shift)
    assert (renyi(event, ORDERS) >= exact - 1e-9).all()
    assert (float(rho(event)) * ORDERS >= exact - 1e-9).all()


def compute_divergences(share: float, parts: int, shift: int) -> NDArray[np.float64]:
    """The Rényi divergences over the outputs that doubles hold; those left out have next to no part."""
    here, there = shifted(share, parts, shift)
    kept = (here > 1e-290) & (there > 1e-290)
    losses = np.log(here[kept]) - np.log(there[kept])
    moments = (here[kept] * np.exp(np.minimum(np.outer(ORDERS - 1, losses), 690))).sum(axis=1)
    reached = np.log(here[kept]) + np.outer(ORDERS - 1, losses)
    inside = reached.argmax(axis=1) < kept.sum() - 1  # else the mass that counts is beyond what was convolved
    return np.where(inside, np.log(moments) / (ORDERS - 1), 0.0)


def test_without_the_spread_the_price_would_be_wrong() -> None:
    share, parts = 0.09, 2  # a standard deviation of 0.3 in each part
    event, exact = price(parts, share), compute_divergences(share, parts, 1)
    alone = GaussianEvent(variance=event.variance, sensitivity_squared=1)
    assert (exact > renyi(alone, ORDERS) + 0.1).any()
    assert (exact <= renyi(event, ORDERS)).all()
    assert (exact > float(rho(alone)) * ORDERS + 0.1).any()


@given(st.floats(0.3, 1), PARTS, st.sampled_from([0.0, 0.5, 2.0]))
def test_two_coordinates_pay_twice(share: float, parts: int, epsilon: float) -> None:
    event = price(parts, share, dimension=2)
    noise, moved = shifted(share, parts, 1)
    true = divergence(
        [Witness(event=event, here=noise, there=moved), Witness(event=event, here=noise, there=moved)], epsilon
    )
    for kind in (ZCDPAccountant, RenyiAccountant):
        assert kind().spend(event).delta(epsilon) >= true * (1 - 1e-9) - 1e-12
    slack = get_slack(event)
    assert 0 < slack <= 2 * spread(Fraction(share), parts) * (1 + 1e-8)
    alone = GaussianEvent(variance=event.variance, sensitivity_squared=2, dimension=2)
    assert rho(alone) <= rho(event) <= rho(alone) + Fraction(slack) * (1 + Fraction(1, 10**12))
    assert rho(price(parts, share)) == rho(replace(price(parts, share), dimension=9))  # only one of them moves


def test_wide_noise_costs_what_a_single_gaussian_costs() -> None:
    event = SummedGaussianEvent(parts=20, variance=4000, sensitivity_squared=100, dimension=50)
    alone = GaussianEvent(variance=4000, sensitivity_squared=100, dimension=50)
    assert float(rho(event)) == pytest.approx(float(rho(alone)), rel=1e-12)
    assert mu(event) == pytest.approx(mu(alone), rel=1e-12)
    assert best(event, "1e-6").epsilon == pytest.approx(best(alone, "1e-6").epsilon, rel=1e-6)
    sampled, plain = (PoissonSampledEvent(event=one, probability="0.01") for one in (event, alone))
    assert renyi(sampled, ORDERS) == pytest.approx(renyi(plain, ORDERS), rel=1e-9)
    certified = CertifiedEvent(event=event, epsilon=1, delta="1e-6")
    assert best(certified, "1e-6").epsilons["basic"] == 1.0


@given(st.floats(0.5, 2), PARTS)
def test_both_errors_of_a_test_pay_for_the_spread(share: float, parts: int) -> None:
    event = price(parts, share, dimension=2)
    alone = GaussianEvent(variance=event.variance, sensitivity_squared=2, dimension=2)
    # A probability that grows by a factor of e^x moves the quantile by x sqrt(pi / 2) or more, in two coordinates.
    assert mu(event) >= mu(alone) + 2 * 2 * spread(Fraction(share), parts) * math.sqrt(math.pi / 2) * (1 - 1e-6)


def test_one_part_is_a_gaussian_and_real_noise_adds_up_exactly() -> None:
    one = SummedGaussianEvent(parts=1, variance="0.1", sensitivity_squared=1)
    assert rho(one) == 5
    assert renyi(one, ORDERS) == pytest.approx(5 * ORDERS)
    real = SummedGaussianEvent(parts=9, variance="0.1", sensitivity_squared=1, arithmetic="real")
    assert rho(real) == 5
    assert mu(real) == pytest.approx(math.sqrt(10))
    free = SummedGaussianEvent(parts=9, variance="0.1", sensitivity_squared=0)
    assert [float(rho(free)), mu(free), float(renyi(free, ORDERS).max())] == [0, 0, 0]


def test_groups_and_replacements_move_the_sum_further() -> None:
    event = SummedGaussianEvent(parts=3, variance=6, sensitivity_squared=2)
    assert simplify(GroupEvent(event=event, size=3)) == SummedGaussianEvent(parts=3, variance=6, sensitivity_squared=18)
    assert simplify(ReplacedEvent(event=event)) == SummedGaussianEvent(
        parts=3, variance=6, sensitivity_squared=8, adjacency=ReplaceOne
    )


@pytest.mark.parametrize("parts", [2, 10, 100])
def test_noise_is_calibrated(parts: int) -> None:
    def make(sigma: float) -> SummedGaussianEvent:
        return SummedGaussianEvent(parts=parts, variance=sigma**2, sensitivity_squared=9, dimension=9)

    found = calibrate(make, ApproxDP(epsilon=1, delta="1e-6"))
    assert best(found.event, "1e-6").epsilon <= 1 < best(make(found.too_small), "1e-6").epsilon
