"""The individual risk against published numbers, arbitrary precision, the posterior itself, and a simulated census."""

from __future__ import annotations

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.anonymity.risk import estimate_individual_risk
from celosia.core.errors import ParameterError


def test_the_example_of_franconi_and_polettini() -> None:
    risks = estimate_individual_risk([2, 2, 2, 1, 1, 1, 1, 2], [110, 84.5, 84.5, 17, 541, 8, 5, 110])
    golden = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert risks.round(6).tolist() == golden


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 31, 32, 33, 34, 400, 10**6])
def test_every_branch_is_the_hypergeometric_function(size: int) -> None:
    for part in (1e-9, 1e-4, 0.01, 0.3, 0.4999999, 0.5, 0.5000001, 0.7, 0.999, 1 - 1e-9, 1.0):
        population = size / part
        with mpmath.workdps(40):
            exact = mpmath.mpf(size) / mpmath.mpf(population)
            expected = float(exact / size * mpmath.hyp2f1(1, 1, size + 1, 1 - exact))
        assert float(estimate_individual_risk(size, population)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_closed_forms_of_the_literature(size: int) -> None:
    for p in (0.01, 0.2, 0.45, 0.8):
        q = 1 - p
        closed = {
            1: -p / q * np.log(p),
            2: p / q**2 * (p * np.log(p) + q),
            3: p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * np.log(p)),
        }
        assert float(estimate_individual_risk(size, size / p)) == pytest.approx(closed[size], rel=1e-9)


@given(st.integers(1, 60), st.floats(0.02, 1))
def test_it_is_the_mean_of_the_inverse_class_under_the_posterior(size: int, part: float) -> None:
    extra = np.arange(200_000)
    posterior = stats.nbinom.pmf(extra, size, part)
    expected = float((posterior / (size + extra)).sum())
    assert float(estimate_individual_risk(size, size / part)) == pytest.approx(expected, rel=1e-7)


@given(st.integers(1, 100), st.integers(1, 100), st.floats(1, 1e6), st.floats(1, 1e6))
def test_it_falls_with_the_population_and_lies_between_the_bounds(f: int, g: int, low: float, high: float) -> None:
    low, high = sorted((low, high))
    small, large = estimate_individual_risk([f, f], [f * low, f * high])
    assert large <= small * (1 + 1e-12)
    # Jensen: the mean of 1/F is at least 1/mean(F), and F is at least f.
    assert min(1, 1 / (f * low)) * (1 - 1e-12) <= small <= (1 / f) * (1 + 1e-12)
    assert estimate_individual_risk(g, g) == pytest.approx(1 / g)


def test_a_census_has_the_risk_of_its_classes() -> None:
    sizes = np.arange(1, 200)
    assert np.allclose(estimate_individual_risk(sizes, sizes), 1 / sizes, rtol=1e-15)
    assert np.allclose(estimate_individual_risk(sizes, sizes / 2), 1 / sizes, rtol=1e-15)


def test_an_intruder_in_a_simulated_population_is_right_as_often() -> None:
    """Bernoulli samples of populations drawn from the posterior's prior: the match of a sample unique is right."""
    lot, part, trials = np.random.default_rng(5), 0.2, 400_000
    # P(F = h) ~ 1/h is the prior of the posterior; truncated far out, where uniques in the sample are rare.
    sizes = np.arange(1, 200)
    population = lot.choice(sizes, trials, p=(1 / sizes) / (1 / sizes).sum())
    sample = lot.binomial(population, part)
    for frequency in (1, 2, 4):
        chosen = population[sample == frequency]
        right = int((lot.random(len(chosen)) < 1 / chosen).sum())
        expected = float(estimate_individual_risk(frequency, frequency / part))
        assert stats.binomtest(right, len(chosen), expected).pvalue > 1e-7


def test_impossible_classes_are_refused() -> None:
    bad: list[tuple[list[float], list[float]]] = [
        ([0], [1]),
        ([1.5], [3]),
        ([1], [0]),
        ([1], [-2]),
        ([1], [np.nan]),
        ([np.inf], [1]),
    ]
    for frequencies, populations in bad:
        with pytest.raises(ParameterError) as caught:
            estimate_individual_risk(frequencies, populations)
        assert caught.value.code == "anonymity_risk.wrong_class_sizes"
    assert estimate_individual_risk([], []).tolist() == []
