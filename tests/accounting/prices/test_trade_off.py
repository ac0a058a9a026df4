"""Trade-off curves and the profile of Gaussian privacy, held against sixty digits and Google's accountant."""

import math
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.accounting.prices.trade_off import (
    approximate_trade_off,
    check_errors,
    gaussian_epsilon,
    gaussian_mu_for,
    gaussian_profile,
    gaussian_trade_off,
    profile_points,
    pure_trade_off,
    trade_off,
)
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 80


def exact_profile(mu: float, epsilon: float) -> mpmath.mpf:
    distance, rate = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(-rate / distance + distance / 2) - mp.exp(rate) * mp.ncdf(-rate / distance - distance / 2)


def test_the_gaussian_profile_is_rounded_up_and_hardly_at_all() -> None:
    for mu in (1e-9, 1e-4, 0.01, 0.3, 1.0, 2.0, 3.99, 4.01, 9.0, 40.0, 1000.0):
        multiples = (0.1, 1, 3, 8, 20, 35)
        halves = (0.3, 0.9, 1, 1.1)
        epsilons = [
            0,
            1e-12,
            1e-3,
            0.5,
            1,
            10,
            700,
            5000,
            *(mu * k for k in multiples),
            *(mu * mu / 2 * k for k in halves),
        ]
        for epsilon, value in zip(epsilons, gaussian_profile(mu, epsilons), strict=True):
            exact = exact_profile(mu, epsilon)
            assert exact <= float(value) <= exact * (1 + mp.mpf("2e-10")) + mp.mpf("2e-300")
        for epsilon, value in zip(epsilons[:6], gaussian_profile(mu, [-e for e in epsilons[:6]]), strict=True):
            exact = exact_profile(mu, -epsilon)
            assert exact - mp.mpf("1e-40") <= float(value) <= exact * (1 + mp.mpf("2e-10")) + mp.mpf("2e-300")


def test_the_gaussian_profile_is_googles() -> None:
    for mu in (0.2, 1.0, 3.0):
        google = privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu)
        for epsilon in (0.1, 1.0, 4.0):
            theirs = google.get_delta_for_epsilon(epsilon)
            assert gaussian_profile(mu, [epsilon])[0] == pytest.approx(theirs, rel=1e-9)


def test_the_analytic_calibration() -> None:
    """Balle and Wang 2018: epsilon 1, delta 1e-6 needs sigma 4.2247 for sensitivity 1."""
    assert 1 / gaussian_mu_for(1, "1e-6") == pytest.approx(4.2247, abs=5e-5)
    assert gaussian_epsilon(1, "1e-5") == pytest.approx(4.377178, abs=1e-6)


