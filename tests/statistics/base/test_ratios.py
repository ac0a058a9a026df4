"""Ratios: every cut keeps the truth, and the ranges of weights are those of their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.statistics.base.measure import Ratio, lines, magnitudes, over, squares, variance_between, whole_counts
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity

SHARES = st.floats(0, 1)


def noise_of(scale: int, width: int) -> Noise:
    return Noise.laplace(1, Sensitivity(l1=scale, l2_squared=scale**2), 1, width, ContributionBounds())


def share(rows: list[float], scale: int = 100) -> Ratio:
    return Ratio(
        weights=lambda low, high: np.stack([1 - low, high], axis=1),
        rows=np.array(rows),
        total=scale,
        noise=noise_of(scale, 2),
    )


def test_an_interval_is_what_the_noise_explains() -> None:
    ratio = share([1000.0])
    low, high = ratio.between(np.array([0.3]), np.array([0.3]), 0.05)
    for end in (low, high):  # at the ends the noisy sum is as far from 0 as noise goes
        weights = np.array([[1 - end[0], end[0]]])
        reach = ratio.noise.margin_of(weights, 0.95)[0] / 100
        assert abs(0.3 - end[0]) * 1000 == pytest.approx(reach, rel=0.01)


def test_without_rows_anything_is_possible() -> None:
    low, high = share([-5.0, 0.0, 0.1]).between(np.full(3, 0.5), np.full(3, 0.5), 0.05)
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [1, 1, 1]


def test_more_rows_less_width() -> None:
    rows = [10.0, 100.0, 1e3, 1e6, 1e12]
    low, high = share(rows).between(np.full(5, 0.5), np.full(5, 0.5), 0.05)
    assert (np.diff(high - low) < 0).all()
    assert high[-1] - low[-1] < 1e-11


def test_ends_stay_within_what_is_possible() -> None:
    low, high = share([50.0, 50.0]).between(np.array([-3.0, 7.0]), np.array([-3.0, 7.0]), 0.05)
    assert low.tolist() == [0, 1]
    assert high.tolist() == [0, 1]


@given(SHARES, SHARES, SHARES)
def test_coefficients_lie_in_their_ranges(a: float, b: float, part: float) -> None:
    low, high = min(a, b), max(a, b)
    c = low + part * (high - low)
    least, most = squares((np.array([low]), np.array([high])))
    exact = np.array([c * c, c * c - c, (1 - c) ** 2])
    assert (least[0] <= exact + 1e-15).all()
    assert (exact <= most[0] + 1e-15).all()
    for degree in (1, 2):
        least, most = lines((np.array([low]), np.array([high])), degree)
        line = np.arange(degree + 1) / degree - c
        assert (least[0] <= line + 1e-15).all()
        assert (line <= most[0] + 1e-15).all()


@given(SHARES, SHARES)
def test_coefficients_give_the_polynomials(c: float, x: float) -> None:
    basis = np.array([(1 - x) ** 2, 2 * x * (1 - x), x * x])
    at = np.array([c])
    assert basis @ squares((at, at))[0][0] == pytest.approx((x - c) ** 2, abs=1e-12)
    assert basis @ lines((at, at), 2)[0][0] == pytest.approx(x - c, abs=1e-12)
    assert np.array([1 - x, x]) @ lines((at, at), 1)[0][0] == pytest.approx(x - c, abs=1e-12)


def test_not_knowing_the_mean_moves_the_upper_end_only() -> None:
    ratio = Ratio(
        weights=lambda low, _: np.ones((len(low), 3)),
        rows=np.array([1000.0]),
        total=100,
        noise=noise_of(100, 3),
        bounds=(0.0, 0.25),
    )
    variance, mean = np.array([0.1]), np.array([0.5])
    known = variance_between(variance, mean, (mean, mean), ratio, 0.05)
    unknown = variance_between(variance, mean, (mean - 0.1, mean + 0.05), ratio, 0.05)
    assert unknown[0] == pytest.approx(known[0])
    assert unknown[1] == pytest.approx(known[1] + 0.01)


def test_small_things() -> None:
    assert over(np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, -1.0]), 9.0).tolist() == [0.5, 9, 9]
    assert magnitudes(np.array([-3.0, 1.0]), np.array([2.0, 4.0])).tolist() == [3, 4]
    assert whole_counts(np.array([[2**61, 2**61], [-7, 1]]), 4).tolist() == [2**60, -2]
