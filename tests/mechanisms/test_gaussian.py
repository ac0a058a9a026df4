"""Gaussian: the target holds on the exact discrete distribution, for numbers and vectors, by no wide margin."""

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

import celosia
from celosia.accounting.prices.gaussian import largest_rho
from celosia.core import ZCDP, ApproxDP, GaussianEvent, ParameterError
from celosia.mechanisms import Gaussian
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGETS = [
    ("1", "1e-6", 1),
    ("0.1", "1e-5", 1),
    ("0.5", "1e-3", 3),
    ("3", "1e-9", 2),
    ("8", "1e-6", 1),
    ("1/3", "0.01", 7),
]


def log_masses(variance: float, reach: int) -> "NDArray[np.float64]":
    """The discrete Gaussian's log probabilities from -reach to reach, normalised by their sum: nothing of ours."""
    weights = -(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * variance)
    normalised: NDArray[np.float64] = weights - math.log(math.fsum(np.exp(weights)))
    return normalised


def hockey_stick(variance: float, shift: tuple[int, ...], epsilon: float) -> float:
    """The exact delta of noise on one or two coordinates: the sum over the lattice, both directions being alike."""
    reach = math.ceil(12 * math.sqrt(variance)) + 12
    logs = log_masses(variance, reach + max(map(abs, shift)))
    outputs = np.arange(-reach, reach + 1) + reach + max(map(abs, shift))
    here, there = logs[outputs], [logs[outputs - move] for move in shift]
    if len(shift) == 1:
        one, other = here, there[0]
    else:
        one, other = here[:, None] + here[None, :], there[0][:, None] + there[1][None, :]
    return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0).sum())


# ---------------------------------------------------------------------------------------------------------- one number


def test_integers_reach_the_target_and_one_per_cent_less_noise_does_not() -> None:
    for epsilon, delta, sensitivity in TARGETS:
        mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
        rate, target = float(Fraction(epsilon)), float(delta)
        variance = float(mechanism.event.variance)
        for gap in range(1, sensitivity + 1):
            assert hockey_stick(variance, (gap,), rate) <= target * (1 + 1e-9)
        assert hockey_stick(variance, (sensitivity,), rate) >= target * (1 - 1e-3)
        assert hockey_stick(variance * 0.99**2, (sensitivity,), rate) > target * 1.005
        assert hockey_stick(variance, (sensitivity + 1,), rate) > target * 1.2  # a sensitivity too small by one


def check_google_prices_the_calibration_alike(epsilon: str, delta: str, sensitivity: int) -> None:
    sigma = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity).sigma

    def priced(scale: float) -> float:
        loss = privacy_loss_distribution.from_discrete_gaussian_mechanism(
            scale, sensitivity=sensitivity, value_discretization_interval=1e-3, use_connect_dots=True
        )
        return float(loss.get_delta_for_epsilon(float(Fraction(epsilon))))

    assert priced(sigma) == pytest.approx(float(delta), rel=2e-3)
    assert priced(0.99 * sigma) > float(delta) * 1.01


def test_google_prices_the_calibration_alike() -> None:
    for epsilon, delta, sensitivity in TARGETS:
        check_google_prices_the_calibration_alike(epsilon, delta, sensitivity)


@pytest.mark.parametrize("sensitivity", ["1", "0.1", "1/3", "2.75"])
def test_reals_reach_the_target(sensitivity: str) -> None:
    mechanism = Gaussian(epsilon=1, delta="1e-6", sensitivity=sensitivity)
    event: Any = mechanism.release(0.3).event
    shift = math.floor(Fraction(sensitivity) / event.grid) + 1  # the farthest that two rounded neighbours can be
    assert event.sensitivity_squared >= shift**2
    assert hockey_stick(float(event.variance), (shift,), 1.0) <= 1e-6 * (1 + 1e-9)
    assert hockey_stick(float(event.variance) * 0.98, (shift,), 1.0) > 1e-6
    # At 0.1 % more than continuous noise of the same sensitivity would need (Balle and Wang 2018).
    sigma = math.sqrt(event.variance) * float(event.grid) / float(Fraction(sensitivity))
    assert 4.2247 <= sigma <= 4.2247 * 1.0011


