"""R_alpha against mpmath, SciPy's integrals and the laws that the theorem uses."""

import math
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from celosia.core import InputError, ParameterError
from celosia.divergences.magnitude import GaussianNoise, LaplaceNoise, R

_orders = st.floats(1.0001, 200)
_radii = st.floats(1e-6, 50)


def _laplace(alpha: float, t: float) -> float:
    """The formula, in fifty digits."""
    with mpmath.workdps(50):
        a, t = mpmath.mpf(alpha), mpmath.mpf(t)
        inside = a / (2 * a - 1) * mpmath.exp((a - 1) * t) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * t)
        return float(mpmath.log(inside) / (a - 1))


@given(_orders, _radii, st.floats(0.01, 100))
def test_gaussian_is_the_closed_form(alpha: float, radius: float, variance: float) -> None:
    assert R(alpha, GaussianNoise(variance=variance), radius) == pytest.approx(alpha * radius**2 / (2 * variance))


@given(st.floats(1 + 1e-9, 1e6), st.floats(1e-9, 1e4))
def test_laplace_keeps_all_digits(alpha: float, t: float) -> None:
    assert R(alpha, LaplaceNoise(scale=1), t) == pytest.approx(_laplace(alpha, t), rel=2e-14)


@pytest.mark.parametrize("alpha", [1.5, 2, 7])
@pytest.mark.parametrize("radius", [0.1, 1, 3])
@pytest.mark.sampled(3)
def test_both_closed_forms_are_the_integrals(alpha: float, radius: float) -> None:
    for ours, density in ((GaussianNoise(variance=4), stats.norm(0, 2)), (LaplaceNoise(scale=2), stats.laplace(0, 2))):

        def power(x: float, density: Any = density) -> float:
            return math.exp(alpha * density.logpdf(x - radius) + (1 - alpha) * density.logpdf(x))

        points = [0.0, radius, alpha * radius]
        whole = integrate.quad(power, -120, 160, points=points, limit=500)[0]
        assert R(alpha, ours, radius) == pytest.approx(math.log(whole) / (alpha - 1), rel=1e-7)
        assert R(alpha, density, radius) == pytest.approx(R(alpha, ours, radius), rel=1e-9)


@given(_orders, _radii, _radii)
def test_laplace_is_convex_and_worst_in_one_coordinate(alpha: float, a: float, b: float) -> None:
    noise = LaplaceNoise(scale=3)
    both, middle = R(alpha, noise, a + b), R(alpha, noise, (a + b) / 2)
    assert R(alpha, noise, a) + R(alpha, noise, b) <= both * (1 + 1e-12)
    assert 2 * middle <= (R(alpha, noise, a) + R(alpha, noise, b)) * (1 + 1e-12)


@given(_orders, _orders, _radii, _radii)
def test_monotone_in_order_and_radius(alpha: float, other: float, a: float, b: float) -> None:
    for noise in (GaussianNoise(variance=2), LaplaceNoise(scale=2)):
        low, high = sorted([alpha, other])
        near, far = sorted([a, b])
        assert R(low, noise, near) <= R(high, noise, far) * (1 + 1e-12)
    assert R(high, LaplaceNoise(scale=2), far) <= far / 2 * (1 + 1e-12)


def test_other_densities_are_integrated() -> None:
    assert R(2, stats.logistic(), 1) == pytest.approx(R(2, stats.logistic(5), 1), rel=1e-9)
    assert R(3, stats.cauchy(), 0) == 0
    # Gumbel noise moved by x: the integral of exp(-2(y-x) - 2 e^(x-y) + y + e^(-y)) is e^(2x) / (2 e^x - 1).
    assert R(2, stats.gumbel_r(), 0.5) == pytest.approx(-1 - math.log(2 * math.exp(-0.5) - 1), rel=1e-9)
    with pytest.raises((ParameterError, InputError)):  # and infinite from x = -log 2 on
        R(2, stats.gumbel_r(), 1)


def test_quantiles_are_those_of_scipy() -> None:
    p = np.linspace(0.001, 0.999, 99)
    np.testing.assert_allclose(GaussianNoise(variance=4).ppf(p), stats.norm(0, 2).ppf(p), atol=1e-12)
    np.testing.assert_allclose(LaplaceNoise(scale=2).ppf(p), stats.laplace(0, 2).ppf(p), atol=1e-12)


def test_noise_that_cannot_hide_a_shift_is_refused() -> None:
    cases: list[object] = [stats.uniform(), stats.expon(), stats.poisson(3), 1.0, None, "x"]
    for noise in cases:
        with pytest.raises(ParameterError, match=r"^noise "):
            R(2, noise, 1)


def test_orders_are_above_one() -> None:
    cases: list[Any] = [1, 0.5, math.nan, math.inf, True, "2", None]
    for alpha in cases:
        with pytest.raises(ParameterError, match=r"^alpha must be"):
            R(alpha, GaussianNoise(variance=1), 1)


def test_radii_are_not_negative() -> None:
    cases: list[Any] = [-1, math.nan, math.inf, True, "1"]
    for radius in cases:
        with pytest.raises(ParameterError, match=r"^radius must be"):
            R(2, GaussianNoise(variance=1), radius)


def test_noises_have_a_positive_size() -> None:
    cases: list[Any] = [0, -1, math.nan, math.inf, True, None]
    for size in cases:
        with pytest.raises(ParameterError, match=r"^variance must be"):
            GaussianNoise(variance=size)
        with pytest.raises(ParameterError, match=r"^scale must be"):
            LaplaceNoise(scale=size)


def test_what_is_beyond_the_doubles_is_no_answer() -> None:
    with pytest.raises(ParameterError, match="infinite divergence"):
        R(2, GaussianNoise(variance=1e-300), 1e200)


@pytest.mark.parametrize(("alpha", "radius"), [(2, 100), (3, 900), (64, 800)])
def test_far_moves_of_laplace_noise_are_finite(alpha: float, radius: float) -> None:
    assert R(alpha, stats.laplace(), radius) == pytest.approx(R(alpha, LaplaceNoise(scale=1), radius), rel=1e-9)
