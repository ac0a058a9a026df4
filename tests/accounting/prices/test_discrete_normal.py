"""The mu of discrete Gaussian noise, against its trade-off function and against the delta of two coordinates."""

import itertools
import math
from fractions import Fraction
from itertools import product

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

from celosia.accounting.pld.normal import Normal
from celosia.accounting.prices.discrete_normal import gaussian_dp
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 50


def quantile(chance: mpmath.mpf) -> mpmath.mpf:
    """Phi^-1 in high precision: a start in doubles, then Newton's method on the logarithm."""
    if chance > 0.5:
        return -quantile(1 - chance)
    z = -mp.sqrt(-2 * mp.log(2 * chance)) if chance < 0.4 else (chance - 0.5) * mp.sqrt(2 * mp.pi)
    for _ in range(60):
        step = mp.log(mp.ncdf(z) / chance) * mp.ncdf(z) / mp.npdf(z)
        z -= step
        if abs(step) < mp.mpf(10) ** -25:
            break
    return z


def largest_break(variance: float, shift: int) -> mpmath.mpf:
    """The smallest mu whose trade-off function is below all breakpoints of that of the noise, within 12 sigma."""
    reach = math.ceil(12 * math.sqrt(variance)) + shift
    weights = {k: mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(variance))) for k in range(-3 * reach, 3 * reach + 1)}
    total = mp.fsum(weights.values())
    below = {}
    running = mp.mpf(0)
    for k in range(-3 * reach, 1):
        below[k] = running / total  # P(X < k)
        running += weights[k]
    quantiles = {k: quantile(below[k]) for k in range(-reach - shift, 1)}
    quantiles |= {1 - k: -quantiles[k] for k in range(-reach, 1)}  # P(X < 1 - k) = 1 - P(X < k)
    return max(quantiles[k] - quantiles[k - shift] for k in range(-reach + shift, reach + 1) if k - shift in quantiles)


def test_mu_covers_the_trade_off_function(*, thorough: bool) -> None:
    variance_cases: list[float] = [0.3, 1.0, 4.0, 17.9, *([100.0] if thorough else [])]
    shift_cases: list[int] = [1, 2, 5] if thorough else [1, 5]
    for variance in variance_cases:
        for shift in shift_cases:
            mu = gaussian_dp(variance, shift * shift, 1)
            exact = largest_break(variance, shift)
            assert exact <= mu
            if variance >= 1:
                assert mu <= shift / math.sqrt(variance) * (1 + 0.8 / variance)
                assert float(exact) > shift / math.sqrt(variance) * (1 - 1e-12)  # the continuous mu would be too small
            assert mu / 2 < exact  # half of it is caught


def test_mu_covers_the_delta_of_two_coordinates() -> None:
    shifts_cases: list[tuple[int, int]] = [(1, 1), (2, 1)]
    for variance, shifts in product((0.3, 1.0, 4.0, 17.9), shifts_cases):
        squared = sum(shift * shift for shift in shifts)
        mu = gaussian_dp(variance, squared, 2)
        reach = math.ceil(12 * math.sqrt(variance)) + 3
        x = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(x**2) / (2 * variance))
        masses = np.outer(weights, weights) / weights.sum() ** 2
        losses = sum(
            shift * (shift + 2 * part) / (2 * variance)
            for shift, part in zip(shifts, np.meshgrid(x, x, indexing="ij"), strict=True)
        )
        epsilons = np.linspace(0.0, 6 * mu + mu * mu / 2, 80)
        exact = np.array([np.sum(masses * np.maximum(-np.expm1(epsilon - losses), 0)) for epsilon in epsilons])
        heights = Normal(mu).profile(epsilons)
        assert np.all(exact <= heights + 1e-15)
        assert np.any(exact > Normal(mu / 2).profile(epsilons))
        assert mu >= math.sqrt(squared / variance)


def test_large_variances_lose_nothing_to_speak_of() -> None:
    for variance, squared, dimension in itertools.product([1e4, 1e8, 1e20], [1, 50, 10**6], [1, 10, 10**9]):
        plain = math.sqrt(squared / variance)
        assert plain < gaussian_dp(variance, squared, dimension) < plain * (1 + 3 / variance + 1e-10)


def test_more_of_anything_costs_more() -> None:
    assert gaussian_dp(4, 1, 5) == gaussian_dp(4, 1, 1)  # one whole step moves one coordinate
    assert gaussian_dp(4, 2, 5) >= gaussian_dp(4, 2, 1)
    assert gaussian_dp(4, "2.9", 5) == gaussian_dp(4, 2, 5)  # whole shifts have whole squared lengths
    assert gaussian_dp(Fraction(9, 2), 2, 5) < gaussian_dp(4, 2, 5)
    assert gaussian_dp(4, "0.5", 5) == 0


def test_bad_arguments_are_named() -> None:
    cases: list[tuple[tuple[float, float, int], str]] = [
        ((0, 1, 1), "variance"),
        ((math.nan, 1, 1), "variance"),
        ((0.01, 1, 1), "variance must be larger"),
        ((1, -1, 1), "sensitivity_squared"),
        ((1, 1, 0), "dimension"),
        ((1, 1, True), "dimension"),
        ((10**301, 1, 1), "variance"),
    ]
    for arguments, name in cases:
        with pytest.raises(ParameterError, match=name):
            gaussian_dp(*arguments)
