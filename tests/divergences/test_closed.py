"""Closed forms against high-precision integrals, the statements of the Rényi thesis, and Google's accountant."""

import itertools
import math

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.divergences import Laplace, MultivariateNormal, Normal, hockey_stick, renyi
from celosia.divergences.closed import (
    hockey_stick_laplace,
    hockey_stick_normal,
    renyi_laplace,
    renyi_multivariate,
    renyi_normal,
    whiten,
)

mp = mpmath.mp.clone()
mp.dps = 20

NORMALS = [(Normal(0, 1), Normal(1, 1)), (Normal(0, 1), Normal(1, 4)), (Normal(0.5, 3), Normal(-1, 2))]
LAPLACES = [(Laplace(0, 1), Laplace(1, 1)), (Laplace(0, 1), Laplace(2, 3)), (Laplace(1, 2.5), Laplace(0, 2))]
ORDERS = [0.25, 0.5, 1.5, 2.0, 2.9]


def log_density(side: Normal | Laplace, x: mpmath.mpf) -> mpmath.mpf:
    if isinstance(side, Normal):
        return -((x - side.mean) ** 2) / (2 * mp.mpf(side.variance)) - mp.log(2 * mp.pi * side.variance) / 2
    return -abs(x - side.location) / mp.mpf(side.scale) - mp.log(2 * mp.mpf(side.scale))


def integral(p: Normal | Laplace, q: Normal | Laplace, order: float) -> float:
    centres = [side.mean if isinstance(side, Normal) else side.location for side in (p, q)]
    spread = max(math.sqrt(side.variance) if isinstance(side, Normal) else side.scale for side in (p, q))
    edges = sorted({*centres, *(c + k * spread for c in centres for k in (-300, -30, 30, 300))})
    if order == 1:
        value = mp.quad(lambda x: mp.exp(log_density(p, x)) * (log_density(p, x) - log_density(q, x)), edges)
        return float(value)
    value = mp.quad(lambda x: mp.exp(order * log_density(p, x) + (1 - order) * log_density(q, x)), edges)
    return float(mp.log(value) / (order - 1))


@pytest.mark.parametrize("order", [*ORDERS, 1.0])
@pytest.mark.parametrize(("p", "q"), [*NORMALS, *LAPLACES])
@pytest.mark.sampled(4)
def test_renyi_is_the_integral(p: Normal | Laplace, q: Normal | Laplace, order: float) -> None:
    assert renyi(p, q, order) == pytest.approx(integral(p, q, order), rel=1e-10)


def test_hockey_stick_is_the_integral() -> None:
    epsilon_cases: list[float] = [0.0, 0.3, 1.0, 2.5]
    p_cases: list[tuple[Normal | Laplace, Normal | Laplace]] = [
        *NORMALS,
        *LAPLACES,
        *((q, p) for p, q in NORMALS + LAPLACES),
    ]
    for epsilon in epsilon_cases:
        for p, q in p_cases:
            x = np.linspace(-100, 100, 200_001)
            log_p, log_q = p.frozen().logpdf(x), q.frozen().logpdf(x)
            riemann = np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0).sum() * (x[1] - x[0])
            assert hockey_stick(p, q, epsilon) == pytest.approx(riemann, abs=2e-6)


@given(st.floats(0.2, 5), st.floats(0, 4))
def test_hockey_stick_is_what_googles_accountant_says(shift: float, epsilon: float) -> None:
    gaussian = privacy_loss_mechanism.GaussianPrivacyLoss(1.0, sensitivity=shift)
    assert hockey_stick_normal(Normal(shift, 1), Normal(0, 1), epsilon) == pytest.approx(
        gaussian.get_delta_for_epsilon(epsilon), rel=1e-8, abs=1e-15
    )
    laplace = privacy_loss_mechanism.LaplacePrivacyLoss(1.0, sensitivity=shift)
    assert hockey_stick_laplace(Laplace(shift, 1), Laplace(0, 1), epsilon) == pytest.approx(
        laplace.get_delta_for_epsilon(epsilon), rel=1e-8, abs=1e-15
    )


@given(st.floats(1.01, 50), st.floats(-5, 5), st.floats(0.1, 10))
def test_seed_004_with_a_common_spread(order: float, shift: float, spread: float) -> None:
    # Corollary 2.4.1 and proposition 2.4.3.
    assert renyi_normal(Normal(0, spread), Normal(shift, spread), order) == pytest.approx(
        order * shift**2 / (2 * spread), rel=1e-12, abs=1e-15
    )
    gap = abs(shift) / spread
    first = math.log(order / (2 * order - 1)) + (order - 1) * gap
    second = math.log((order - 1) / (2 * order - 1)) - order * gap
    assert renyi_laplace(Laplace(shift, spread), Laplace(0, spread), order) == pytest.approx(
        float(np.logaddexp(first, second)) / (order - 1), rel=1e-9, abs=1e-12
    )


