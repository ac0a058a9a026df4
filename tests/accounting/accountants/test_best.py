"""The smallest of all answers, which of them it was, and what those who cannot answer say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from celosia.accounting import Best, best
from celosia.accounting.accountants.best import ACCOUNTANTS
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
    RepeatedEvent,
    ReplaceOne,
)

COUNT = LaplaceEvent(scale=10, sensitivity=1)


@pytest.fixture(scope="module")
def counts() -> Best:
    return best(RepeatedEvent(event=COUNT, times=1000), delta="1e-5")


def test_a_thousand_counts(counts: Best) -> None:
    assert tuple(counts.epsilons) == tuple(ACCOUNTANTS)
    known = {name: epsilon for name, epsilon in counts.epsilons.items() if epsilon is not None}
    assert known["basic"] == 100
    expected = {"optimal": 17.787, "advanced": 25.69, "zcdp": 19.04, "renyi": 18.96, "pld": 17.79}
    assert {name: known[name] for name in expected} == pytest.approx(expected, abs=6e-3)
    assert known["gdp"] > counts.epsilon
    assert counts.epsilon == min(known.values())
    assert known[counts.accountant] == counts.epsilon


def test_the_guarantee_has_the_scope_of_the_events() -> None:
    event = LaplaceEvent(scale=1, sensitivity=1, adjacency=ReplaceOne, unit="person")
    answer = best(event, delta="1e-9")
    assert answer.guarantee.adjacency is ReplaceOne
    assert answer.guarantee.unit == "person"
    assert answer.guarantee.delta == Fraction(1, 10**9)
    assert answer.guarantee.epsilon == Fraction(answer.epsilon)


def test_the_simplest_wins_a_tie() -> None:
    leaky = GuaranteedEvent(guarantee=ApproxDP(epsilon=0, delta="1e-6"))
    answer = best(leaky, delta="1e-3")
    assert (answer.epsilon, answer.accountant) == (0, "basic")
    nothing = best(LaplaceEvent(scale=1, sensitivity=0), delta="1e-6")
    assert (nothing.epsilon, nothing.accountant) == (0, "basic")


def test_those_who_cannot_answer_say_nothing() -> None:
    noise = best(GaussianEvent(variance=16, sensitivity_squared=1), delta="1e-6")
    assert [name for name, epsilon in noise.epsilons.items() if epsilon is None] == ["basic", "optimal", "advanced"]
    assert noise.accountant == "pld"
    concentrated = best(GuaranteedEvent(guarantee=ZCDP(rho="0.1")), delta="1e-6")
    assert [name for name, epsilon in concentrated.epsilons.items() if epsilon is not None] == ["zcdp", "renyi"]
    # A mu that cannot be proved is one accountant's matter, not everybody's.
    narrow = best(GaussianEvent(variance="1e-6", sensitivity_squared=1), delta="1e-6")
    assert narrow.epsilons["gdp"] is None
    assert narrow.epsilon > 4e5


def test_basic_composition_adds_deltas_too() -> None:
    leaky = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6"))
    answer = best(RepeatedEvent(event=leaky, times=3), delta="1e-5")
    assert answer.epsilons["basic"] == 3
    assert answer.epsilons["optimal"] is None
    assert answer.epsilon <= 3


def test_an_event_without_any_price_is_refused() -> None:
    with pytest.raises(NotPricedError, match="No accountant can price a ComposedEvent at delta='1e-6'"):
        best(
            [
                GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-7")),
                GuaranteedEvent(guarantee=ZCDP(rho="0.1")),
            ],
            delta="1e-6",
        )
    with pytest.raises(NotPricedError):
        best(GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")), delta="1e-7")


def test_a_list_is_a_composition() -> None:
    other = LaplaceEvent(scale=5, sensitivity=1)
    listed = best([COUNT, other], delta="1e-6")
    assert listed == best(ComposedEvent(events=(COUNT, other)), delta="1e-6")
    assert best([COUNT], delta="1e-6") == best(COUNT, delta="1e-6")
    with pytest.raises(GuaranteeMismatchError):
        best([COUNT, LaplaceEvent(scale=5, sensitivity=1, unit="person")], delta="1e-6")


def test_bad_events_are_refused() -> None:
    cases: list[Any] = [[], (), None, 1, "event", [1], {COUNT}]
    for events in cases:
        with pytest.raises(ParameterError, match=r"events? must be"):
            best(events, delta="1e-6")


def test_bad_deltas_are_refused() -> None:
    cases: list[Any] = [0, 1, 2, -1, "x", True, None, float("nan")]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta must be"):
            best(COUNT, delta=delta)
