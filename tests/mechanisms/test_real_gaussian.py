"""RealGaussian: normal to the eye of SciPy, fine beyond the digits of anybody's statistic, and no mechanism."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import ParameterError
from celosia.mechanisms.real_gaussian import RealGaussian
from celosia.noise import DiscreteGaussian, Seeded


def test_draws_are_normal() -> None:
    for sigma in ("1", "0.001", "1e-9", "3.7", "1e12", "1/3"):
        draws = RealGaussian(sigma).sample(200_000, source=Seeded(11)) / float(Fraction(sigma))
        assert stats.kstest(draws, "norm").pvalue > 0.001
        assert draws.std() == pytest.approx(1, abs=0.006)
        assert abs(draws.mean()) < 0.009


def test_ten_per_cent_too_little_noise_is_noticed() -> None:
    draws = 0.9 * RealGaussian(1).sample(200_000, source=Seeded(11))
    assert stats.kstest(draws, "norm").pvalue < 1e-9


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_the_grid_is_a_power_of_two_far_below_sigma(sigma: Fraction) -> None:
    step = RealGaussian(sigma).step
    assert 2**48 <= sigma / step < 2**49
    assert step.numerator & (step.numerator - 1) == 0
    assert step.denominator & (step.denominator - 1) == 0


def test_draws_are_those_of_the_exact_sampler() -> None:
    noise = RealGaussian("0.7")
    steps = DiscreteGaussian((noise.sigma / noise.step) ** 2).sample(1000, Seeded(3))
    assert np.array_equal(noise.sample(1000, source=Seeded(3)) / float(noise.step), steps)
    assert np.unique(steps % 1024).size > 500  # the low digits are noise too


def test_shapes_and_repetition() -> None:
    noise = RealGaussian(1)
    assert noise.sample((4, 5, 2), source=Seeded(1)).shape == (4, 5, 2)
    assert noise.sample((0, 3)).shape == (0, 3)
    assert np.array_equal(noise.sample((10, 2), source=Seeded(1)).ravel(), noise.sample(20, source=Seeded(1)))
    assert not np.array_equal(noise.sample(20), noise.sample(20))


def test_it_has_no_guarantee() -> None:
    assert not hasattr(RealGaussian(1), "release")
    assert not hasattr(RealGaussian(1), "event")
    assert not hasattr(RealGaussian(1), "guarantee")


def test_sigma_is_a_positive_number() -> None:
    cases: list[Any] = [0, -1, float("nan"), float("inf"), True, None, "wide", [1.0]]
    for sigma in cases:
        with pytest.raises(ParameterError, match="sigma"):
            RealGaussian(sigma)


def test_a_shape_is_whole_numbers() -> None:
    cases: list[Any] = [-1, 2.0, (3, -1), (True,), "3", None]
    for shape in cases:
        with pytest.raises(ParameterError, match="shape"):
            RealGaussian(1).sample(shape)
