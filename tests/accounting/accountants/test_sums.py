"""Published values of concentrated, Rényi and Gaussian composition; dp-accounting on the same events."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import GDPAccountant, RenyiAccountant, ZCDPAccountant
from celosia.accounting.accountants.sums import exact_orders
from celosia.accounting.prices.renyi import ORDERS
from celosia.core import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    GaussianEvent,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    ParameterError,
    PoissonSampledEvent,
    PureDP,
    RenyiDP,
    ReplaceOne,
)

COUNT = LaplaceEvent(scale=10, sensitivity=1)
FINE_COUNT = LaplaceEvent(scale=10 * 2**20, sensitivity=2**20)
FINE = GaussianEvent(variance=2**40, sensitivity_squared=2**40)
STEP = PoissonSampledEvent(event=FINE, probability="0.01")


def test_a_thousand_counts() -> None:
    # Rényi, by dp-accounting 0.6.0: 18.576 for continuous noise, 18.964 for whole counts (randomized response).
    assert 19.03 < ZCDPAccountant().spend(COUNT, times=1000).epsilon(1e-5) < 19.05
    assert RenyiAccountant().spend(COUNT, times=1000).epsilon(1e-5) == pytest.approx(18.964, abs=1e-3)
    assert ZCDPAccountant().spend(FINE_COUNT, times=1000).epsilon(1e-5) <= 20.17
    assert 18.57 < RenyiAccountant().spend(FINE_COUNT, times=1000).epsilon(1e-5) <= 18.58


def test_ten_thousand_steps_of_training() -> None:
    # sigma = 1, q = 0.01, delta = 1e-5: dp-accounting 0.6.0 says 6.7128, at its orders.
    accountant = RenyiAccountant().spend(STEP, times=10_000)
    assert 6.70 < accountant.epsilon(1e-5) <= 6.7128
    assert accountant.delta(6.7128) <= 1e-5
    orders = [*range(2, 17), 32, 64]
    reference = rdp_privacy_accountant.RdpAccountant(orders)
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    reference.compose(dp_accounting.SelfComposedDpEvent(step, 10_000))
    assert RenyiAccountant(orders).spend(STEP, times=10_000).epsilon(1e-5) == pytest.approx(
        reference.get_epsilon(1e-5), rel=1e-9
    )


@given(st.floats(0.05, 20), st.floats(1e-12, 0.1))
def test_gaussian_noise_costs_what_the_exact_formula_says(sigma: float, delta: float) -> None:
    event = GaussianEvent(variance=sigma**2, sensitivity_squared=1, arithmetic="real")
    epsilon = GDPAccountant().spend(event).epsilon(delta)
    # Balle and Wang 2018, as dp-accounting has it: the delta at our epsilon is at most delta, and nearly so.
    found = dp_accounting.get_sigma_gaussian(epsilon, delta) if epsilon > 1e-6 else sigma
    assert found == pytest.approx(sigma, rel=1e-5)
    assert ZCDPAccountant().spend(event).epsilon(delta) >= epsilon


def test_zcdp_uses_the_best_order() -> None:
    accountant = ZCDPAccountant().spend(GaussianEvent(variance=1, sensitivity_squared=1))
    orders = 1 + np.geomspace(1e-6, 1e6, 200_001)
    for delta in (0.5, 1e-2, 1e-5, 1e-12, 1e-200):
        values = orders / 2 + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
        assert accountant.epsilon(delta) == pytest.approx(max(values.min(), 0), rel=1e-7)
        assert accountant.delta(accountant.epsilon(delta) * (1 + 1e-9)) <= delta * (1 + 2e-9)
    assert ZCDPAccountant().spend(GuaranteedEvent(guarantee=ZCDP(rho="1e-30"))).epsilon(1e-5) < 1e-12
    assert accountant.delta(10**4) > 0  # it underflows, but is not zero


def test_orders_that_are_given_are_kept() -> None:
    accountant = RenyiAccountant([2, "2.5", 8]).spend(FINE, times=2)
    assert accountant.orders.tolist() == [2.0, 2.5, 8.0]
    curve = accountant.guarantee()
    assert isinstance(curve, RenyiDP)
    assert [float(order) for order in curve.orders] == [2.0, 2.5, 8.0]
    assert [float(epsilon) for epsilon in curve.epsilons] == pytest.approx([2.0, 2.5, 8.0], rel=1e-9)
    assert RenyiAccountant().orders is ORDERS
    fine = RenyiAccountant().spend(FINE, times=2)
    assert fine.epsilon(1e-5) < accountant.epsilon(1e-5)
    with pytest.raises(ValueError, match="read-only"):
        ORDERS[0] = 3


def test_bad_orders_are_refused() -> None:
    cases: list[Any] = [[], "28", 2, [1], [0.5, 2], [2, math.nan], [2, math.inf], ["x"], [True], [None]]
    for orders in cases:
        with pytest.raises(ParameterError, match="orders must be"):
            exact_orders(orders)


def test_a_curve_known_at_some_orders_is_added_at_those() -> None:
    known = GuaranteedEvent(guarantee=RenyiDP(orders=(2, 8), epsilons=("0.1", "0.4")))
    accountant = RenyiAccountant([2, 8, 32]).spend(known, times=10)
    curve = accountant.guarantee()
    assert isinstance(curve, RenyiDP)
    assert [float(epsilon) for epsilon in curve.epsilons] == pytest.approx([1, 4], rel=1e-9)
    with pytest.raises(NotPricedError, match="no finite Rényi divergence at these orders"):
        RenyiAccountant([32]).spend(known)


def test_squares_of_mu_add_up() -> None:
    accountant = (
        GDPAccountant().spend(FINE, times=9).spend(GaussianEvent(variance=2**40, sensitivity_squared=16 * 2**40))
    )
    total = accountant.guarantee()
    assert isinstance(total, GaussianDP)
    assert float(total.mu) == pytest.approx(5, rel=1e-9)
    assert total.mu >= 5


def test_parts_of_a_partition() -> None:
    parts = [GaussianEvent(variance=2**40, sensitivity_squared=s * 2**40, adjacency=ReplaceOne) for s in (1, 9, 16)]
    gaussian = GDPAccountant().spend(ParallelEvent(events=parts)).guarantee()
    assert isinstance(gaussian, GaussianDP)
    assert float(gaussian.mu) == pytest.approx(5, rel=1e-9)
    assert ZCDPAccountant().spend(ParallelEvent(events=parts)).guarantee() == ZCDP(rho="12.5", adjacency=ReplaceOne)
    assert ZCDPAccountant().spend(ParallelEvent(events=parts, fixed=True)).guarantee() == ZCDP(
        rho=8, adjacency=ReplaceOne
    )
    curve = RenyiAccountant([2]).spend(ParallelEvent(events=parts)).guarantee()
    assert isinstance(curve, RenyiDP)
    assert float(curve.epsilons[0]) == pytest.approx(25, rel=1e-9)


@pytest.mark.parametrize("make", [ZCDPAccountant, lambda: RenyiAccountant([2, 4, 8, 16, 64]), GDPAccountant])
@given(epsilon=st.floats(0.1, 10), delta=st.floats(1e-9, 1e-2))
def test_a_limit_made_from_epsilon_and_delta_implies_them(
    make: type[ZCDPAccountant], epsilon: float, delta: float
) -> None:
    accountant = make()
    limit = accountant.limit(ApproxDP(epsilon=epsilon, delta=delta))
    if isinstance(limit, RenyiDP):
        for order, bound in zip(limit.orders, limit.epsilons, strict=True):
            if bound > 0:
                one = RenyiAccountant([order]).spend(
                    GuaranteedEvent(guarantee=RenyiDP(orders=(order,), epsilons=(bound,)))
                )
                assert one.epsilon(Fraction(delta) / 5) <= epsilon * (1 + 1e-11)
                assert one.epsilon(Fraction(delta) / 5) == pytest.approx(epsilon, rel=1e-9)
        return
    full = make().spend(GuaranteedEvent(guarantee=limit))
    assert full.epsilon(delta) <= epsilon * (1 + 1e-8)
    assert full.epsilon(delta) == pytest.approx(epsilon, rel=1e-4)


def test_budgets_of_another_kind_are_refused() -> None:
    cases: list[Any] = [
        (ZCDPAccountant, PureDP(epsilon=1)),
        (ZCDPAccountant, ApproxDP(epsilon=1, delta=0)),
        (GDPAccountant, ZCDP(rho=1)),
        (GDPAccountant, ApproxDP(epsilon=0, delta="1e-6")),
        (lambda: RenyiAccountant([2, 8]), ZCDP(rho=1)),
        (lambda: RenyiAccountant([2, 8]), RenyiDP(orders=(2, 4), epsilons=(1, 1))),
    ]
    for make, budget in cases:
        with pytest.raises(GuaranteeMismatchError, match=r"budget: the .* accountant has no limit for"):
            make().limit(budget)


def test_a_filter_by_orders_that_may_change_is_refused() -> None:
    with pytest.raises(ParameterError, match="orders: a filter needs"):
        RenyiAccountant().limit(ApproxDP(epsilon=1, delta="1e-6"))


def test_a_delta_beyond_the_doubles_is_not_priced_by_gaussian_privacy() -> None:
    spent = GDPAccountant().spend(GaussianEvent(variance=4, sensitivity_squared=1))
    with pytest.raises(NotPricedError, match="1e-300"):
        spent.epsilon("1e-300")