def test_the_continuous_calibration_would_not_be_enough() -> None:
    assert hockey_stick(4.2247**2, (1,), 1.0) == pytest.approx(1.02e-6, rel=5e-3)
    assert Gaussian(epsilon=1, delta="1e-6", sensitivity=1).sigma == pytest.approx(4.2308, abs=1e-4)


def test_the_table_is_the_event() -> None:
    mechanism = Gaussian(epsilon=1, delta="1e-6", sensitivity=2)
    expected = log_masses(float(mechanism.event.variance), 100)
    assert mechanism.log_masses(7, range(7 - 40, 7 + 41)) == pytest.approx(expected[60:141], rel=1e-9)


# -------------------------------------------------------------------------------------------------------------- vectors


def test_vectors_reach_the_target_in_every_direction() -> None:
    epsilon_cases: list[tuple[str, str]] = [("1", "1e-6"), ("0.5", "1e-3"), ("3", "1e-4"), ("8", "1e-6")]
    squared_cases: list[tuple[int, list[tuple[int, int]]]] = [
        (25, [(5, 0), (3, 4)]),
        (2, [(1, 1)]),
        (1, [(1, 0)]),
        (65, [(8, 1), (7, 4)]),
    ]
    for epsilon, delta in epsilon_cases:
        for squared, shifts in squared_cases:
            mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity_squared=squared, dimension=2)
            variance, rate = float(mechanism.event.variance), float(Fraction(epsilon))
            exact = [hockey_stick(variance, shift, rate) for shift in shifts]
            assert max(exact) <= float(delta)
            assert max(exact) >= float(delta) / 100  # the bound through rho is no wild guess
            # Able to fail: half the noise, or a sensitivity that is too small by a factor, misses the target.
            assert max(hockey_stick(variance / 2, shift, rate) for shift in shifts) > float(delta)
            assert hockey_stick(variance, (2 * shifts[0][0], 2 * shifts[0][1]), rate) > float(delta)


def test_delta_depends_on_the_direction_not_only_on_the_length() -> None:
    axis, diagonal = (hockey_stick(2.5, shift, 10.0) for shift in ((5, 0), (3, 4)))
    assert abs(axis - diagonal) > 0.01 * max(axis, diagonal)


def real_delta(sigma: float, epsilon: float) -> float:
    """The delta of real Gaussian noise at a distance of one: Balle and Wang 2018, theorem 8."""
    ahead, behind = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return NormalDist().cdf(ahead) - math.exp(epsilon) * NormalDist().cdf(behind)


def test_arrays_of_any_size_need_hardly_more_noise_than_real_numbers() -> None:
    through_rho = float(largest_rho(Fraction(1), Fraction(1, 10**6)))
    for sensitivity, most in ((1, 1.03), (1000, 1.0001)):
        for size in (2, 3, 1000):
            event: Any = Gaussian(epsilon=1, delta="1e-6", sensitivity=sensitivity, dimension=size).event
            sigma = math.sqrt(event.variance) / sensitivity
            assert real_delta(sigma, 1) < 1e-6 < real_delta(sigma / most, 1)
            assert sigma < math.sqrt(1 / (2 * through_rho))  # 7 % less on a fine grid
    # Noise that is hardly a step wide is still calibrated through rho.
    loud: Any = Gaussian(epsilon=40, delta="1e-6", sensitivity=1, dimension=1000).event
    assert loud.variance == pytest.approx(float(1 / (2 * largest_rho(Fraction(40), Fraction(1, 10**6)))), rel=1e-12)


def test_rho_is_half_the_squared_sensitivity_over_the_variance() -> None:
    for size, real in product((1, 2, 5), (False, True)):
        mechanism = Gaussian(rho="0.1", sensitivity_squared=2)
        event: Any = mechanism.release(np.zeros(size, dtype=np.float64 if real else np.int64)).event
        assert event.sensitivity_squared / (2 * event.variance) <= Fraction(1, 10)
        assert float(event.sensitivity_squared / (2 * event.variance)) == pytest.approx(0.1, rel=1e-12)
        in_units = event.variance * event.grid**2
        assert 10 <= in_units <= (10 * Fraction(1001, 1000) ** 2 if real else 10)


# --------------------------------------------------------------------------------------------------------- parameters


