"""Covariance and correlation of arrays."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import InputError, LaplaceEvent, ParameterError, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics.arrays.dependence import correlation, covariance
from tests.statistics.coverage import believable

SURE = 50_000  # an epsilon at which the noise is hardly anything
BOUNDS = ((0, 100), (-20, 60))
RNG = np.random.default_rng(1)
X = RNG.integers(0, 101, 3_000)
Y = np.clip(X // 2 + RNG.integers(-20, 21, 3_000), -20, 60)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_answers_are_those_of_numpy_and_scipy(adjacency: Any) -> None:
    terms: Any = {"bounds": BOUNDS, "epsilon": SURE, "adjacency": adjacency}
    assert covariance(X, Y, **terms).value == pytest.approx(np.cov(X, Y, ddof=0)[0, 1], rel=1e-3)
    assert correlation(X, Y, **terms).value == pytest.approx(stats.pearsonr(X, Y).statistic, abs=1e-3)
    reals = X + 0.25, Y - 0.75
    assert covariance(*reals, **terms).value == pytest.approx(np.cov(*reals, ddof=0)[0, 1], rel=1e-2)
    assert correlation(*reals, **terms).value == pytest.approx(stats.pearsonr(*reals).statistic, abs=1e-2)


def test_a_row_that_lacks_one_value_is_left_out() -> None:
    x, y = [0, 100, None, 50, math.nan], [60, -20, 3, None, 7]
    assert correlation(x, y, BOUNDS, SURE).value == pytest.approx(-1, abs=0.01)
    imputed = covariance(x, y, BOUNDS, SURE, null=50).value
    expected = np.cov([0, 100, 50, 50, 50], [60, -20, 3, 50, 7], ddof=0)[0, 1]
    assert imputed == pytest.approx(expected, abs=1)
    for function in (covariance, correlation):
        assert np.isfinite(function([], [], BOUNDS, 1).value)


def test_the_price_is_that_of_one_number() -> None:
    assert covariance(X, Y, BOUNDS, 1).event == LaplaceEvent(scale=8_000, sensitivity=8_000, dimension=4)
    assert correlation(X, Y, BOUNDS, 1, adjacency=ReplaceOne).event == LaplaceEvent(
        scale=2 * 8_000**2, sensitivity=2 * 8_000**2, dimension=9, adjacency=ReplaceOne
    )


@pytest.mark.parametrize("function", [covariance, correlation])
def test_intervals_cover(function: Any) -> None:
    truth = np.cov(X, Y, ddof=0)[0, 1] if function is covariance else stats.pearsonr(X, Y).statistic
    source, draws, level, held = Seeded(4), 80, 0.8, 0
    for _ in range(draws):
        release = function(X, Y, BOUNDS, 2, source=source)
        low, high = release.confidence_interval(level)
        assert low <= release.value <= high
        held += low <= truth <= high
    assert believable(held, draws, level)
    assert held < 0.97 * draws


def test_parameters_without_a_meaning_are_refused() -> None:
    function_cases: list[Any] = [covariance, correlation]
    terms_cases: list[Any] = [
        {"bounds": (0, 1)},
        {"bounds": None},
        {"bounds": ((0, 1), (2, 1))},
        {"epsilon": 0},
        {"null": 99},
    ]
    for function in function_cases:
        for terms in terms_cases:
            with pytest.raises(ParameterError):
                function(X, Y, **({"bounds": BOUNDS, "epsilon": 1} | terms))


def test_columns_are_of_one_length() -> None:
    with pytest.raises(InputError, match=r"^x and y must be of one length"):
        covariance([1, 2], [1], BOUNDS, 1)
    with pytest.raises(InputError, match=r"^y must be "):
        covariance([1, 2], "12", BOUNDS, 1)
