"""Chi-square accepts the stated distribution and rejects one that is off."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from celosia.core import ConformanceError, ParameterError
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Seeded
from celosia.testing import check_distribution, chi_square

if TYPE_CHECKING:
    from numpy.typing import NDArray


def test_exact_samplers_are_cleared_and_ten_per_cent_are_not() -> None:
    cases: list[str] = ["0.3", "1", "10", "1000"]
    for scale in cases:
        draws = DiscreteLaplace(scale).sample(100_000, Seeded(1))
        assert check_distribution(draws, DiscreteLaplace(scale).log_mass) > 1e-3
        with pytest.raises(ConformanceError, match=r"p-value of .* below 1e-06"):
            check_distribution(draws, DiscreteLaplace(Fraction(scale) * Fraction(9, 10)).log_mass)


def test_other_shapes() -> None:
    assert check_distribution(DiscreteGaussian(9).sample(50_000, Seeded(2)), DiscreteGaussian(9).log_mass) > 1e-3
    assert check_distribution(Geometric(5).sample(50_000, Seeded(3)), Geometric(5).log_mass) > 1e-3
    with pytest.raises(ConformanceError):
        check_distribution(DiscreteGaussian(9).sample(50_000, Seeded(2)), DiscreteGaussian("9.9").log_mass)


def test_a_wrong_tail_is_seen() -> None:
    noise = DiscreteLaplace(10)
    draws = noise.sample(200_000, Seeded(4))
    clipped = np.clip(draws, -60, 60)
    assert check_distribution(draws, noise.log_mass) > 1e-3
    with pytest.raises(ConformanceError):
        check_distribution(clipped, noise.log_mass)


def test_p_values_are_uniform() -> None:
    noise = DiscreteLaplace(3)
    source = Seeded(5)
    p_values = [check_distribution(noise.sample(2_000, source), noise.log_mass) for _ in range(200)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_a_draw_that_is_impossible_is_reported() -> None:
    def coin(values: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where((values == 0) | (values == 1), math.log(0.5), -math.inf)

    assert check_distribution(np.arange(1_000) % 2, coin) == 1
    with pytest.raises(ConformanceError, match="probability is zero"):
        check_distribution(np.arange(1_000) % 3, coin)


def test_masses_that_do_not_add_up_are_reported() -> None:
    noise = DiscreteLaplace(1)
    draws = noise.sample(1_000, Seeded(6))
    with pytest.raises(ConformanceError, match=r"add up to 1\.09"):
        check_distribution(draws, lambda values: noise.log_mass(values) + math.log(1.1))
    with pytest.raises(ConformanceError, match=r"reach only 0\.9"):
        check_distribution(draws, lambda values: noise.log_mass(values) + math.log(0.9))


def test_what_are_no_whole_numbers_is_refused() -> None:
    cases: list[list[object]] = [[], [0.5], [[1, 2]], ["a"]]
    for draws in cases:
        with pytest.raises(ParameterError, match="draws"):
            check_distribution(np.array(draws), DiscreteLaplace(1).log_mass)


def test_chi_square_agrees_with_scipy() -> None:
    observed, probabilities = np.array([120, 260, 310, 310]), np.array([0.1, 0.25, 0.3, 0.35])
    assert chi_square(observed, probabilities) == pytest.approx(stats.chisquare(observed, probabilities * 1_000).pvalue)


def test_small_cells_are_pooled() -> None:
    # One draw in a cell of expectation 0.001 would ruin an unpooled statistic.
    assert chi_square([500, 499, 1], [0.5, 0.499999, 0.000001]) > 0.5


def test_draws_outside_the_table_count_against_it() -> None:
    assert chi_square([500, 500], [0.5, 0.5], outside=1) == 0
    assert chi_square([500, 500], [0.5, 0.5 - 1e-12], outside=1) < 1e-6
    assert chi_square([450, 450], [0.45, 0.45], outside=100) > 0.1
    assert chi_square([450, 450], [0.45, 0.45], outside=0) < 1e-6


def test_chi_square_refuses_what_does_not_fit() -> None:
    with pytest.raises(ParameterError, match="one length"):
        chi_square([1, 2], [0.5, 0.25, 0.25])
    with pytest.raises(ParameterError, match="one draw"):
        chi_square([0, 0], [0.5, 0.5])