def test_seed_004_normal_with_both_variances() -> None:
    # Proposition 2.4.2; sigma_alpha^2 = (1 - alpha) sigma_1^2 + alpha sigma_2^2 must be positive.
    order, p, q = 1.7, Normal(1, 2), Normal(3, 5)
    mixed = (1 - order) * 2 + order * 5
    by_hand = order * 4 / (2 * mixed) + math.log(5 / 2) / 2 + math.log(5 / mixed) / (2 * (order - 1))
    assert renyi_normal(p, q, order) == pytest.approx(by_hand, rel=1e-13)


def test_infinite_orders_begin_where_they_should() -> None:
    # Normal: (1 - alpha) 4 + alpha = 0 at 4/3. Laplace: alpha / 2 = alpha - 1 at 2.
    assert renyi_normal(Normal(0, 4), Normal(0, 1), 4 / 3 - 1e-6) < math.inf
    assert renyi_normal(Normal(0, 4), Normal(0, 1), 4 / 3 + 1e-6) == math.inf
    assert renyi_laplace(Laplace(0, 2), Laplace(0, 1), 2 - 1e-6) < math.inf
    assert renyi_laplace(Laplace(0, 2), Laplace(0, 1), 2) == math.inf


def test_orders_join_without_a_step() -> None:
    cases: list[tuple[Normal | Laplace, Normal | Laplace]] = [*NORMALS, *LAPLACES]
    for p, q in cases:
        for order in (1 - 1e-5, 1 - 1e-9, 1 + 1e-9, 1 + 1e-5, 1 + 1.0000001e-5):
            assert renyi(p, q, order) == pytest.approx(renyi(p, q, 1), rel=1e-4)
        orders = [0, 0.5, 1 - 2e-5, 1 - 5e-6, 1, 1 + 5e-6, 1 + 2e-5, 1.5, 2, 8, 64, math.inf]
        for low, high in itertools.pairwise(renyi(p, q, order) for order in orders):
            assert low <= high * (1 + 1e-9)


def test_high_orders_reach_the_max_divergence() -> None:
    for p, q in [(Normal(0, 1), Normal(1, 4)), (Laplace(0, 1), Laplace(2, 3)), (Laplace(0, 1), Laplace(1, 1))]:
        assert renyi(p, q, 1e7) == pytest.approx(renyi(p, q, math.inf), rel=1e-5)


def test_equal_distributions_are_not_apart() -> None:
    for side in (Normal(1, 2), Laplace(1, 2)):
        assert [renyi(side, side, order) for order in (0, 0.5, 1, 2, 100, math.inf)] == [0.0] * 6
        assert hockey_stick(side, side, 0) == hockey_stick(side, side, 1) == 0


def test_many_dimensions_are_sums_of_one() -> None:
    p, q = MultivariateNormal(np.array([1, 2]), np.diag([1, 3])), MultivariateNormal(np.zeros(2), np.diag([2, 4]))
    for order in (0.0, 0.5, 1.0, 2.0, math.inf):
        apart = renyi(Normal(1, 1), Normal(0, 2), order) + renyi(Normal(2, 3), Normal(0, 4), order)
        assert renyi_multivariate(p, q, order) == pytest.approx(apart, rel=1e-12)


def test_many_dimensions_with_correlation() -> None:
    covariance = np.array([[2, 0.5], [0.5, 1]])
    shift = np.array([1, -1])
    p, q = MultivariateNormal(shift, covariance), MultivariateNormal(np.zeros(2), covariance)
    square = float(shift @ np.linalg.solve(covariance, shift))
    assert renyi(p, q, 3) == pytest.approx(1.5 * square, rel=1e-12)
    assert hockey_stick(p, q, 0.5) == pytest.approx(hockey_stick(Normal(math.sqrt(square), 1), Normal(0, 1), 0.5))
    assert np.allclose(whiten(p, q)[1], 1)
    with pytest.raises(ParameterError, match="same dimension"):
        renyi(p, MultivariateNormal(np.zeros(1), np.eye(1)), 2)


