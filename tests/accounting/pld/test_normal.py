"""Normal pairs, plain and sampled, against quadrature with forty digits and Google's accountant."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.accounting.pld.normal import Kind, Normal, SampledNormal
from celosia.core import ParameterError

mp = mpmath.mp.clone()
mp.dps = 40
KINDS: tuple[Kind, ...] = ("remove", "add", "fixed")
GOOGLE = np.array(rdp_privacy_accountant.DEFAULT_RDP_ORDERS, dtype=np.float64)


def density_times(
    mu: float, share: float, of: Callable[[mpmath.mpf], mpmath.mpf]
) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """e^(-x^2/2) times a function of the likelihood ratio at x."""
    shift, rate = mp.mpf(mu), mp.mpf(share)
    return lambda x: mp.exp(-x * x / 2) * of(1 - rate + rate * mp.exp(shift * x - shift * shift / 2))


def exact_renyi(mu: float, share: float, order: float, kind: Kind) -> mpmath.mpf:
    a = mp.mpf(order)
    high = (0 if kind == "add" else order * mu) + 2 * mu + 16
    if kind == "fixed":
        terms = density_times(mu, share, lambda r: r**a + r ** (1 - a) - r - 1)
        panels = math.ceil((high - mu / 2) / min(2.0, 4 / mu))
        points = [mp.mpf(mu) / 2 + (high - mp.mpf(mu) / 2) * i / panels for i in range(panels + 1)]
        total = mp.quad(terms, points, method="gauss-legendre", maxdegree=4)
    else:
        b = a if kind == "remove" else 1 - a
        terms = density_times(mu, share, lambda r: r**b - 1 - b * (r - 1))
        step = mp.mpf(1) / 4 / max(1.0, mu)
        low = -16 - (min((order - 1) * mu, 60) if kind == "add" else 0)
        step /= mp.sqrt(1 + (order - 1) * mu * mu / 40) if kind == "add" else 1
        total = step * mp.fsum(terms(step * k) for k in range(int(low / step), int(high / step) + 1))
    return mp.log1p(total / mp.sqrt(2 * mp.pi)) / (a - 1)


def test_divergences_are_rounded_up_and_hardly_at_all(*, thorough: bool) -> None:
    mu_cases: list[tuple[float, float, float]] = [
        (0.01, 1e-6, 1.01),
        (0.01, 0.01, 1000.0),
        (0.01, 0.99, 64.5),
        (0.3, 1e-6, 2.0),
        (0.3, 0.5, 7.3),
        (1.0, 0.01, 1.01),
        (1.0, 0.01, 2.5),
        (1.0, 1e-6, 20.0),
        (1.0, 0.9, 1.000001),
        (4.0, 0.3, 1.5),
        (4.0, 1e-6, 5.0),
    ]
    for place, kind in enumerate(KINDS):
        for mu, share, order in mu_cases if thorough else mu_cases[place :: len(KINDS)]:
            exact = exact_renyi(mu, share, order, kind)
            value = SampledNormal(mu, share, kind).renyi([order])[0]
            assert exact <= value <= exact * (1 + 1e-11)


def test_far_apart() -> None:
    cases: list[tuple[float, float, Kind, float]] = [  # mpmath, forty digits, by the function above: a minute each
        (1.5, 0.01, "fixed", 286.1844894420357),
        (2.0, 0.01, "fixed", 390.7896596280238),
        (7.3, 0.01, "remove", 1454.6638504194107),
        (7.3, 1e-6, "add", 1.0000005000003334e-06),
        (7.3, 0.99, "add", 4.605170185988091),
    ]
    for order, share, kind, expected in cases:
        assert SampledNormal(20.0, share, kind).renyi([order]) == pytest.approx([expected], rel=1e-11)


def test_google_agrees_at_whole_orders() -> None:
    for sigma, share in ((1.0, 0.01), (0.7, 0.3), (5.0, 1e-4), (2.0, 0.9)):
        # At fractional orders its series adds absolute values, and is above by up to a few percent.
        orders = GOOGLE[np.round(GOOGLE) == GOOGLE]
        theirs = np.array(rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(share, sigma, orders))
        assert SampledNormal(1 / sigma, share, "remove").renyi(orders) == pytest.approx(theirs, rel=1e-10)


def test_never_looser_than_google() -> None:
    theirs = np.array(rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(0.01, 1.0, GOOGLE))
    ours = SampledNormal(1.0, 0.01, "remove").renyi(GOOGLE)
    assert np.all(ours <= theirs * (1 + 1e-10))


def test_large_orders_are_bracketed() -> None:
    for order, share in product((100.0, 1e4, 1e6), (1e-6, 0.01, 0.5)):
        # q^a E e^(a l) <= E r^a <= E (1 - q + q e^(a l)), Jensen's inequality.
        for mu in (0.5, 3.0, 20.0):
            power = order * (order - 1) * mu * mu / 2
            low = (order * math.log(share) + power) / (order - 1)
            high = np.logaddexp(math.log1p(-share), math.log(share) + power) / (order - 1)
            for kind in (KINDS[0], KINDS[2]):
                value = SampledNormal(mu, share, kind).renyi([order])[0]
                assert low <= value <= high * (1 + 1e-9) + math.log(2) / (order - 1)
            # The other direction has losses of at most -ln(1 - q), and nearly reaches it.
            assert 0 < SampledNormal(mu, share, "add").renyi([order])[0] <= -math.log1p(-share) * (1 + 1e-11)


@settings(max_examples=60)
@given(st.floats(1e-3, 30), st.floats(1e-9, 1), st.sampled_from(KINDS))
def test_laws(mu: float, share: float, kind: Kind) -> None:
    orders = np.array([1 + 1e-7, 1.3, 2.0, 9.5, 300.0, 1e5])
    values = SampledNormal(mu, share, kind).renyi(orders)
    assert np.all(np.isfinite(values) & (values > 0))
    assert np.all(np.diff(values) >= -1e-11 * values[1:])
    assert np.all(values <= Normal(mu).renyi(orders) * (1 + 1e-11))
    assert np.all(values <= SampledNormal(mu * 1.01, share, kind).renyi(orders) * (1 + 1e-10))
    fixed, removed = (SampledNormal(mu, share, which).renyi(orders) for which in (KINDS[2], KINDS[0]))
    assert np.all(removed <= fixed * (1 + 1e-10))


def test_nothing_overflows() -> None:
    mu_cases: list[float] = [1e-8, 1e-3, 41.0, 1e3, 1e8]
    share_cases: list[float] = [1e-300, 1e-22, 0.5, 1 - 1e-12, 1.0]
    for mu in mu_cases:
        for share in share_cases:
            for kind in KINDS:
                pair = SampledNormal(mu, share, kind)
                values = pair.renyi([1 + 1e-9, 2.0, 1e3, 1e6])
                assert np.all(np.isfinite(values) & (values > 0) & (values <= Normal(mu).renyi([1e6])[0] + 1e-280))
                heights = pair.profile([-1e4, -900.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 800.0, 1e4])
                assert np.all((heights >= 0) & (heights <= 1))
                assert np.all(np.diff(heights) <= 1e-11)


# ------------------------------------------------------------------------------------------------------------- profiles


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    z = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2
    return mp.ncdf(-z) - mp.exp(epsilon) * mp.ncdf(-z - mu)


def test_normal_profiles_are_rounded_up_and_hardly_at_all() -> None:
    mu_cases: list[float] = [1e-6, 0.01, 0.7, 1.0, 3.0, 20.0, 300.0]
    z_cases: list[float] = [-30.0, -1.001, -0.5, 0.0, 1.0, 6.0, 20.0, 37.0]
    for mu in mu_cases:
        for z in z_cases:
            for epsilon in (mu * (z + mu / 2), -mu * (z + mu / 2)):
                exact, value = exact_delta(mu, epsilon), Normal(mu).profile([epsilon])[0]
                assert exact * (1 - mp.mpf(10) ** -30) <= value <= min(1, exact * (1 + 2e-11 * (1 + mu / 20)) + 2e-300)


def test_google_finds_the_same_sampled_profile() -> None:
    for mu, share in product((0.1, 1.3, 5.0), (1e-5, 0.2, 0.97)):
        for pair, adjacency in zip(Normal(mu).poisson(share), (AdjacencyType.REMOVE, AdjacencyType.ADD), strict=True):
            theirs = privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu, sampling_prob=share, adjacency_type=adjacency)
            epsilons = np.linspace(-3, 3, 60) * min(share, 0.3)
            expected = np.array([theirs.get_delta_for_epsilon(epsilon) for epsilon in epsilons])
            assert pair.profile(epsilons) == pytest.approx(expected, rel=1e-8, abs=1e-15)


def test_sampled_profiles_are_rounded_up() -> None:
    share_cases: list[float] = [1e-6, 0.01, 0.5, 0.99]
    mu_cases: list[float] = [0.01, 1.0, 6.0]
    for share in share_cases:
        for mu in mu_cases:
            removed, added = Normal(mu).poisson(share)
            for scaled in (-2.0, -0.99, -0.5, -1e-3, 1e-3, 0.5, 0.99, 2.0, 9.0):
                epsilon = -math.log1p(-share) * scaled * min(mu, 1.0)
                q, alpha = mp.mpf(share), mp.exp(mp.mpf(epsilon))
                cut = (alpha - 1 + q) / q
                exact = q * exact_delta(mu, mp.log(cut)) if cut > 0 else 1 - alpha
                assert (
                    exact * (1 - mp.mpf(10) ** -30) <= removed.profile([epsilon])[0] <= exact * (1 + 1e-8) + 1e-15 * q
                )
                cut = (1 / alpha - 1 + q) / q
                exact = alpha * q * cut * exact_delta(mu, -mp.log(cut)) if cut > 0 else mp.mpf(0)
                assert exact * (1 - mp.mpf(10) ** -30) <= added.profile([epsilon])[0] <= exact * (1 + 1e-8) + 1e-15 * q


def test_fixed_size_is_symmetric_and_the_mixture_above() -> None:
    pair = Normal(1.5).fixed(0.1)
    epsilons = np.linspace(0, 3, 31)
    assert pair.profile(epsilons) == pytest.approx(Normal(1.5).poisson(0.1)[0].profile(epsilons))
    reflected = -np.expm1(-epsilons) + np.exp(-epsilons) * pair.profile(epsilons)
    assert pair.profile(-epsilons) == pytest.approx(reflected, rel=1e-11)
    assert pair.swap() == pair


def test_divergences_are_those_of_the_profile() -> None:
    # E_Q (r^a - 1 - a (r - 1)) is the integral of a (a - 1) alpha^(a-2) H(alpha) beyond 1, and likewise below.
    for kind in KINDS:
        pair, order = SampledNormal(0.8, 0.3, kind), 3.0
        alphas = np.linspace(1e-9, 1, 20_001)
        below = np.interp(alphas, alphas, pair.profile(np.log(alphas)) - (1 - alphas))
        far = np.linspace(1, 60, 20_001)
        above = pair.profile(np.log(far))
        total = np.trapezoid(6 * alphas * below, alphas) + np.trapezoid(6 * far * above, far)
        assert pair.renyi([order])[0] == pytest.approx(math.log1p(total) / 2, rel=1e-3)


# -------------------------------------------------------------------------------------------------- mutants, bad input


def test_mutants_are_caught() -> None:
    exact = float(exact_renyi(1.0, 0.01, 2.5, "remove"))
    without = math.log1p(0.01**2.5 * math.exp(2.5 * 1.5 / 2)) / 1.5  # a mixture that forgot (1 - q)
    assert abs(without / exact - 1) > 0.01
    assert SampledNormal(0.5, 0.01, "remove").renyi([2.5])[0] < exact / 2
    assert SampledNormal(1.0, 0.01, "add").renyi([2.5])[0] < exact * 0.95


def test_mu_is_named() -> None:
    cases: list[Any] = [0, -1.0, math.nan, math.inf, 1e9, 1e-9, True, "1"]
    for mu in cases:
        with pytest.raises(ParameterError, match="mu must be"):
            Normal(mu)
        with pytest.raises(ParameterError, match="mu must be"):
            SampledNormal(mu, 0.5, "add")


def test_other_arguments_are_named() -> None:
    with pytest.raises(ParameterError, match="kind must be"):
        SampledNormal(1.0, 0.5, "both")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="probability"):
        Normal(1.0).fixed(0.0)
    with pytest.raises(ParameterError, match="orders"):
        Normal(1.0).renyi([1.0])
    with pytest.raises(ParameterError, match="epsilons"):
        Normal(1.0).profile([math.nan])


def test_orders_at_which_squares_have_no_digits_left() -> None:
    mu_cases: list[float] = [1e-2, 1.0, 10.0, 40.0]
    order_cases: list[float] = [1e9, 1e10, 1e12, 1e16, 1e200]
    for kind in KINDS:
        for mu in mu_cases:
            for order in order_cases:
                value = SampledNormal(mu, 0.01, kind).renyi([order])[0]
                plain = order * mu**2 / 2
                least = plain + math.log(0.01) * order / (order - 1) if kind != "add" else 0.0
                assert max(least, 0.0) * (1 - 1e-15) <= value <= plain * (1 + 1e-11)


def test_shares_so_small_that_large_losses_change_little() -> None:
    cases: list[tuple[float, float, Kind, float, float]] = [  # forty digits, Gauss and Legendre's rule on panels
        (8.019331693945006, 2.8082910337265612e-30, "remove", 1.2773120087033245, 3.7564602170227487e-35),
        (7.799509664250107, 6.1745269660773e-97, "fixed", 1.0000000000133729, 1.000833295700846e-166),
        (4.07729923039084, 1.9443934761384322e-98, "add", 1.0000000000646456, 3.1362452507047486e-189),
    ]
    for mu, share, kind, order, exact in cases:
        assert exact * (1 + 1e-12) <= SampledNormal(mu, share, kind).renyi([order])[0] <= exact * (1 + 1e-11)


def test_bounds_of_a_wide_pair_keep_their_digits_near_order_1() -> None:
    assert SampledNormal(41.0, 0.5, "remove").renyi([1 + 1e-14, 1 + 1e-9]) == pytest.approx(0.5 * 41**2 / 2, rel=1e-6)


def test_adding_with_nearly_everybody_sampled_is_adding() -> None:
    epsilons = [1.0, 10.0, 20.0, 36.0, 50.0]
    expected = Normal(1.0).profile(epsilons)
    assert SampledNormal(1.0, 1.0, "add").profile(epsilons) == pytest.approx(expected, rel=1e-9, abs=1e-299)
    nearly = SampledNormal(1.0, 1 - 1e-14, "add").profile(epsilons[:3])
    assert nearly == pytest.approx(expected[:3], rel=1e-3)
    assert np.all(nearly <= expected[:3] * (1 + 1e-11))
