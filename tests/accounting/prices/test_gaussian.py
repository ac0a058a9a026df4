"""The profile of discrete Gaussian noise, held against sums in high precision and against Google's accountants."""

import math
from fractions import Fraction
from itertools import product

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import optimize

from celosia.accounting.prices import gaussian
from celosia.accounting.prices.gaussian import (
    concentrated_delta,
    discrete_gaussian_delta,
    largest_rho,
    smallest_variance,
)
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 60


def exact_delta(variance: float | Fraction, shift: int, epsilon: float | Fraction) -> float:
    """Canonne, Kamath and Steinke 2020, theorem 7, summed with sixty digits."""
    sigma2, rate = (mp.mpf(Fraction(number).numerator) / Fraction(number).denominator for number in (variance, epsilon))
    reach = math.ceil(25 * math.sqrt(variance)) + 25
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * sigma2)) for k in range(reach + 1)]
    total = weights[0] + 2 * mp.fsum(weights[1:])

    def weight(k: int) -> mpmath.mpf:
        return weights[abs(k)] if abs(k) <= reach else mp.mpf(0)

    first = int(mp.floor(rate * sigma2 / shift - mp.mpf(shift) / 2)) + 1
    above = mp.fsum(weight(k) for k in range(max(first, -reach), reach + 1))
    below = mp.fsum(weight(k) for k in range(max(first + shift, -reach), reach + 1))
    return float((above - mp.exp(rate) * below) / total)


def brute_delta(variance: float, shift: int, epsilon: float) -> float:
    """The hockey-stick divergence by its definition, without any knowledge of which outputs count."""
    reach = math.ceil(12 * math.sqrt(variance)) + 12 + shift
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(x**2) / (2 * variance))
    moved = np.exp(epsilon - (x - shift) ** 2 / (2 * variance))
    return math.fsum(np.maximum(weights - moved, 0)) / math.fsum(weights)


def test_the_discrete_delta_of_the_specification() -> None:
    exact = exact_delta(4.2247**2, 1, 1.0)
    assert exact == pytest.approx(1.02e-6, rel=5e-3)
    assert exact == pytest.approx(brute_delta(4.2247**2, 1, 1.0), rel=1e-9)
    assert discrete_gaussian_delta(4.2247**2, 1, 1.0) == pytest.approx(exact, rel=1e-8)


def test_the_sum_is_rounded_up_and_hardly_at_all() -> None:
    sigma_cases: list[float] = [0.1, 0.3, 0.5, 1.0, 2.7, 10.0]
    shift_cases: list[int] = [1, 2, 5]
    epsilon_cases: list[float] = [0.001, 0.1, 1.0, 3.0, 8.0, 20.0]
    for sigma in sigma_cases:
        for shift in shift_cases:
            for epsilon in epsilon_cases:
                exact = exact_delta(sigma**2, shift, epsilon)
                ours = discrete_gaussian_delta(sigma**2, shift, epsilon)
                assert exact <= ours <= exact * (1 + 1e-8) + 1e-13 * (1 + epsilon)
                assert ours >= brute_delta(sigma**2, shift, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [30.0, 200.0, 333.3])
def test_where_one_output_is_on_the_edge_the_sum_is_still_rounded_up(epsilon: float) -> None:
    # At variance 1 / (2 epsilon) the loss of the output 0 is just epsilon. It has nearly all the probability: an excess
    # that is lost in rounding would be far more than all that remains.
    variance = 1 / (2 * epsilon)
    for _ in range(40):
        variance = math.nextafter(variance, 0)
    for _ in range(80):
        assert discrete_gaussian_delta(variance, 1, epsilon) >= exact_delta(variance, 1, epsilon)
        variance = math.nextafter(variance, 1)


def test_the_integrals_agree_with_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    # The epsilon at which outputs count from ``reach`` standard deviations on: all branches, on both sides of the bend.
    reaches = (-3.0, -0.5, 0.0, 0.3, 0.99, 1.01, 2.0, 5.0)
    for sigma, reach, shift in product((150.0, 300.0, 999.0, 1001.0, 3000.0), reaches, (1, 50, 4000)):
        epsilon = max((reach * sigma + shift / 2) * shift / sigma**2, 1e-9)
        monkeypatch.setattr(gaussian, "_MAX_SUMMED_SIGMA", math.inf)
        summed = discrete_gaussian_delta(sigma**2, shift, epsilon)
        monkeypatch.setattr(gaussian, "_MAX_SUMMED_SIGMA", 0.0)
        integral = discrete_gaussian_delta(sigma**2, shift, epsilon)
        assert summed * (1 - 1e-8) <= integral <= summed * (1 + 1e-4) + 0.3 / sigma**2 + 1e-11


