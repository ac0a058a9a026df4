"""f-divergences against the named ones, and against SciPy."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from celosia.core import ParameterError
from celosia.divergences import Normal, chi_square, f_divergence, hellinger, kl, total_variation
from tests.divergences.laws import Two, kernels, twos

if TYPE_CHECKING:
    from numpy.typing import NDArray


def squared(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return (t - 1) ** 2


def roots(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return (np.sqrt(t) - 1) ** 2


def entropic(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return np.asarray(special.xlogy(t, t))


@given(twos())
def test_named_divergences_are_f_divergences(pair: Two) -> None:
    assert f_divergence(*pair, squared) == pytest.approx(chi_square(*pair), rel=1e-9, abs=1e-9)
    assert f_divergence(*pair, entropic) == pytest.approx(kl(*pair), rel=1e-9, abs=1e-9)
    assert f_divergence(*pair, roots, slope_at_infinity=1) == pytest.approx(
        2 * hellinger(*pair) ** 2, rel=1e-9, abs=1e-9
    )
    half = f_divergence(*pair, lambda t: np.abs(t - 1) / 2, slope_at_infinity=0.5)
    assert half == pytest.approx(total_variation(*pair), rel=1e-9, abs=1e-9)


@given(twos(least=1))
def test_they_are_sums(pair: Two) -> None:
    p, q = pair
    assert chi_square(p, q) == pytest.approx(((p - q) ** 2 / q).sum(), rel=1e-9, abs=1e-9)
    direct = math.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)
    assert hellinger(p, q) ** 2 == pytest.approx(direct**2, abs=1e-12)


@given(twos(), st.data())
def test_post_processing(pair: Two, data: st.DataObject) -> None:
    kernel = data.draw(kernels(len(pair[0])))
    after = f_divergence(pair[0] @ kernel, pair[1] @ kernel, roots, slope_at_infinity=1)
    assert after <= f_divergence(*pair, roots, slope_at_infinity=1) + 1e-9


def test_continuous_pairs() -> None:
    p, q = stats.norm(), stats.norm(1)
    assert f_divergence(p, q, squared) == pytest.approx(math.e - 1, rel=1e-9)
    assert chi_square(Normal(0, 1), Normal(1, 1)) == pytest.approx(math.e - 1, rel=1e-12)
    assert hellinger(p, q) == pytest.approx(math.sqrt(1 - math.exp(-1 / 8)), rel=1e-9)
    assert chi_square(Normal(0, 4), Normal(0, 1)) == math.inf


def test_missing_mass_counts_with_the_slope() -> None:
    assert f_divergence([1, 0], [0, 1], squared) == math.inf
    assert f_divergence([1, 0], [0, 1], roots, slope_at_infinity=1) == pytest.approx(2)


def test_what_is_not_convex_is_refused() -> None:
    with pytest.raises(ParameterError, match="convex"):
        f_divergence([0.5, 0.5], [0.5, 0.5], lambda t: np.sin(t - 1))
    with pytest.raises(ParameterError, match=r"f\(1\) = 0"):
        f_divergence([0.5, 0.5], [0.5, 0.5], lambda t: t**2)
    with pytest.raises(ParameterError, match="slope_at_infinity"):
        f_divergence([0.5, 0.5], [0.5, 0.5], squared, slope_at_infinity=math.nan)
    with pytest.raises(ParameterError, match="NaN"), np.errstate(all="ignore"):
        f_divergence([1, 0], [0.5, 0.5], lambda t: t * np.log(t))


def x_log_x(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return np.asarray(special.xlogy(t, t), dtype=np.float64)


def test_steep_ratios_keep_their_logarithm() -> None:
    for tiny in (1e-80, 1e-120, 1e-300):
        p, q = [0.5, 0.5], [tiny, 1 - tiny]
        assert f_divergence(p, q, x_log_x) == pytest.approx(kl(p, q), rel=1e-9)
        far = (stats.norm(0, 1), stats.norm(100, 1))
        assert f_divergence(*far, x_log_x) == pytest.approx(5000, rel=1e-6)


def test_a_high_power_of_a_steep_ratio_is_finite() -> None:
    assert f_divergence([0.5, 0.5], [1e-70, 1], lambda t: t**5 - 1) == pytest.approx(0.5**5 * 1e280, rel=1e-9)


def test_wrong_types_are_named() -> None:
    with pytest.raises(ParameterError, match=r"^slope_at_infinity must be a number"):
        f_divergence([1.0], [1.0], lambda t: t - 1, slope_at_infinity="a")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ParameterError, match=r"^f must be a function"):
        f_divergence([1.0], [1.0], 3)  # type: ignore[arg-type]  # that is the point
