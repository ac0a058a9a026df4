"""Rényi curves against brute-force tables and dp-accounting, and the conversion to epsilon and delta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import dp_accounting
import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from celosia.accounting import renyi
from celosia.accounting.prices.renyi import ORDERS, epsilons_by_order, renyi_delta, renyi_epsilon
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    Guarantee,
    GuaranteedEvent,
    KeySelectionEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.testing import Witness, witnesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

SOME = np.array([1.01, 1.5, 2.0, 3.0, 7.5, 32.0, 256.0])
COUNT = LaplaceEvent(scale=10, sensitivity=1)
NOISE = GaussianEvent(variance=100, sensitivity_squared=1)
FINE = GaussianEvent(variance=2**40, sensitivity_squared=2**40)


def divergences(here: Array, there: Array) -> Array:
    """Return the larger Rényi divergence of both directions at each order, by its definition."""
    with np.errstate(divide="ignore"):
        logs = np.log(here), np.log(there)
    ways = []
    for p, q in (logs, logs[::-1]):
        seen = p > -np.inf
        if np.isneginf(q[seen]).any():
            return np.full(SOME.size, np.inf)
        terms = SOME[:, None] * p[seen] + (1 - SOME[:, None]) * q[seen]
        ways.append(special.logsumexp(terms, axis=1) / (SOME - 1))
    return np.asarray(np.maximum(*ways))


def check_the_curve_covers_every_table(witness: Witness) -> None:
    try:
        curve = renyi(witness.event, SOME)
    except NotPricedError:
        assert "ApproxDP" in repr(witness.event) or isinstance(witness.event, KeySelectionEvent)
        return
    assert (divergences(witness.here, witness.there) <= curve * (1 + 1e-10) + 1e-12).all()


def test_the_curve_covers_every_table() -> None:
    for witness in witnesses():
        check_the_curve_covers_every_table(witness)


TIGHT = (
    LaplaceEvent(scale=2, sensitivity=1),
    LaplaceEvent(scale=2, sensitivity=3),
    RandomizedResponseEvent(epsilon=1),
    RandomizedResponseEvent(epsilon=1, categories=4),
    PoissonSampledEvent(event=LaplaceEvent(scale=2, sensitivity=1), probability="1/4"),
    GroupEvent(event=RandomizedResponseEvent(epsilon=1), size=2),
    ReplacedEvent(event=LaplaceEvent(scale=2, sensitivity=1)),
)


def test_curves_of_what_is_known_whole_are_exact() -> None:
    for event in TIGHT:
        [witness] = [one for one in witnesses() if one.event == event]
        np.testing.assert_allclose(renyi(event, SOME), divergences(witness.here, witness.there), rtol=1e-9)


def sampled(probability: float) -> PoissonSampledEvent:
    noise = GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real")
    return PoissonSampledEvent(event=noise, probability=probability)


def test_sampled_gaussian_noise_costs_what_dp_accounting_says() -> None:
    for probability in (0.001, 0.01, 0.3, 1.0):
        # Mironov, Talwar and Zhang 2019, by dp-accounting 0.6.0, whose fractional orders are rounded up a lot.
        whole = np.array([2.0, 3.0, 32.0, 256.0])
        accountant = rdp_privacy_accountant.RdpAccountant(whole)
        accountant.compose(dp_accounting.PoissonSampledDpEvent(probability, dp_accounting.GaussianDpEvent(2.0)))
        np.testing.assert_allclose(renyi(sampled(probability), whole), accountant._rdp, rtol=1e-10)


@pytest.mark.parametrize(("probability", "order"), [(0.001, 1.5), (0.01, 7.5), (0.3, 1.5)])
def test_fractional_orders_are_the_integral_rounded_up(probability: float, order: float) -> None:
    with mpmath.workdps(30):
        share, variance = mpmath.mpf(probability), 4

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            grown = share * mpmath.expm1((2 * x - 1) / (2 * variance))
            return mpmath.npdf(x, 0, 2) * ((1 + grown) ** order - 1 - order * grown)

        truth = mpmath.log1p(mpmath.quad(integrand, list(range(-40, 80, 4)))) / (order - 1)
        [found] = renyi(sampled(probability), np.array([order]))
        assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -10)


def test_noise_costs_what_dp_accounting_says() -> None:
    accountant = rdp_privacy_accountant.RdpAccountant(SOME)
    accountant.compose(dp_accounting.LaplaceDpEvent(3.0))
    np.testing.assert_allclose(
        renyi(LaplaceEvent(scale=3, sensitivity=1, arithmetic="real"), SOME), accountant._rdp, rtol=1e-10
    )
    accountant = rdp_privacy_accountant.RdpAccountant(SOME)
    accountant.compose(dp_accounting.GaussianDpEvent(10.0))
    np.testing.assert_allclose(renyi(NOISE, SOME), accountant._rdp, rtol=1e-10)


def test_sampled_grid_noise_has_a_curve_too() -> None:
    step = PoissonSampledEvent(event=GaussianEvent(variance=16, sensitivity_squared=1), probability="0.01")
    real = PoissonSampledEvent(
        event=GaussianEvent(variance=16, sensitivity_squared=1, arithmetic="real"), probability="0.01"
    )
    assert (renyi(step, SOME) >= renyi(real, SOME)).all()
    np.testing.assert_allclose(renyi(step, SOME[:-1]), renyi(real, SOME[:-1]), rtol=0.1)
    processed = PoissonSampledEvent(event=PostProcessedEvent(event=step.event, by="rounding"), probability="0.01")
    assert (renyi(processed, SOME) == renyi(step, SOME)).all()
    nothing = PoissonSampledEvent(event=step.event, probability=0)
    assert (renyi(nothing, SOME) <= 1e-12).all()


def test_structures_add_multiply_and_take_the_largest() -> None:
    one, two = renyi(COUNT, SOME), renyi(NOISE, SOME)
    np.testing.assert_allclose(renyi(RepeatedEvent(event=COUNT, times=10**9), SOME), 1e9 * one, rtol=1e-11)
    np.testing.assert_allclose(renyi(ComposedEvent(events=(COUNT, NOISE, COUNT)), SOME), 2 * one + two, rtol=1e-11)
    np.testing.assert_allclose(renyi(ParallelEvent(events=(COUNT, NOISE)), SOME), np.maximum(one, two), rtol=1e-11)
    answers = [RandomizedResponseEvent(epsilon=epsilon) for epsilon in (1, 2, 3)]
    curves = [renyi(answer, SOME) for answer in answers]
    np.testing.assert_allclose(renyi(ParallelEvent(events=answers), SOME), curves[1] + curves[2], rtol=1e-11)
    np.testing.assert_allclose(renyi(ParallelEvent(events=answers, fixed=True), SOME), curves[2], rtol=1e-11)
    np.testing.assert_allclose(renyi(ParallelEvent(events=[answers[0]] * 3), SOME), 2 * curves[0], rtol=1e-11)


def test_the_two_largest_are_taken_order_by_order() -> None:
    # At small orders the count is dearer, at large ones the noise is.
    count = LaplaceEvent(scale=1, sensitivity=1, adjacency=ReplaceOne)
    noise = GaussianEvent(variance=4, sensitivity_squared=1, adjacency=ReplaceOne)
    small = LaplaceEvent(scale=4, sensitivity=1, adjacency=ReplaceOne)
    curves = np.sort([renyi(event, SOME) for event in (count, noise, small)], axis=0)
    found = renyi(ParallelEvent(events=(count, noise, small)), SOME)
    np.testing.assert_allclose(found, curves[1] + curves[2], rtol=1e-11)


def test_the_general_rule_for_groups() -> None:
    # Mironov 2017, proposition 2: a group of 2^c at order alpha >= 2 costs 3^c times the divergence at 2^c alpha.
    step = PoissonSampledEvent(event=FINE, probability="0.1")
    orders = np.array([1.5, 2.0, 5.0])
    for size, doublings in ((2, 1), (3, 2), (4, 2), (5, 3)):
        expected = 3.0**doublings * renyi(step, 2.0**doublings * np.array([2.0, 2.0, 5.0]))
        np.testing.assert_allclose(renyi(GroupEvent(event=step, size=size), orders), expected, rtol=1e-12)
    np.testing.assert_allclose(
        renyi(ReplacedEvent(event=step), orders), 3 * renyi(step, np.array([4.0, 4.0, 10.0])), rtol=1e-12
    )


def test_guarantees() -> None:
    cases: list[tuple[Guarantee, Any]] = [
        (ZCDP(rho="0.3"), 0.3 * SOME),
        (GaussianDP(mu=2), 2 * SOME),
        (RenyiDP(orders=(1.5, 3, 32), epsilons=(1, 2, 5)), [1, 1, 2, 2, 5, 5, math.inf]),
    ]
    for guarantee, curve in cases:
        np.testing.assert_allclose(renyi(GuaranteedEvent(guarantee=guarantee), SOME), curve, rtol=1e-11)


def test_a_pure_guarantee_costs_the_curve_of_randomized_response() -> None:
    found = renyi(GuaranteedEvent(guarantee=PureDP(epsilon=1, adjacency=ReplaceOne)), SOME)
    np.testing.assert_allclose(found, renyi(RandomizedResponseEvent(epsilon=1), SOME), rtol=1e-11)


def test_what_has_no_curve_is_not_priced() -> None:
    cases: list[Event] = [
        GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")),
        PoissonSampledEvent(event=GuaranteedEvent(guarantee=ZCDP(rho=1)), probability="0.1"),
    ]
    for event in cases:
        with pytest.raises(NotPricedError, match="cannot be priced"):
            renyi(event, SOME)


def test_divergences_grow_with_their_order() -> None:
    cases: list[Event] = [
        COUNT,
        NOISE,
        ExponentialEvent(epsilon=1),
        PoissonSampledEvent(event=FINE, probability="0.01"),
        FixedSampledEvent(event=RandomizedResponseEvent(epsilon=1), size=1, population=10),
        ShuffledEvent(event=RandomizedResponseEvent(epsilon=1), reports=100),
    ]
    for event in cases:
        curve = renyi(event, ORDERS[:150])
        assert (curve > 0).all()
        assert (np.diff(curve) >= -1e-11 * curve[1:]).all()


@given(st.floats(1e-4, 10), st.floats(1e-12, 0.3))
def test_the_conversion_is_that_of_canonne_kamath_and_steinke(rate: float, delta: float) -> None:
    curve = rate * SOME
    with mpmath.workdps(40):
        truths = [
            mpmath.mpf(float(value)) + mpmath.log1p(-1 / a) - (mpmath.log(mpmath.mpf(delta)) + mpmath.log(a)) / (a - 1)
            for a, value in zip(map(mpmath.mpf, SOME.tolist()), curve, strict=True)
        ]
        for found, truth in zip(epsilons_by_order(SOME, curve, delta), truths, strict=True):
            assert max(truth, 0) <= found <= max(truth, 0) * (1 + 1e-11) + 1e-11
    epsilon = renyi_epsilon(SOME, curve, delta)
    assert epsilon == epsilons_by_order(SOME, curve, delta).min()
    assert renyi_delta(SOME, curve, epsilon) <= delta * (1 + 1e-8)


def test_the_conversion_is_dp_accounting_s() -> None:
    orders = np.array([1.5, 2, 4, 8, 16, 32, 64])
    curve = orders / 8
    epsilon, _ = rdp_privacy_accountant.compute_epsilon(orders, curve, 1e-5)
    assert renyi_epsilon(orders, curve, 1e-5) == pytest.approx(epsilon, rel=1e-10)
    delta, _ = rdp_privacy_accountant.compute_delta(orders, curve, 3.0)
    assert renyi_delta(orders, curve, 3.0) == pytest.approx(delta, rel=1e-8)


def test_a_delta_that_underflows_is_not_zero() -> None:
    assert renyi_delta(ORDERS, ORDERS / 2, 1000.0) > 0
    assert renyi_delta(ORDERS, ORDERS * 1000, 0.0) == 1
