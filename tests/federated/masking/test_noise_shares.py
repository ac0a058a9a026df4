"""Shares of noise: enough in every sum that is shown, and priced as what they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import GDPAccountant, RenyiAccountant
from celosia.core import ParameterError, ReplaceOne, SummedGaussianEvent
from celosia.federated import NoiseShares, sum_masked
from celosia.noise import DiscreteGaussian, Seeded
from celosia.testing import Witness, divergence
from tests.accounting.pld.test_summed_gaussian import shifted

if TYPE_CHECKING:
    from fractions import Fraction


@given(st.integers(1, 12), st.integers(0, 5), st.integers(0, 5), st.fractions(min_value="0.1", max_value=1000))
def test_the_parts_that_count_have_the_variance(parties: int, colluders: int, silent: int, variance: Fraction) -> None:
    if parties <= colluders + silent:
        with pytest.raises(ParameterError):
            NoiseShares(variance=variance, parties=parties, colluders=colluders, silent=silent)
        return
    shares = NoiseShares(variance=variance, parties=parties, colluders=colluders, silent=silent)
    assert shares.share * (parties - colluders - silent) == variance
    event = shares.make_event(sensitivity_squared=2, dimension=3, grid="1/8", adjacency=ReplaceOne, unit="person")
    assert event == SummedGaussianEvent(
        parts=parties - colluders - silent, variance=variance, sensitivity_squared=2, dimension=3, grid="1/8",
        adjacency=ReplaceOne, unit="person",
    )  # fmt: skip


@pytest.mark.parametrize(("colluders", "silent"), [(0, 0), (2, 0), (0, 3), (2, 2)])
@pytest.mark.parametrize("variance", [4, 16])
def test_the_noise_of_honest_survivors_is_worth_its_price(variance: int, colluders: int, silent: int) -> None:
    shares = NoiseShares(variance=variance, parties=6, colluders=colluders, silent=silent)
    event = shares.make_event(sensitivity_squared=1)
    for survivors in range(6 - colluders - silent, 7 - colluders):
        here, there = shifted(float(shares.share), survivors, 1)
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            true = divergence([Witness(event=event, here=here, there=there)], epsilon)
            for kind in (GDPAccountant, RenyiAccountant):
                assert kind().spend(event).delta(epsilon) >= true * (1 - 1e-9)


def test_a_party_draws_its_share() -> None:
    shares = NoiseShares(variance=90, parties=5, silent=2)
    assert np.array_equal(shares.draw(1000, Seeded(7)), DiscreteGaussian(30).sample(1000, Seeded(7)))
    total = sum(shares.draw(20_000, Seeded(seed)) for seed in range(3))
    # 60,000 squares: relative deviation of their mean 0.01, so six of them are exceeded with probability 2e-9.
    assert abs(float(np.mean(np.square(total))) / 90 - 1) < 6 * math.sqrt(2 / 20_000)


def test_masked_noise_is_the_sum_of_its_shares() -> None:
    shares = NoiseShares(variance=1000, parties=4, silent=1)
    noises = {name: shares.draw(5, Seeded(seed)) for seed, name in enumerate("abcd")}
    found = sum_masked({name: noise + 7 for name, noise in noises.items()}, threshold=3, silent={"b": "numbers"})
    assert (found.total - 21).tolist() == (noises["a"] + noises["c"] + noises["d"]).tolist()


def test_bad_shares_are_refused() -> None:
    bad: list[dict[str, Any]] = [
        {"variance": 0}, {"parties": 0}, {"colluders": -1}, {"silent": 1.0}, {"silent": 3}, {"colluders": 3},
    ]  # fmt: skip
    for changed in bad:
        with pytest.raises(ParameterError):
            NoiseShares(**{"variance": 1, "parties": 3} | changed)
