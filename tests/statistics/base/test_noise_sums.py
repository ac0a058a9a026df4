"""Bounds on sums of noises: never below what exact convolution, or a simulation, says."""

import math

import numpy as np
import pytest
from scipy import optimize, signal, stats

from celosia.core import ParameterError
from celosia.mechanisms import Gaussian, KNorm, Laplace
from celosia.noise import Seeded
from celosia.statistics.base.noise_sums import sum_margin


def test_the_tail_beyond_is_no_larger() -> None:
    failure_cases: list[float] = [0.2, 0.01, 1e-6]
    count_cases: list[int] = [1, 2, 10, 40]
    scale_cases: list[str] = ["0.2", "1", "3"]
    for failure in failure_cases:
        for count in count_cases:
            for scale in scale_cases:
                mechanism = Laplace(scale=scale, sensitivity=1)
                law = stats.dlaplace(1 / float(scale))  # SciPy's discrete Laplace distribution
                masses = np.ones(1)
                for _ in range(count):
                    masses = signal.fftconvolve(masses, law.pmf(np.arange(-150, 151)))
                sums = np.arange(masses.size) - masses.size // 2
                margin = sum_margin(mechanism, count, failure)
                beyond = float(masses[sums > margin].sum())
                assert beyond <= failure + 1e-12
                if failure == 0.01 and count > 1 and scale != "0.2":
                    assert beyond > failure / 60  # not idly large


@pytest.mark.parametrize(("scale", "count"), [("0.5", 3), ("2", 100), ("7", 5_000)])
def test_it_is_the_best_of_its_kind(scale: str, count: int) -> None:
    reach = np.arange(-2_000, 2_001)
    masses = stats.dlaplace(1 / float(scale)).logpmf(reach)

    def bound(share: float) -> float:
        s = share / float(scale)
        return (count * math.log(float(np.sum(np.exp(masses + s * reach)))) - math.log(0.01)) / s

    best = optimize.minimize_scalar(bound, bounds=(1e-4, 0.95), method="bounded").fun
    assert sum_margin(Laplace(scale=scale, sensitivity=1), count, 0.01) == pytest.approx(best, rel=1e-3)


def test_gaussian_sums() -> None:
    mechanism = Gaussian(rho="0.125", sensitivity=1)
    draws = mechanism.release(np.zeros((4_000, 50), dtype=np.int64), source=Seeded(7)).value.sum(axis=1)
    assert np.mean(draws > sum_margin(mechanism, 50, 0.1)) < 0.1
    assert sum_margin(mechanism, 50, 0.1) == pytest.approx(math.sqrt(2 * 50 * 4 * math.log(10)))


def test_noise_that_is_drawn_together_is_refused() -> None:
    with pytest.raises(ParameterError, match="one by one"):
        sum_margin(KNorm(epsilon=1, sensitivity=10, width=2), 10, 0.05)
