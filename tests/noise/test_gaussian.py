"""Discrete Gaussian noise: its probabilities against dp-accounting and plain sums; its margins and moments."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import DiscreteGaussianPrivacyLoss

from celosia.core import CelosiaError
from celosia.noise import DiscreteGaussian, Seeded
from celosia.noise.gaussian import log_normaliser

SIGMAS = ["0.1", "0.3", "0.9", "1", "1.1", "7/3", "10", "300"]


def summed(sigma: float) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[float]]:
    """Return numbers, and their probabilities from a plain sum of all weights."""
    reach = math.ceil(13 * sigma) + 1
    values = np.arange(-reach, reach + 1)
    weights = [math.exp(-(k**2) / (2 * sigma**2)) for k in values.tolist()]
    total = math.fsum(weights)
    return values, [weight / total for weight in weights]


def test_probabilities_are_those_of_the_plain_sum() -> None:
    for sigma in SIGMAS:
        values, masses = summed(float(Fraction(sigma)))
        noise = DiscreteGaussian(Fraction(sigma) ** 2)
        assert np.exp(noise.log_mass(values)) == pytest.approx(masses, rel=1e-11, abs=1e-300)


def test_probabilities_are_those_of_dp_accounting() -> None:
    for sigma in (0.5, 1.0, 4.0, 25.0):
        # Google's accountant normalises the distribution of Canonne, Kamath and Steinke 2020 over 11.6 sigma.
        oracle = DiscreteGaussianPrivacyLoss(sigma)
        noise = DiscreteGaussian(Fraction(sigma) ** 2)
        for number in range(-math.ceil(3 * sigma), math.ceil(3 * sigma) + 1):
            below = np.exp(noise.log_mass(np.arange(-math.ceil(11 * sigma), number + 1))).sum()
            assert oracle.noise_cdf(number) == pytest.approx(below, rel=1e-9)


def check_a_margin_is_the_smallest_that_covers(sigma: str, level: float) -> None:
    noise = DiscreteGaussian(Fraction(sigma) ** 2)
    margin = noise.margin(level)

    def covered(reach: int) -> float:
        if reach < 0:
            return 0.0
        return float(2 * np.exp(noise.log_mass(np.arange(reach, 0, -1))).sum() + np.exp(noise.log_mass(0)))

    assert covered(margin) >= level - 1e-10
    assert covered(margin - 1) < level + 1e-10


def test_a_margin_is_the_smallest_that_covers(*, thorough: bool) -> None:
    sigma_cases: list[str] = [*SIGMAS, "2000", "1e6" if thorough else "1e5"]
    level_cases: list[float] = [0.01, 0.5, 0.95, 0.999, 1 - 1e-9]
    for sigma, level in product(sigma_cases, level_cases):
        check_a_margin_is_the_smallest_that_covers(sigma, level)


def test_the_normaliser_is_the_plain_sum() -> None:
    for variance in ("0.01", "0.5", "0.999999", "1", "1.000001", "50"):
        number = float(Fraction(variance))
        total = math.fsum(math.exp(-k * k / (2 * number)) for k in range(-200, 201))
        assert log_normaliser(number) == pytest.approx(math.log(total), rel=1e-14, abs=1e-15)


def test_moments_are_the_published_ones() -> None:
    for variance in ("0.25", "1", "100"):
        sigma2 = float(Fraction(variance))
        values, masses = summed(math.sqrt(sigma2))
        true = math.fsum(mass * k * k for k, mass in zip(values.tolist(), masses, strict=True))
        # Canonne, Kamath and Steinke 2020: it is at most sigma^2 (1 - x / (e^x - 1)), with x = 4 pi^2 sigma^2.
        x = 4 * math.pi**2 * sigma2
        assert true <= sigma2 * (1 - x * math.exp(-x) / -math.expm1(-x)) * (1 + 1e-12)
        # Poisson's formula gives the first term of what is missing: 2 x exp(-x / 2).
        assert true == pytest.approx(sigma2 * (1 - 2 * x * math.exp(-x / 2)), rel=5e-3)
        drawn = DiscreteGaussian(variance).sample(1_000_000, Seeded(7)).astype(np.float64)
        assert abs(drawn.mean()) < 5 * math.sqrt(true / 1e6)
        fourth = math.fsum(mass * k**4 for k, mass in zip(values.tolist(), masses, strict=True))
        assert drawn.var() == pytest.approx(true, abs=5 * math.sqrt((fourth - true**2) / 1e6))


def test_values_and_refusals() -> None:
    assert DiscreteGaussian("0.1") == DiscreteGaussian(Fraction(1, 10))
    assert DiscreteGaussian("0.1")._cells.quadratic == 5
    assert repr(DiscreteGaussian(9)) == "DiscreteGaussian(variance=Fraction(9, 1))"
    assert not DiscreteGaussian(2.0**-1022).sample(1000, Seeded(7)).any()
    assert DiscreteGaussian(2**990).draw(Seeded(7)).bit_length() > 450
    assert DiscreteGaussian(10).sample(0).shape == (0,)
    assert isinstance(DiscreteGaussian(10).draw(), int)
    with pytest.raises(CelosiaError, match="one by one"):
        DiscreteGaussian(2**120).sample(3)
    for variance in (0, -1, float("nan"), float("inf"), 2.0**1022):
        with pytest.raises(CelosiaError):
            DiscreteGaussian(variance)