def test_a_number_is_released_with_the_guarantee() -> None:
    mechanism = celosia.mechanisms.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    assert isinstance(mechanism.release(108).value, int)
    assert mechanism.guarantee == ApproxDP(epsilon=1, delta="1e-6")


def test_sigma_and_rho_are_exact() -> None:
    assert Gaussian(sigma=4, sensitivity=1).event == GaussianEvent(variance=16, sensitivity_squared=1)
    assert Gaussian(sigma=4, sensitivity=1).guarantee == ZCDP(rho="1/32")
    assert Gaussian(sigma="0.1", sensitivity=1).event.variance == Fraction(1, 100)
    assert Gaussian(rho="0.5", sensitivity_squared=2).event.variance == 2
    assert Gaussian(sigma=4, sensitivity=3) == Gaussian(rho="9/32", sensitivity_squared=9)
    assert Gaussian(sigma=4, sensitivity=3).sigma == 4.0


def test_targets_that_do_not_fit_together_are_refused() -> None:
    cases: list[Any] = [
        {},
        {"epsilon": 1},
        {"delta": "1e-6"},
        {"epsilon": 1, "delta": "1e-6", "rho": 1},
        {"rho": 1, "sigma": 1},
        {"rho": 1, "delta": "1e-6"},
        {"sigma": 1, "delta": "1e-6"},
        {"epsilon": 1, "sigma": 1},
        {"rho": 1, "sensitivity": None},
        {"rho": 1, "sensitivity_squared": 1},
        {"rho": 1, "calibration": "classical"},
        {"epsilon": 1, "delta": "1e-6", "calibration": "analytic"},
    ]
    for wrong in cases:
        with pytest.raises(ParameterError):
            Gaussian(**{"sensitivity": 1} | wrong)


BAD: list[Any] = [math.nan, math.inf, 0, -1, 5e-324, 1e308, "1e-400", "nan", "x", True, 1j, []]


def test_parameters_without_a_meaning_are_refused() -> None:
    name_cases: list[str] = ["rho", "sigma", "sensitivity_squared", "delta"]
    for value in BAD:
        for name in name_cases:
            parameters: dict[str, Any] = {
                "rho": {"rho": value, "sensitivity": 1},
                "sigma": {"sigma": value, "sensitivity": 1},
                "sensitivity_squared": {"rho": 1, "sensitivity_squared": value},
                "delta": {"epsilon": 1, "delta": value, "sensitivity": 1},
            }[name]
            with pytest.raises(ParameterError, match=name):
                Gaussian(**parameters)


def test_a_delta_is_a_probability_that_doubles_can_tell() -> None:
    cases: list[Any] = [1, "1e-201", 1.5]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta"):
            Gaussian(epsilon=1, delta=delta, sensitivity=1)


def test_extreme_targets_are_met_or_refused_and_nothing_else() -> None:
    cases: list[tuple[Any, str, int]] = [
        ("1e-200", "1e-6", 1),
        ("1e-5", "1e-9", 1),
        (800, "1e-6", 10**6),
        (2**16, "1e-100", 1),
        ("0.01", "1e-6", 2**300),
    ]
    dimension_cases: list[int | None] = [None, 3]
    for (epsilon, delta, sensitivity), dimension in product(cases, dimension_cases):
        mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity, dimension=dimension)
        assert 0 < mechanism.sigma < math.inf


def test_a_target_beyond_all_noise_is_refused_at_once() -> None:
    cases: list[int | None] = [None, 3]
    for dimension in cases:
        with pytest.raises(ParameterError):
            Gaussian(epsilon="0.01", delta="1e-6", sensitivity=2**511, dimension=dimension)
        with pytest.raises(ParameterError):
            Gaussian(epsilon="1e-300", delta="1e-190", sensitivity=1, dimension=dimension)


def test_the_classical_calibration_is_the_textbooks_formula() -> None:
    cases: list[int | None] = [None, 4]
    for dimension in cases:
        mechanism = Gaussian(epsilon="0.5", delta="1e-5", sensitivity=3, calibration="classical", dimension=dimension)
        expected = math.sqrt(2 * math.log(1.25e5)) * 3 / 0.5
        assert mechanism.sigma == pytest.approx(expected, rel=1e-12)
        assert mechanism.sigma > Gaussian(epsilon="0.5", delta="1e-5", sensitivity=3, dimension=dimension).sigma
        assert mechanism.guarantee == ApproxDP(epsilon="0.5", delta="1e-5")


