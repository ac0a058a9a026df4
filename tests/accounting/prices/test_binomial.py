"""Binomial probabilities, held against factorials with many digits."""

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy import stats

from celosia.accounting.prices.binomial import binomial_masses

mp = mpmath.mp.clone()
mp.dps = 60


def exact(count: int, probability: float, successes: int) -> mpmath.mpf:
    log = mp.loggamma(count + 1) - mp.loggamma(successes + 1) - mp.loggamma(count - successes + 1)
    return mp.exp(log + successes * mp.log(probability) + (count - successes) * mp.log1p(-mp.mpf(probability)))


def test_against_factorials() -> None:
    count_cases: list[int] = [1, 2, 15, 17, 1000, 10**6, 10**8]
    probability_cases: list[float] = [1e-9, 0.01, 0.37, 0.5, 0.999]
    for count in count_cases:
        for probability in probability_cases:
            mean, width = count * probability, (count * probability * (1 - probability)) ** 0.5
            numbers = sorted(
                {min(max(round(mean + z * width), 0), count) for z in (-30, -12, -3, -0.5, 0, 0.5, 2, 8, 25)}
            )
            ours = binomial_masses(float(count), probability, np.array(numbers, dtype=np.float64))
            for number, value in zip(numbers, ours, strict=True):
                truth = exact(count, probability, number)
                assert abs(float(value) - truth) <= truth * (1e-12 + 2e-15 * abs(number - mean)) + mp.mpf("1e-300")


def test_against_scipy_and_the_total() -> None:
    number = np.arange(0.0, 301.0)
    ours = binomial_masses(300.0, 0.2, number)
    np.testing.assert_allclose(ours, stats.binom.pmf(number, 300, 0.2), rtol=1e-11)
    assert ours.sum() == pytest.approx(1, rel=1e-13)


def test_edges() -> None:
    assert binomial_masses(0.0, 0.3, np.zeros(1)).tolist() == [1.0]
    assert binomial_masses(5.0, 0.0, np.array([0.0, 1.0, 5.0])).tolist() == pytest.approx([1, 0, 0], abs=1e-290)
    assert binomial_masses(3.0, 0.5, np.array([0.0, 3.0])).tolist() == pytest.approx([0.125, 0.125])