def test_what_doubles_cannot_hold_is_refused() -> None:
    cases: list[float] = [0.5, 1, 2, math.inf]
    for order in cases:
        far: list[tuple[Normal, Normal] | tuple[Laplace, Laplace]] = [
            (Normal(1e308, 1), Normal(-1e308, 1)),
            (Normal(0, 1e-300), Normal(0, 1e300)),
            (Laplace(1e308, 1), Laplace(-1e308, 1)),
            (Laplace(0, 1e-320), Laplace(0, 1)),
        ]
        for p, q in far:
            with pytest.raises(ParameterError, match="too far apart"):
                renyi(p, q, order)
            with pytest.raises(ParameterError, match="too far apart"):
                hockey_stick(p, q, 1)
        assert renyi(Normal(1e130, 1), Normal(0, 1), 2) == pytest.approx(1e260)


def test_a_tail_of_the_profile_keeps_its_digits() -> None:
    # From mpmath: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = 1, eps = 20.
    exact = mp.ncdf(mp.mpf("0.5") - 20) - mp.exp(20) * mp.ncdf(-mp.mpf("0.5") - 20)
    assert hockey_stick_normal(Normal(1, 1), Normal(0, 1), 20) == pytest.approx(float(exact), rel=1e-9)


def test_near_order_one_a_wide_laplace_is_finite() -> None:
    cases: list[float] = [1 - 1e-7, 1 + 1e-7, 1 + 4e-6]
    for order in cases:
        p, q = Laplace(0, 2e5), Laplace(0, 1)
        with mpmath.workdps(40):
            over = mpmath.mpf(order) - 1
            rate = (1 + over) / mpmath.mpf(2e5) - over
            power = 2 / rate * mpmath.mpf(4e5) ** -(1 + over) * mpmath.mpf(2) ** over
            truth = float(mpmath.log(power) / over)
        assert renyi(p, q, order) == pytest.approx(truth, rel=1e-9)


def test_the_last_finite_order_is_found_exactly() -> None:
    # As doubles 0.3 is below and 0.2 above the decimal: at order 3 the integral is just finite.
    assert renyi(Laplace(0, 0.3), Laplace(0, 0.2), 3) == pytest.approx(17.504789810793, rel=1e-9)
    assert renyi(Laplace(0, 3), Laplace(0, 2), 3) == math.inf
    assert renyi(Normal(0, 3), Normal(0, 2), 3) == math.inf
    assert math.isfinite(renyi(Normal(0, 0.3), Normal(0, 0.2), 3))


def test_a_common_variance_is_common_after_rounding() -> None:
    for variance in (0.1, 3.0, 5.0, 7.0):
        p = MultivariateNormal([1, 0], np.diag([variance, 1.0]))
        assert renyi(p, MultivariateNormal([0, 0], np.diag([variance, 2.0])), math.inf) == math.inf


def test_equal_covariances_are_equal_at_every_order() -> None:
    covariance = [[2, 0.3, 0.1], [0.3, 3, 0.7], [0.1, 0.7, 1.1]]
    p, q = MultivariateNormal([1, 0, 0], covariance), MultivariateNormal([0, 0, 0], covariance)
    assert renyi(q, q, math.inf) == 0
    assert renyi(p, q, 1e12) == pytest.approx(1e12 * renyi(p, q, 1), rel=1e-9)


def test_normals_too_far_apart_are_refused() -> None:
    p = MultivariateNormal([1e200, 0], np.eye(2))
    with pytest.raises(ParameterError, match=r"^p and q are too far apart"):
        renyi(p, MultivariateNormal([0, 0], np.eye(2)), 2)


def test_a_needle_far_out_is_told_apart() -> None:
    cases: list[tuple[Normal, Normal]] = [
        (Normal(0, 1e-8), Normal(1000000.3, 1.5e8)),
        (Normal(1e100, 1e-100), Normal(0, 1)),
        (Normal(0, 1e-130), Normal(1e100, 1)),
    ]
    for p, q in cases:
        assert hockey_stick(p, q, 1) == pytest.approx(1, abs=1e-9)


def test_a_narrow_laplace_far_from_zero_keeps_its_width() -> None:
    near = hockey_stick(Laplace(0, 1e-8), Laplace(0, 2e-8), 0.1)
    assert hockey_stick(Laplace(1000000.3, 1e-8), Laplace(1000000.3, 2e-8), 0.1) == pytest.approx(near, rel=1e-12)
    needle = hockey_stick(Laplace(1000000.3, 1.0000001e-08), Laplace(-1e-06, 2e8), 30)
    assert needle == pytest.approx(0.9954598948587009, rel=1e-9)
