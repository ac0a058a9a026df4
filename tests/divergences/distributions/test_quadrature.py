"""Integrals with known values: narrow, far away, singular at an end, heavy-tailed, infinite."""

import math

import numpy as np
import pytest

from celosia.core import InputError
from celosia.divergences.distributions.quadrature import Stretch, log_integral, supremum, window

LINE = Stretch(low=-math.inf, high=math.inf, centre=0.0, scale=1.0)
ORIGIN = np.array([0.0])


def check_normal_densities_wherever_they_are(mean: float, sigma: float) -> None:
    value = log_integral(lambda x: -(((x - mean) / sigma) ** 2) / 2, LINE, np.array([mean]))
    assert value == pytest.approx(math.log(sigma) + math.log(2 * math.pi) / 2, abs=1e-11)


def test_normal_densities_wherever_they_are() -> None:
    for mean, sigma in ((0, 1), (-99, 1), (1e6, 1), (3, 1e-3), (0, 1e20)):
        check_normal_densities_wherever_they_are(mean, sigma)


def test_logarithms_do_not_overflow() -> None:
    assert log_integral(lambda x: 5000 - x**2 / 2, LINE, ORIGIN) == pytest.approx(5000 + math.log(2 * math.pi) / 2)


def test_heavy_tails() -> None:
    assert log_integral(lambda x: -np.log1p(x**2), LINE, ORIGIN) == pytest.approx(math.log(math.pi), abs=1e-11)
    assert log_integral(lambda x: -np.log1p(np.abs(x)), LINE, ORIGIN) == math.inf
    with pytest.raises(InputError, match="too slowly"):
        log_integral(lambda x: -1.01 * np.log1p(np.abs(x)), LINE, ORIGIN)


def test_singular_ends_and_half_lines() -> None:
    unit = Stretch(low=0.0, high=1.0, centre=0.5, scale=1.0)
    assert log_integral(lambda x: -np.log(x) / 2, unit, ORIGIN) == pytest.approx(math.log(2), abs=1e-11)
    assert log_integral(lambda x: -1.5 * np.log(x), unit, ORIGIN) == math.inf
    up, down = (
        Stretch(low=2.0, high=math.inf, centre=3.0, scale=1.0),
        Stretch(low=-math.inf, high=2.0, centre=1.0, scale=1.0),
    )
    assert log_integral(lambda x: -(x - 2), up, np.array([3.0])) == pytest.approx(0, abs=1e-11)
    assert log_integral(lambda x: x - 2, down, ORIGIN) == pytest.approx(0, abs=1e-11)


def test_kinks() -> None:
    assert log_integral(lambda x: -np.abs(x - 0.3), LINE, ORIGIN) == pytest.approx(math.log(2), abs=1e-10)


def test_maps_invert() -> None:
    t = np.linspace(-5, 5, 11)
    for low, high in ((-math.inf, math.inf), (1.0, math.inf), (-math.inf, 1.0), (-1.0, 3.0)):
        stretch = Stretch(low=low, high=high, centre=0.5, scale=2.0)
        assert np.allclose(stretch.inverse(stretch.points(t)), t)
        slope = (stretch.points(t + 1e-6) - stretch.points(t - 1e-6)) / 2e-6
        assert np.allclose(np.log(slope), stretch.log_slope(t), atol=1e-6)


def test_nothing_and_no_number() -> None:
    assert log_integral(lambda x: np.full(len(x), -math.inf), LINE, ORIGIN) == -math.inf
    assert window(lambda t: np.full(len(t), -math.inf), ORIGIN) is None
    with pytest.raises(InputError, match="not numbers"):
        log_integral(lambda x: np.full(len(x), math.nan), LINE, ORIGIN)


def test_suprema() -> None:
    assert supremum(lambda x: -((x - 2) ** 2), LINE, ORIGIN) == pytest.approx(0, abs=1e-12)
    assert supremum(np.tanh, LINE, ORIGIN) == pytest.approx(1)
    assert supremum(lambda x: np.where(np.abs(x) < 1e6, x, -math.inf), LINE, ORIGIN) == math.inf
    assert supremum(lambda x: np.full(len(x), -math.inf), LINE, ORIGIN) == -math.inf


def test_rounding_noise_does_not_halve_for_ever() -> None:
    value = log_integral(lambda x: -(x**2) / 2 + 1e-9 * np.sin(1e9 * x), LINE, ORIGIN)
    assert value == pytest.approx(math.log(2 * math.pi) / 2, abs=1e-8)