@pytest.mark.parametrize("epsilon", [0.004, 1e-4])
@pytest.mark.sampled(2)
def test_the_switch_at_a_thousand_is_smooth(epsilon: float) -> None:
    exact = exact_delta(1000.0**2, 1, epsilon)  # the next double has the same delta, to nine digits
    for sigma in (1000.0, math.nextafter(1000.0, math.inf)):
        assert exact * (1 - 1e-9) <= discrete_gaussian_delta(sigma**2, 1, epsilon) <= exact * 1.01
    assert exact <= discrete_gaussian_delta(1000.0**2, 1, epsilon)


def test_delta_falls_with_noise_and_epsilon_and_grows_with_the_shift() -> None:
    for shift in (1, 1000):
        for sigma in (0.5, 5.0, 900.0, 1100.0, 1e5):
            delta = discrete_gaussian_delta(sigma**2, shift, 0.5)
            assert discrete_gaussian_delta(4 * sigma**2, shift, 0.5) <= delta <= 1
            assert discrete_gaussian_delta(sigma**2, shift, 0.6) <= delta
            assert discrete_gaussian_delta(sigma**2, shift + 1, 0.5) >= delta * (1 - 1e-6)


def test_no_shift_no_loss() -> None:
    assert discrete_gaussian_delta(1.0, 0, 1.0) == 0


def test_a_far_neighbour_is_told_apart_without_filling_the_memory() -> None:
    cases: list[int] = [10**6, 10**30]
    for shift in cases:
        assert discrete_gaussian_delta(1.0, shift, 1.0) == pytest.approx(1.0)


def test_google_finds_the_same_delta() -> None:
    for sigma, sensitivity, epsilon in ((4.2308, 1, 1.0), (30.0, 3, 0.5), (1.0, 1, 3.0), (0.8, 2, 8.0)):
        loss = privacy_loss_distribution.from_discrete_gaussian_mechanism(
            sigma, sensitivity=sensitivity, value_discretization_interval=1e-3, use_connect_dots=True
        )
        ours = discrete_gaussian_delta(sigma**2, sensitivity, epsilon)
        assert ours == pytest.approx(loss.get_delta_for_epsilon(epsilon), rel=2e-3)


# --------------------------------------------------------------------------------------------------------- calibration


def test_the_smallest_variance_is_enough_and_a_smaller_one_is_not() -> None:
    cases: list[tuple[str, str, int]] = [
        ("1", "1e-6", 1),
        ("0.1", "1e-5", 1),
        ("0.5", "1e-3", 3),
        ("8", "1e-6", 1),
        ("1/3", "1e-12", 7),
        ("31/3", "1e-30", 1),
        ("37/10", "1e-60", 1),
        # Where one output's privacy loss sits on epsilon, and the next one is rarer than delta by far.
        ("200", "1e-50", 1),
        ("50", "1e-12", 1),
        ("300", "1e-100", 3),
    ]
    for epsilon, delta, shift in cases:
        variance = smallest_variance(Fraction(epsilon), Fraction(delta), shift)
        assert exact_delta(variance, shift, Fraction(epsilon)) <= float(delta)
        assert exact_delta(variance * Fraction(99, 100) ** 2, shift, Fraction(epsilon)) > float(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "shift"),
    [("0.0005", "1e-4", 1), ("1e-9", "1e-5", 1), ("1", "1e-6", 2000), ("0.05", "1e-3", 500)],
)
def test_the_smallest_variance_beyond_the_sums(epsilon: str, delta: str, shift: int) -> None:
    variance = float(smallest_variance(Fraction(epsilon), Fraction(delta), shift))
    assert math.sqrt(variance) > 1000
    rate, target = float(epsilon), float(delta)
    assert brute_delta(variance, shift, rate) <= target * (1 + 1e-9)
    assert brute_delta(variance * 0.98, shift, rate) > target