def test_the_classical_calibration_is_refused_from_epsilon_one_on() -> None:
    cases: list[Any] = [1, "1.0", 2, 10]
    for epsilon in cases:
        with pytest.raises(ParameterError, match="below 1"):
            Gaussian(epsilon=epsilon, delta="1e-6", sensitivity=1, calibration="classical")


def test_the_classical_calibration_is_never_less_than_what_is_needed() -> None:
    for delta in ("0.2", "0.5", "0.9", "0.999"):
        # The formula is a theorem for continuous noise, and at a large delta not even there.
        mechanism = Gaussian(epsilon="0.9", delta=delta, sensitivity=1, calibration="classical")
        assert hockey_stick(float(mechanism.event.variance), (1,), 0.9) <= float(delta)


# ------------------------------------------------------------------------------------------------------ the real noise


def p_value(noise: Any, variance: float) -> float:
    """Chi-square of integer noise against the discrete Gaussian, in about sixty cells, tails pooled."""
    sigma = math.sqrt(variance)
    edges = np.unique(np.linspace(-4 * sigma, 4 * sigma, 60).astype(int))
    if sigma > 1000:  # a midpoint sum of the normal density: right to 1e-7
        cumulative = stats.norm.cdf((edges + 0.5) / sigma)
    else:
        reach = math.ceil(12 * sigma) + 2
        cumulative = np.cumsum(np.exp(log_masses(variance, reach)))[edges + reach]
    expected = np.diff(np.concatenate([[0], cumulative, [1]])) * noise.size
    observed = np.bincount(np.searchsorted(edges, noise, side="left"), minlength=edges.size + 1)
    kept = expected > 5
    pooled = [np.append(side[kept], side[~kept].sum()) for side in (observed, expected)]
    keep = pooled[1] > 0
    return float(stats.chisquare(pooled[0][keep], pooled[1][keep] * pooled[0].sum() / pooled[1][keep].sum()).pvalue)


def test_what_is_released_has_the_distribution_of_the_event() -> None:
    for sigma, kind in product(("0.7", "3", "40"), ("array", "real array", "numbers")):
        mechanism = Gaussian(sigma=sigma, sensitivity=1)
        if kind == "numbers":
            source = Seeded(4)
            release = mechanism.release(9, source=source)
            noise = np.array([mechanism.release(9, source=source).value for _ in range(30_000)]) - 9
        else:
            true = np.full(100_000, 9, dtype=np.int64 if kind == "array" else np.float64)
            release = mechanism.release(true, source=Seeded(4))
            noise = np.rint((release.value - true) / float(release.event.grid)).astype(np.int64)  # type: ignore[attr-defined]
        variance = float(release.event.variance)  # type: ignore[attr-defined]
        assert p_value(noise, variance) > 1e-6
        assert p_value(noise, variance * 1.21) < 1e-6
        assert p_value(noise, variance / 1.21) < 1e-6
        assert p_value(noise, variance * 4) < 1e-6


# --------------------------------------------------------------------------------------------------------- error bars


def check_intervals_cover_at_least_the_level_and_no_narrower_one_does(sigma: str, level: float) -> None:
    mechanism = Gaussian(sigma=sigma, sensitivity=1)
    margin = mechanism.error(level)
    variance = float(mechanism.event.variance)
    reach = math.ceil(12 * math.sqrt(variance)) + 12
    masses = np.exp(log_masses(variance, reach))

    def covered(k: int) -> float:
        return 1 - 2 * math.fsum(masses[reach + k + 1 :]) if k >= 0 else 0.0

    assert covered(margin) >= level - 1e-12
    assert covered(margin - 1) < level
    low, high = mechanism.release(5, source=Seeded(1)).confidence_interval(level)
    assert high - low == 2 * margin


def test_intervals_cover_at_least_the_level_and_no_narrower_one_does() -> None:
    level_cases: list[float] = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9]
    for sigma, level in product(("0.5", "1", "4.2308", "999", "1001", "20000"), level_cases):
        check_intervals_cover_at_least_the_level_and_no_narrower_one_does(sigma, level)
