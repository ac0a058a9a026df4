"""Forecasts of a line: about right, of the method that would run, and in the caller's units."""

from typing import Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import ParameterError
from celosia.learn import LinearRegression, Ridge
from celosia.noise import Seeded


def test_a_forecast_is_about_right() -> None:
    """The error of a coefficient on data as supposed, over draws of the noise."""
    rng = np.random.default_rng(8)
    features = rng.uniform(-1, 1, (2000, 2))
    target = features @ [0.35, -0.35] + rng.normal(0, 0.2, 2000)
    unit: dict[str, Any] = {"bounds": (-1, 1), "bounds_y": (-1, 1)}
    forecast = LinearRegression(**unit).preview(2000, epsilon=1, n_features=2)
    errors = [LinearRegression(**unit, source=Seeded(s)).fit(features, target).coef_ - [0.35, -0.35] for s in range(40)]
    assert forecast.error == pytest.approx(float(np.sqrt(np.mean(np.square(errors)))), rel=0.5)
    assert forecast.guarantee == cl.PureDP(epsilon=1)
    assert forecast.noise_scale == pytest.approx(LinearRegression(**unit).fit(features, target).noise_scale_)


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({"method": "functional"}, 2000),
        ({"method": "adassp", "delta": "1e-6"}, 1000),
        ({"adjacency": "replace-one"}, 1000),
        ({"fit_intercept": False}, 1000),
    ],
)
def test_forecasts_are_of_the_method_that_would_be_run(given: dict[str, Any], rows: int) -> None:
    """Data as supposed; without an intercept the line goes through the origin, a corner of the bounds."""
    rng = np.random.default_rng(12)
    slopes = np.array([1, -1]) / 8**0.5
    features = rng.uniform(0, 1, (rows, 2))
    target = features @ slopes + rng.normal(0, 0.1, rows)
    public: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (-0.5, 0.5), **given}
    forecast = LinearRegression(**public).preview(rows, n_features=2)
    fits = [LinearRegression(**public, source=Seeded(s)).fit(features, target) for s in range(30)]
    errors = np.array([fitted.coef_ - slopes for fitted in fits])
    assert forecast.error == pytest.approx(float(np.sqrt(np.mean(errors**2))), rel=0.35)
    assert forecast.noise_scale == pytest.approx(fits[0].noise_scale_)


def test_a_forecast_of_ridge_is_not_that_of_its_own_bias() -> None:
    """So much penalty leaves no slope, and so no error but that of sampling; pure noise cannot run as adassp."""
    public: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (0, 1)}
    flat = Ridge(alpha=1e9, **public).preview(1000, n_features=2)
    assert flat.error == pytest.approx(0.2 * (3 / 1000) ** 0.5, rel=1e-3)
    with pytest.raises(ParameterError, match="give a delta or a rho"):
        Ridge(method="adassp", **public).preview(1000, n_features=2)


def test_forecasts_follow_rows_epsilon_and_units() -> None:
    unit = LinearRegression(bounds=(0, 1), bounds_y=(0, 1))
    few, many = (unit.preview(n, epsilon=1, n_features=3).error for n in (1000, 100_000))
    assert many < few
    assert unit.preview(1000, epsilon=10, n_features=3).error < few
    wide = LinearRegression(bounds=(0, 1), bounds_y=(0, 100)).preview(1000, epsilon=1, n_features=3)
    assert wide.error == pytest.approx(100 * few, rel=0.1)
    assert unit.preview(1000, epsilon=float("inf"), n_features=3).guarantee is None
    with pytest.raises(ParameterError, match="n_features"):
        unit.preview(1000)
    with pytest.raises(ParameterError, match="n must be"):
        unit.preview(0, n_features=2)
