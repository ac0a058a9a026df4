"""Spending, refusing and copying, whatever the price; and numbers that are rounded to the safe side."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    Accountant,
    AdaptiveAccountant,
    AdvancedAccountant,
    BasicAccountant,
    Filter,
    GDPAccountant,
    PLDAccountant,
    PureAccountant,
    RenyiAccountant,
    ZCDPAccountant,
    best,
    dominating,
    renyi,
)
from celosia.accounting.accountants.base import exact_bound, exact_delta, least_epsilon
from celosia.accounting.prices.basic import basic
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.gdp import mu
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    GaussianEvent,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    NotPricedError,
    ParameterError,
    PureDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    SameChanges,
)

if TYPE_CHECKING:
    from celosia.core import Event
    from celosia.core.exact import Exact

COUNT = LaplaceEvent(scale=10, sensitivity=1)
NOISE = GaussianEvent(variance=100, sensitivity_squared=1)
ALL = (
    PureAccountant,
    BasicAccountant,
    AdvancedAccountant,
    ZCDPAccountant,
    RenyiAccountant,
    GDPAccountant,
    PLDAccountant,
)


class Counting(Accountant):
    """Counts how often a price was asked."""

    name: ClassVar[str] = "counting"
    __slots__ = ("priced",)

    def __init__(self) -> None:
        super().__init__()
        self.priced: list[Event] = []

    def price(self, event: Event) -> None:
        if isinstance(event, GaussianEvent):
            message = "not this one"
            raise NotPricedError(message)
        self.priced.append(event)

    def epsilon(self, delta: Exact) -> float:
        exact_delta(delta)
        return float(sum(times for _, times in self.events))

    def delta(self, epsilon: Exact) -> float:
        return 0.5 if exact_bound(epsilon) < sum(times for _, times in self.events) else 0.0


def test_any_number_of_times_is_priced_once() -> None:
    cases: list[int] = [10**3, 10**6, 10**12]
    for times in cases:
        accountant = Counting().spend(COUNT, times=times)
        accountant.spend(RepeatedEvent(event=COUNT, times=times)).spend(COUNT)
        assert accountant.priced == [COUNT]
        assert accountant.events == ((COUNT, 2 * times + 1),)


def test_every_accountant_prices_a_million_and_a_million_millions() -> None:
    times_cases: list[int] = [10**6, 10**12]
    for kind in ALL:
        for times in times_cases:
            spent = kind().spend(LaplaceEvent(scale=10**6, sensitivity=1), times=times)
            epsilon = spent.epsilon("1e-5")
            # The mean privacy loss is 5e-13 each, its standard deviation 1e-6; basic composition adds 1e-6 each.
            assert times * 5e-13 < epsilon <= times * 1e-6 * (1 + 1e-12)


def test_spending_is_chained_and_seen() -> None:
    accountant = ZCDPAccountant()
    assert accountant.spend(NOISE).spend(COUNT, times=3) is accountant
    assert accountant.events == ((NOISE, 1), (COUNT, 3))
    assert repr(accountant) == "<ZCDPAccountant of 4 events>"


def test_a_refused_event_changes_nothing() -> None:
    accountant = Counting().spend(COUNT)
    for bad in (NOISE, ComposedEvent(events=(COUNT, LaplaceEvent(scale=1, sensitivity=1), NOISE))):
        with pytest.raises(NotPricedError):
            accountant.spend(bad)
        assert accountant.events == ((COUNT, 1),)
    fresh = Counting()
    with pytest.raises(NotPricedError):
        fresh.spend(NOISE)
    fresh.spend(LaplaceEvent(scale=1, sensitivity=1, adjacency=ReplaceOne, unit="person"))  # no scope was taken over


def test_other_neighbours_and_units_are_refused() -> None:
    accountant = PureAccountant().spend(COUNT)
    with pytest.raises(GuaranteeMismatchError, match=r"adjacency: .* ReplacedEvent"):
        accountant.spend(LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne))
    with pytest.raises(
        GuaranteeMismatchError, match="unit: the events so far protect 'row', this one protects 'person'"
    ):
        accountant.spend(LaplaceEvent(scale=10, sensitivity=1, unit="person"))
    with pytest.raises(GuaranteeMismatchError, match="adjacency"):
        accountant.spend(ReplacedEvent(event=COUNT))
    assert accountant.events == ((COUNT, 1),)


def test_a_guarantee_between_some_histories_only_is_no_price() -> None:
    for kind in ALL:
        event = GuaranteedEvent(guarantee=PureDP(epsilon=1, adjacency=SameChanges))
        accountant = kind()
        with pytest.raises(
            GuaranteeMismatchError, match=r"SameChanges: that holds only between histories .* plain_lifetime"
        ):
            accountant.spend(event)
        assert accountant.events == ()
        for price in (basic, rho, mu, dominating, lambda event: renyi(event, np.array([2.0]))):
            with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
                price(event)
        with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
            best(event, "1e-6")
        with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
            Filter(PureAccountant(), event.guarantee)


def test_bad_times_are_refused() -> None:
    cases: list[Any] = [0, -1, 1.0, True, "2", None, 2**62 + 1]
    for times in cases:
        accountant = PureAccountant().spend(COUNT)
        with pytest.raises(ParameterError, match="times must be"):
            accountant.spend(COUNT, times=times)
        assert accountant.events == ((COUNT, 1),)


def test_times_add_up_to_no_more_than_doubles_hold() -> None:
    accountant = PureAccountant().spend(COUNT, times=2**62)
    with pytest.raises(ParameterError, match=r"2\^62"):
        accountant.spend(COUNT)
    assert accountant.events == ((COUNT, 2**62),)


def test_what_is_no_event_is_refused() -> None:
    cases: list[Any] = [None, 1, "LaplaceEvent", PureDP(epsilon=1)]
    for event in cases:
        with pytest.raises(ParameterError, match="event must be an event"):
            PureAccountant().spend(event)


def test_guarantees_have_the_scope_of_the_events() -> None:
    for kind in ALL:
        event = LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne, unit="person")
        accountant = kind().spend(event, times=5)
        known = accountant.guarantee(delta="1e-6")
        assert isinstance(known, ApproxDP)
        assert (known.adjacency, known.unit, known.delta) == (ReplaceOne, "person", Fraction(1, 10**6))
        assert known.epsilon == Fraction(accountant.epsilon("1e-6"))
        other = accountant.guarantee(epsilon="0.3")
        assert isinstance(other, ApproxDP)
        assert (other.epsilon, other.delta) == (Fraction(3, 10), Fraction(accountant.delta("0.3")))
        with pytest.raises(ParameterError, match="either delta or epsilon"):
            accountant.guarantee(delta="1e-6", epsilon=1)


def test_a_sum_is_its_own_guarantee_and_a_distribution_is_not() -> None:
    assert ZCDPAccountant().spend(NOISE, times=2).guarantee() == ZCDP(rho="0.01")
    assert ZCDPAccountant().guarantee() == ZCDP(rho=0)
    with pytest.raises(ParameterError, match="either delta or epsilon"):
        PLDAccountant().spend(NOISE).guarantee()


def test_copies_go_their_own_way() -> None:
    one = ZCDPAccountant().spend(NOISE)
    other = copy.copy(one).spend(COUNT)
    one.spend(NOISE)
    assert one.events == ((NOISE, 2),)
    assert other.events == ((NOISE, 1), (COUNT, 1))
    assert other.guarantee() == ZCDPAccountant().spend(COUNT).spend(NOISE).guarantee()


def test_only_sums_are_adaptive() -> None:
    adaptive = {kind for kind in ALL if issubclass(kind, AdaptiveAccountant)}
    assert adaptive == {PureAccountant, BasicAccountant, ZCDPAccountant, RenyiAccountant, GDPAccountant}
    assert len({kind.name for kind in ALL}) == len(ALL)


def test_bad_deltas_are_refused() -> None:
    cases: list[Any] = [-0.1, 1, 2, math.nan, math.inf, "x", True, None, "1e-400"]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta must be"):
            exact_delta(delta)


def test_a_delta_of_zero_is_for_pure_privacy() -> None:
    assert exact_delta(0, positive=False) == 0
    with pytest.raises(ParameterError, match="greater than 0 and less than 1, not 0"):
        exact_delta(0)


def test_bad_epsilons_are_refused() -> None:
    cases: list[Any] = [-1, math.nan, math.inf, "x", True, None]
    for epsilon in cases:
        with pytest.raises(ParameterError, match="epsilon must be"):
            exact_bound(epsilon)


@given(st.floats(1e-3, 1e6), st.floats(1e-12, 0.9))
def test_the_least_epsilon_is_enough_and_nearly_the_least(scale: float, delta: float) -> None:
    def delta_at(epsilon: float) -> float:
        return math.exp(-epsilon / scale)

    found = least_epsilon(delta_at, delta)
    assert delta_at(found) <= delta
    assert found == pytest.approx(-scale * math.log(delta), rel=1e-8)


def test_the_least_epsilon_may_be_zero_or_none() -> None:
    assert least_epsilon(lambda _: 0.1, 0.2) == 0
    with pytest.raises(NotPricedError, match="smaller than these events can guarantee"):
        least_epsilon(lambda _: 0.1, 0.05)


def test_numbers_beyond_the_ordinary_are_refused_before_doubles_overflow() -> None:
    for make in ALL:
        for event in (
            LaplaceEvent(scale=Fraction(1, 2**1020), sensitivity=1),
            LaplaceEvent(scale=2**1020, sensitivity=1),
            RepeatedEvent(event=GaussianEvent(variance=2**900, sensitivity_squared=1), times=3),
        ):
            accountant = make()
            with pytest.raises(NotPricedError, match="2\\^-500"):
                accountant.spend(event)
            assert accountant.events == ()
