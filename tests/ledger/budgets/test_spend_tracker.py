from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ZCDP, ApproxDP, Event, GaussianEvent, GuaranteedEvent, LaplaceEvent, NotPricedError, PureDP
from celosia.ledger import Policy
from celosia.ledger.budgets.spend_tracker import SpendTracker

LIMITS = {
    "pure": PureDP(epsilon=30),
    "basic": ApproxDP(epsilon=30, delta="1e-3"),
    "zcdp": ZCDP(rho=30),
    "renyi": ApproxDP(epsilon=30, delta="1e-3"),
    "gdp": ApproxDP(epsilon=30, delta="1e-3"),
}


def priced(name: str, scale: int) -> Event:
    if name in ("zcdp", "gdp"):
        return GaussianEvent(variance=scale**2, sensitivity_squared=1)
    return LaplaceEvent(scale=scale, sensitivity=1)


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=15)
@given(scales=st.lists(st.integers(1, 500), max_size=150))
def test_adding_up_changes_nothing(name: str, scales: list[int]) -> None:
    policy = Policy(limit=LIMITS[name], accountant=name)
    tracker, plain = SpendTracker(policy.open, name), policy.open()
    for scale in scales:
        tracker.count(priced(name, scale))
    for scale in dict.fromkeys(scales):
        plain.count(priced(name, scale), scales.count(scale))
    assert tracker.spent == plain.spent
    assert tracker.remaining == plain.remaining
    assert tracker.limit == plain.limit


def test_a_meter_stays_small() -> None:
    tracker = SpendTracker(Policy(limit=PureDP(epsilon=10**6)).open, "pure")
    for scale in range(1, 2000):
        tracker.count(LaplaceEvent(scale=scale, sensitivity=1))
    assert len(tracker._filter.events) <= 65
    spent = tracker.spent
    assert isinstance(spent, PureDP)
    assert 0 <= spent.epsilon - sum(Fraction(1, scale) for scale in range(1, 2000)) < Fraction(1, 2**100)


def test_sums_that_cannot_be_one_event_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> GuaranteedEvent:
        raise NotPricedError

    monkeypatch.setattr("celosia.ledger.budgets.spend_tracker.GuaranteedEvent", refuse)
    tracker = SpendTracker(Policy(limit=PureDP(epsilon=100)).open, "pure")
    for scale in range(1, 101):
        tracker.count(LaplaceEvent(scale=scale, sensitivity=1))
    assert len(tracker._filter.events) == 100
    assert tracker.spent == PureDP(epsilon=sum((Fraction(1, scale) for scale in range(1, 101)), Fraction(0)))


def test_queries_that_are_never_paid_leave_nothing_behind() -> None:
    tracker = SpendTracker(Policy(limit=PureDP(epsilon=1)).open, "pure")
    tracker.count(GuaranteedEvent(guarantee=PureDP(epsilon="0.5")))
    for scale in range(1, 500):
        assert tracker.admits(LaplaceEvent(scale=scale, sensitivity=1)) == (scale >= 2)
    assert len(tracker._filter._accountant._prices) == 1
    assert tracker.spent == PureDP(epsilon="0.5")