def test_what_no_noise_reaches_is_refused() -> None:
    with pytest.raises(ParameterError, match="No noise"):
        smallest_variance(Fraction(1, 10**300), Fraction(1, 10**190), 1)
    with pytest.raises(ParameterError, match="No noise"):
        smallest_variance(Fraction(1, 100), Fraction(1, 10**6), 2**511)


# ------------------------------------------------------------------------------------------------------- concentration


def log_delta(order: float, rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke 2020, proposition 12, as it is printed."""
    return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)


def test_concentrated_delta_is_the_best_order() -> None:
    rho_cases: list[float] = [1e-6, 1e-3, 0.02, 0.5, 3.0, 40.0]
    epsilon_cases: list[float] = [0.01, 0.1, 1.0, 5.0, 30.0]
    for rho in rho_cases:
        for epsilon in epsilon_cases:
            ours = concentrated_delta(rho, epsilon)
            best = optimize.minimize_scalar(
                lambda log_order, *given: log_delta(1 + math.exp(log_order), *given),
                bounds=(-12, 20),
                args=(rho, epsilon),
                method="bounded",
            )
            assert ours <= min(1.0, math.exp(min(best.fun, 0.0))) * (1 + 1e-5)
            # Never better than the best: every order on a fine grid gives at least as much.
            logs = [log_delta(1 + math.exp(log_order), rho, epsilon) for log_order in np.linspace(-12, 20, 20_001)]
            assert ours >= min(1.0, math.exp(min(0.0, *logs))) * (1 - 1e-3)


def test_google_converts_rho_alike() -> None:
    for rho, epsilon in ((0.02, 1.0), (0.1, 2.0), (0.5, 5.0), (1e-3, 0.2)):
        orders = [1 + math.exp(log_order) for log_order in np.linspace(-4, 8, 5_001)]
        theirs, _ = rdp_privacy_accountant.compute_delta(orders, [rho * order for order in orders], epsilon)
        assert concentrated_delta(rho, epsilon) == pytest.approx(theirs, rel=1e-4)


def test_hardly_any_rho_is_hardly_any_delta() -> None:
    for rho in (1e-300, 1e-20):
        assert concentrated_delta(rho, 0.1) < 1e-200


def test_the_largest_rho_is_enough_and_a_larger_one_is_not() -> None:
    for epsilon, delta in (("1", "1e-6"), ("0.1", "1e-9"), ("8", "1e-3"), ("1e-300", "1e-6")):
        rho = float(largest_rho(Fraction(epsilon), Fraction(delta)))
        assert concentrated_delta(rho, float(Fraction(epsilon))) <= float(delta)
        assert concentrated_delta(rho * 1.01, float(Fraction(epsilon))) > float(delta)


def test_published_rho() -> None:
    # Bun and Steinke 2016, proposition 1.3: rho-zCDP gives epsilon = rho + 2 sqrt(rho ln(1/delta)); ours is tighter.
    for epsilon, delta in ((1.0, 1e-6), (0.5, 1e-5), (4.0, 1e-9)):
        loose = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        rho = float(largest_rho(Fraction(epsilon), Fraction(delta)))
        assert loose < rho < 1.7 * loose


def test_where_the_second_tail_is_no_normal_double_nothing_is_subtracted() -> None:
    for epsilon, delta in ((700, "1e-12"), (710, "1e-12"), (715, "1e-12"), (727, "1e-6"), (740, "1e-6"), (900, "1e-9")):
        # A tail of 1e-310 has lost its digits, and exp(epsilon) would blow its rounding up to a tenth of delta.
        shift = 10**6
        variance = smallest_variance(Fraction(epsilon), Fraction(delta), shift)
        sigma = mp.sqrt(mp.mpf(variance.numerator) / variance.denominator)
        first = mp.floor(epsilon * sigma**2 / shift - mp.mpf(shift) / 2) + 1
        above, below = (mp.erfc(where / (sigma * mp.sqrt(2))) / 2 for where in (first - 0.5, first + shift - 0.5))
        true = above - mp.exp(epsilon) * below  # the integral: as good as the sum where sigma is thousands of steps
        assert mp.mpf(0) < true <= mp.mpf(delta) * (1 + mp.mpf(10) ** -6)
