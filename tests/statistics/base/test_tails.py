"""Quantiles of sums of noises: never too small, hardly too large, against SciPy's integrals and exact sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, stats

from celosia.statistics.base.tails import _separate, laplace_margin, laplace_scale, normal_deviation, normal_margin

FAILURES = [0.9, 0.5, 0.1, 0.05, 0.01]
WEIGHTS = st.integers(1, 9).flatmap(
    lambda size: st.lists(
        st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1)), min_size=size, max_size=size
    )
)


def beyond(weights: NDArray[np.float64], reach: float) -> float:
    """P(|sum of weights * Laplace| > reach), by inverting the characteristic function (Gil-Pelaez 1951) with SciPy."""
    kept = weights[weights > 1e-6]
    if len(kept) == 1:
        return math.exp(-reach / float(kept[0]))

    def shape(u: float) -> float:
        return float(np.prod(1 / (1 + (kept * u) ** 2)))

    cut = 1 / float(kept.max())
    near = integrate.quad(lambda u: shape(u) * reach * np.sinc(reach * u / np.pi), 0, cut, epsabs=1e-12)[0]
    far = integrate.quad(lambda u: shape(u) / u, cut, math.inf, weight="sin", wvar=reach, epsabs=1e-10)[0]
    return float(1 - 2 / math.pi * (near + far))


def test_laplace_quantiles_against_scipy() -> None:
    weights_cases: list[list[float]] = [
        [1.0, 1.0], [1.0, 0.99], [1.0, 0.3], [1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.5, 0.5], [0.25, 0.25, 1.0],
        [1.0] * 4, [1.0, 1.0, 0.1, 0.1], [1.0] * 9, [1.0, 0.98, 0.96, 0.94, 0.9, 0.5, 0.5, 0.1, 0.0],
    ]  # fmt: skip
    for weights in weights_cases:
        for failure in FAILURES:
            array = np.array(weights)
            (reach,) = laplace_margin(array[None, :], failure)
            tail = beyond(array, reach)
            assert tail <= failure * (1 + 1e-6) + 1e-8
            assert tail >= failure * 0.9  # less than two per cent too far
            # Able to fail: ten per cent less is not enough.
            assert beyond(array, 0.9 * reach) > failure * 1.005


def test_margins_that_are_kept_equal_those_of_many_rows() -> None:
    weights = np.array([[1.0, 0.3], [0.3, 1.0], [2.0, -0.5]])
    many = laplace_margin(np.tile(weights, (100, 1)), 0.05)[:3]
    for _ in range(2):
        few = laplace_margin(weights, 0.05)
        assert np.array_equal(few, many)
        few[:] = 0.0  # the caller's own copy
    assert not np.array_equal(laplace_margin(weights, 0.01), many)
    assert laplace_margin(np.empty((0, 2)), 0.05).shape == (0,)


def test_two_weights_have_a_closed_form() -> None:
    # (1 + t/2) exp(-t) for two equal ones; (a^2 exp(-t/a) - b^2 exp(-t/b)) / (a^2 - b^2) else.
    (t,) = laplace_margin(np.array([[1.0, 1.0]]), 0.05)
    assert (1 + t / 2) * math.exp(-t) == pytest.approx(0.05, rel=1e-3)
    (t,) = laplace_margin(np.array([[2.0, 0.5]]), 0.05)
    assert (4 * math.exp(-t / 2) - 0.25 * math.exp(-2 * t)) / 3.75 == pytest.approx(0.05, rel=1e-7)


@settings(max_examples=60)
@given(WEIGHTS, st.sampled_from([0.5, 0.05, 1e-3, 1e-8]))
def test_quantiles_scale_and_lie_between_one_and_all(weights: list[float], failure: float) -> None:
    array = np.array(weights)
    (reach,) = laplace_margin(array[None, :], failure)
    (tripled,) = laplace_margin(-3 * array[None, ::-1], failure)
    assert tripled == pytest.approx(3 * reach)
    assert array.max() * -math.log(failure) <= reach * (1 + 1e-9)
    assert reach <= 1.3 * (array.sum() + 0.1) * -math.log(failure / len(array))


@settings(max_examples=60)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=9))
def test_moving_weights_apart_is_a_majorization(weights: list[float]) -> None:
    before = -np.sort(-np.array([weights]), axis=1)
    after = -np.sort(-_separate(before), axis=1)
    assert (after > 0).all()
    assert after.sum() == pytest.approx(before.sum())
    assert (np.cumsum(after, axis=1) >= np.cumsum(before, axis=1) - 1e-12).all()


def test_normal_quantiles_are_scipys() -> None:
    weights = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    for failure in FAILURES:
        assert normal_margin(weights, failure) == pytest.approx(np.array([5, 1, 0]) * stats.norm.isf(failure / 2))


def test_no_weights_no_reach() -> None:
    assert laplace_margin(np.zeros((2, 3)), 0.05).tolist() == [0, 0]
    assert laplace_margin(np.zeros((0, 3)), 0.05).shape == (0,)
    assert laplace_margin(np.ones((2, 5, 3)), 0.05).shape == (2, 5)


def spread_over_steps(masses: NDArray[np.float64], points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(|Z + U| > t) at many t, for masses of 0, 1, 2, … and U uniform on a step: it is linear between half steps."""
    beyond_half = 2 * (np.cumsum(masses[::-1])[::-1] - masses)  # P(|Z| > k)
    halves = np.arange(len(masses)) + 0.5
    t = np.linspace(0, len(masses) - 1, points)
    return t, np.interp(t, np.concatenate([[0], halves]), np.concatenate([[1], beyond_half]))


@pytest.mark.parametrize("scale", [0.05, 0.3, 0.7, 1, 2, 5, 30, 300])
def test_discrete_laplace_noise_is_closer_to_zero_than_the_continuous(scale: float) -> None:
    masses = stats.dlaplace(1 / scale).pmf(np.arange(int(36 * scale) + 3))
    t, tail = spread_over_steps(masses, 4_000)
    assert (tail <= np.exp(-t / laplace_scale(scale)) * (1 + 1e-9) + 1e-12).all()
    # Able to fail: the scale of the discrete noise itself would not do.
    assert scale > 100 or (tail > np.exp(-t / scale) * (1 + 1e-9) + 1e-12).any()


@pytest.mark.parametrize("variance", [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 9, 100, 10_000, 250_000])
def test_discrete_gaussian_noise_is_closer_to_zero_than_the_continuous(variance: float) -> None:
    k = np.arange(int(9 * math.sqrt(variance)) + 3)
    masses = np.exp(-(k**2) / (2 * variance))
    masses /= masses[0] + 2 * masses[1:].sum()
    t, tail = spread_over_steps(masses, 20_000)
    assert (tail <= 2 * stats.norm.sf(t / normal_deviation(variance)) * (1 + 1e-9) + 1e-15).all()
    assert variance > 1000 or (tail > 2 * stats.norm.sf(t / math.sqrt(variance)) * (1 + 1e-9) + 1e-15).any()