@given(st.floats(1e-4, 20), st.floats(1e-12, 0.9))
def test_epsilon_and_mu_are_enough_and_hardly_more(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_profile(mu, [epsilon])[0] <= delta
    if epsilon > 1e-9:
        assert gaussian_profile(mu, [epsilon * (1 - 1e-9)])[0] > delta * (1 - 1e-7)
        found = gaussian_mu_for(epsilon, delta)
        assert gaussian_profile(found, [epsilon])[0] <= delta
        assert found == pytest.approx(mu, rel=1e-6)


def test_fractions_between_two_doubles_are_rounded_against_us() -> None:
    third = Fraction(1, 3)
    above = math.nextafter(1 / 3, 1)
    assert gaussian_profile(third, [1])[0] == gaussian_profile(above, [1])[0]
    assert gaussian_mu_for(third, third) <= gaussian_mu_for(above, above)


def test_no_distance_is_perfect_privacy() -> None:
    assert gaussian_profile(0, [0, 1, -1]).tolist() == pytest.approx([0, 0, 1 - math.exp(-1)])
    assert gaussian_epsilon(0, "1e-6") == 0
    assert gaussian_trade_off(0, [0.25])[0] == pytest.approx(0.75)


def test_the_gaussian_curve_is_rounded_down_and_hardly_at_all() -> None:
    for mu in (0.01, 0.5, 1.0, 3.0, 10.0):
        errors = [1e-300, 1e-100, 1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9]
        for error, value in zip(errors, gaussian_trade_off(mu, errors), strict=True):
            # The likelihood-ratio test of level a; its threshold by Newton's steps in many digits.
            threshold = mp.mpf(float(stats.norm.isf(error)))
            for _ in range(8):
                threshold += (mp.ncdf(-threshold) - mp.mpf(error)) / mp.npdf(threshold)
            exact = mp.ncdf(threshold - mp.mpf(mu))
            assert exact * (1 - mp.mpf("1e-10")) - mp.mpf("1e-299") <= float(value) <= exact


def test_the_ends() -> None:
    assert gaussian_trade_off(1, [0, 1]) == pytest.approx([1, 0], abs=1e-10)
    assert pure_trade_off(1, [0, 1]) == pytest.approx([1, 0], abs=1e-10)
    assert approximate_trade_off(60_000, "0.1", [0, 0.5]) == pytest.approx([0.9, 0], abs=1e-10)
    assert approximate_trade_off(1, 1, [0, 0.5]).tolist() == [0, 0]


ERRORS = [0.0, 1e-6, 0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999, 1.0]


def check_the_curve_of_the_gaussian_profile_is_the_gaussian_curve(mu: float) -> None:
    found = trade_off(lambda epsilons: gaussian_profile(mu, epsilons), ERRORS)
    exact = gaussian_trade_off(mu, ERRORS)
    assert (found <= exact * (1 + 1e-9)).all()
    assert found == pytest.approx(exact, abs=2e-4)


def test_the_curve_of_the_gaussian_profile_is_the_gaussian_curve() -> None:
    for mu in (0.01, 0.3, 1.0, 4.0):
        check_the_curve_of_the_gaussian_profile_is_the_gaussian_curve(mu)


def response_profile(rate: float, epsilons: np.ndarray) -> np.ndarray:
    growth = np.exp(np.minimum(epsilons, 700))
    return np.asarray(np.maximum((np.exp(rate) - growth) / (1 + np.exp(rate)), 0.0))


def test_the_curve_of_randomized_response() -> None:
    # Its best tests: say no; say yes after a yes; say yes. Between them one mixes.
    rate, truth = math.log(3), 0.75
    curve = np.interp(ERRORS, [0, 1 - truth, 1], [1, 1 - truth, 0])
    assert pure_trade_off(rate, ERRORS) == pytest.approx(curve, rel=1e-9, abs=1e-14)
    found = trade_off(lambda epsilons: response_profile(rate, epsilons), ERRORS, epsilons=[0, rate])
    assert found == pytest.approx(curve, rel=1e-9, abs=1e-14)
    assert (trade_off(lambda epsilons: response_profile(rate, epsilons), ERRORS) <= curve + 1e-12).all()


DELTAS = st.floats(1e-300, 0.5) | st.just(0.0)


@given(st.floats(1e-300, 10), DELTAS, st.lists(st.floats(0, 1), min_size=2, max_size=9).map(sorted))
def test_laws_of_trade_off_curves(epsilon: float, delta: float, errors: list[float]) -> None:
    curve = approximate_trade_off(epsilon, delta, errors)
    assert (np.diff(curve) <= 1e-12).all()
    assert (curve <= 1 - np.asarray(errors)).all()
    assert (curve >= 0).all()
    # Symmetric: the curve is its own inverse where it is positive.
    positive = curve > 1e-6
    back = approximate_trade_off(epsilon, delta, curve[positive])
    assert (back <= np.asarray(errors)[positive] + 1e-9).all()


def test_a_missing_factor_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        assert gaussian_profile(2, [1])[0] == pytest.approx(gaussian_profile(1, [1])[0], rel=1e-2)
    wrong = trade_off(lambda epsilons: gaussian_profile(0.9, epsilons), [0.5])
    assert wrong[0] > gaussian_trade_off(1, [0.5])[0]


def test_a_profile_that_never_vanishes_is_looked_at_far_out() -> None:
    points = profile_points(lambda epsilons: np.full_like(epsilons, 0.25))
    assert points[[0, -1]].tolist() == [0, 2**16]
    assert trade_off(lambda epsilons: np.full_like(epsilons, 0.25), [0.0, 0.5])[:2] == pytest.approx([0.75, 0.25])


def test_parameters_that_make_no_sense() -> None:
    cases: list[Any] = [-1, math.nan, math.inf, "much", True, None]
    for bad in cases:
        with pytest.raises(ParameterError, match="mu"):
            gaussian_profile(bad, [1])
        with pytest.raises(ParameterError, match="mu"):
            gaussian_trade_off(bad, [0.1])
        with pytest.raises(ParameterError, match="epsilon"):
            gaussian_mu_for(bad, "1e-6")
        with pytest.raises(ParameterError, match="epsilon"):
            approximate_trade_off(bad, 0, [0.1])
        with pytest.raises(ParameterError, match="delta"):
            gaussian_epsilon(1, bad)


def test_other_bad_input() -> None:
    for delta in (0, 1, 1e-299):
        with pytest.raises(ParameterError, match="delta"):
            gaussian_epsilon(1, delta)
    for errors in ([-0.1], [1.1], [math.nan], "0.1", 0.5):
        with pytest.raises(ParameterError, match="errors"):
            check_errors(errors)
    with pytest.raises(ParameterError, match="epsilons"):
        gaussian_profile(1, [math.nan])
    with pytest.raises(ParameterError, match="epsilons"):
        trade_off(lambda epsilons: epsilons, [0.1], epsilons=[-1])
    with pytest.raises(ParameterError, match="profile"):
        trade_off(lambda epsilons: epsilons - 5, [0.1], epsilons=[1])
    with pytest.raises(ParameterError, match="mu must be small"):
        gaussian_epsilon("1e300", "0.5")


def test_an_epsilon_beyond_doubles_gives_no_bound_at_tiny_false_alarms() -> None:
    assert pure_trade_off(1000, [0, 1e-305, 0.5]).tolist()[1:] == [0.0, 0.0]
    assert pure_trade_off(1000, [0])[0] == pytest.approx(1)
