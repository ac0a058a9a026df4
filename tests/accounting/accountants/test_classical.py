"""Published values of basic, optimal and advanced composition, and how they treat deltas and unlike events."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import AdvancedAccountant, BasicAccountant, PureAccountant
from celosia.core import (
    ApproxDP,
    GaussianEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PureDP,
    RandomizedResponseEvent,
)
from celosia.testing import Witness, divergence

COUNT = LaplaceEvent(scale=10, sensitivity=1)
APPROX = GuaranteedEvent(guarantee=ApproxDP(epsilon="0.1", delta="1e-8"))


def test_a_thousand_counts() -> None:
    # Dwork, Rothblum and Vadhan 2010: sqrt(2 k ln(1/delta)) epsilon + k epsilon (e^epsilon - 1). The optimum of
    # Kairouz, Oh and Viswanath 2017 is 17.787, by a direct sum.
    assert PureAccountant().spend(COUNT, times=1000).epsilon() == 100
    assert BasicAccountant().spend(COUNT, times=1000).epsilon(0) == 100
    assert PureAccountant().spend(COUNT, times=1000).epsilon(1e-5) == pytest.approx(17.787, abs=5e-4)
    expected = math.sqrt(2000 * math.log(1e5)) * 0.1 + 100 * math.expm1(0.1)
    assert expected == pytest.approx(25.69, abs=5e-3)
    found = AdvancedAccountant().spend(COUNT, times=1000).epsilon(1e-5)
    assert expected <= found <= expected * (1 + 1e-10)


def test_sums_are_exact() -> None:
    assert PureAccountant().spend(COUNT, times=10).guarantee() == PureDP(epsilon=1)
    assert PureAccountant().spend(COUNT, times=10).epsilon() == 1.0
    assert BasicAccountant().spend(APPROX, times=10).guarantee() == ApproxDP(epsilon=1, delta="1e-7")


def test_a_pure_accountant_refuses_what_has_a_delta() -> None:
    for event in (APPROX, GaussianEvent(variance=1, sensitivity_squared=1)):
        with pytest.raises(NotPricedError):
            PureAccountant().spend(event)


def test_the_events_own_deltas_must_be_covered() -> None:
    cases: list[Any] = [BasicAccountant, AdvancedAccountant]
    for kind in cases:
        spent = kind().spend(APPROX, times=100)
        with pytest.raises(NotPricedError, match="delta must be at least 1e-06, the sum of the events' own"):
            spent.epsilon("9.9e-7")
        assert spent.epsilon("1e-6") == 10
        assert spent.delta(10) == pytest.approx(1e-6)
        assert BasicAccountant().spend(APPROX, times=100).delta("9.99") == 1
        assert BasicAccountant().spend(APPROX, times=10**9).delta(10**9) == 1


def test_advanced_composition_works_with_what_is_left_of_delta() -> None:
    spent = AdvancedAccountant().spend(APPROX, times=1000)
    expected = math.sqrt(2000 * math.log(1 / 9e-5)) * 0.1 + 100 * math.expm1(0.1)
    assert spent.epsilon("1e-4") == pytest.approx(expected, rel=1e-9)
    assert spent.delta(expected * (1 + 1e-9)) == pytest.approx(1e-4, rel=1e-6)
    assert spent.delta(5) == 1  # less than the drift alone


def test_unlike_events_are_taken_for_the_largest() -> None:
    one, two = RandomizedResponseEvent(epsilon=1), RandomizedResponseEvent(epsilon="0.5")
    mixed = PureAccountant().spend(one).spend(two, times=2)
    alike = PureAccountant().spend(one, times=3)
    assert mixed.epsilon() == 2
    assert mixed.delta(1) == alike.delta(1)
    free = RandomizedResponseEvent(epsilon=0)
    assert PureAccountant().spend(one).spend(free, times=10**6).delta("0.5") == PureAccountant().spend(one).delta("0.5")
    assert PureAccountant().spend(free, times=10**6).epsilon(1e-9) == 0


EPSILONS = st.floats(0, 4).map(lambda epsilon: 0.0 if epsilon < 1e-9 else epsilon)


def response(epsilon: float) -> Witness:
    truth = 1 / (1 + math.exp(-epsilon))
    event = RandomizedResponseEvent(epsilon=epsilon)
    return Witness(event=event, here=[truth, 1 - truth], there=[1 - truth, truth])  # type: ignore[arg-type]


@given(st.lists(st.floats(0.05, 2), min_size=1, max_size=6), EPSILONS)
def test_no_bound_is_below_the_multiplied_tables(epsilons: list[float], epsilon: float) -> None:
    parts = [response(value) for value in epsilons]
    truth = divergence(parts, epsilon)
    for kind in (PureAccountant, BasicAccountant, AdvancedAccountant):
        accountant = kind()
        for part in parts:
            accountant.spend(part.event)
        assert accountant.delta(epsilon) >= truth - 1e-14


@given(st.floats(0.05, 2), st.integers(1, 10), EPSILONS)
def test_the_optimum_is_reached_by_randomized_response(epsilon0: float, times: int, epsilon: float) -> None:
    truth = divergence([response(epsilon0)] * times, epsilon)
    assert PureAccountant().spend(RandomizedResponseEvent(epsilon=epsilon0), times=times).delta(epsilon) == (
        pytest.approx(truth, rel=1e-6, abs=1e-12)
    )


def test_parts_of_a_partition() -> None:
    parts = [RandomizedResponseEvent(epsilon=epsilon) for epsilon in (1, 2, 3)]
    for kind in (PureAccountant, BasicAccountant):
        assert kind().spend(ParallelEvent(events=parts)).epsilon(0) == 5
        assert kind().spend(ParallelEvent(events=parts, fixed=True)).epsilon(0) == 3
    assert AdvancedAccountant().spend(ParallelEvent(events=parts)).epsilon("1e-9") == 5
    counts = [LaplaceEvent(scale=1, sensitivity=s) for s in (1, 2, 3)]
    assert BasicAccountant().spend(ParallelEvent(events=counts)).epsilon(0) == 3


def test_what_is_left_is_never_negative() -> None:
    accountant = BasicAccountant().spend(APPROX, times=100)
    assert accountant.remaining(ApproxDP(epsilon=5, delta=1)) == ApproxDP(epsilon=0, delta=Fraction(999999, 10**6))
