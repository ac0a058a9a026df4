"""Epsilon and delta of one event, and the classical theorems against direct sums in a thousand digits' arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import basic
from celosia.accounting.prices.basic import advanced_epsilon, optimal_delta, pure
from celosia.core import (
    ZCDP,
    AboveThresholdEvent,
    ApproxDP,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    NotPricedError,
    ParallelEvent,
    PermuteAndFlipEvent,
    PoissonSampledEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = LaplaceEvent(scale=10, sensitivity=1)
ANSWER = RandomizedResponseEvent(epsilon=1)
APPROX = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6"))
TENTH = Fraction(1, 10)


def only(epsilon: int) -> tuple[Fraction, Fraction]:
    return Fraction(epsilon), Fraction(0)


def test_prices() -> None:
    cases: list[tuple[Event, Fraction | int, Fraction | int]] = [
        (COUNT, TENTH, 0),
        (LaplaceEvent(scale=10, sensitivity="3.7"), 3 * TENTH, 0),  # whole steps: neighbours are at most 3 apart
        (LaplaceEvent(scale=10, sensitivity="3.7", arithmetic="real"), Fraction(37, 100), 0),
        (LaplaceEvent(scale=10, sensitivity="0.9"), 0, 0),
        (ANSWER, 1, 0),
        (ExponentialEvent(epsilon=2), 2, 0),
        (PermuteAndFlipEvent(epsilon=2), 2, 0),
        (NoisyMaxEvent(epsilon=2), 2, 0),
        (AboveThresholdEvent(epsilon=2, answers=5), 2, 0),
        (GuaranteedEvent(guarantee=PureDP(epsilon=3)), 3, 0),
        (APPROX, 1, Fraction(1, 10**6)),
        (RepeatedEvent(event=COUNT, times=1000), 100, 0),
        (RepeatedEvent(event=APPROX, times=10**7), 10**7, 1),
        (ComposedEvent(events=(COUNT, APPROX)), Fraction(11, 10), Fraction(1, 10**6)),
        (GroupEvent(event=COUNT, size=3), 3 * TENTH, 0),
        (ReplacedEvent(event=COUNT), 2 * TENTH, 0),
        (GroupEvent(event=PoissonSampledEvent(event=COUNT, probability=1), size=3), 3 * TENTH, 0),
        (ReplacedEvent(event=PoissonSampledEvent(event=COUNT, probability=1)), 2 * TENTH, 0),
        (PoissonSampledEvent(event=APPROX, probability=0), 0, 0),
        (PoissonSampledEvent(event=APPROX, probability=1), 1, Fraction(1, 10**6)),
        (ShuffledEvent(event=ANSWER, reports=1000), 1, 0),
    ]
    for event, epsilon, delta in cases:
        assert basic(event) == (epsilon, delta)


def test_what_has_no_epsilon_is_not_priced() -> None:
    cases: list[Event] = [
        GaussianEvent(variance=1, sensitivity_squared=1),
        GuaranteedEvent(guarantee=ZCDP(rho=1)),
        GuaranteedEvent(guarantee=GaussianDP(mu=1)),
        GuaranteedEvent(guarantee=RenyiDP(orders=(2,), epsilons=(1,))),
    ]
    for event in cases:
        for whole in (
            event,
            RepeatedEvent(event=event, times=2),
            ComposedEvent(events=(COUNT, event)),
            ParallelEvent(events=(COUNT, event)),
            PoissonSampledEvent(event=event, probability="0.1"),
            GroupEvent(event=event, size=2),
        ):
            with pytest.raises(NotPricedError, match="cannot be priced by its epsilon and delta"):
                basic(whole)


def test_pure_refuses_a_delta() -> None:
    assert pure(COUNT) == TENTH
    with pytest.raises(NotPricedError, match="has a delta"):
        pure(APPROX)


def test_parts_of_a_partition() -> None:
    def response(*epsilons: int, fixed: bool = False) -> ParallelEvent:
        return ParallelEvent(events=[RandomizedResponseEvent(epsilon=epsilon) for epsilon in epsilons], fixed=fixed)

    counts = [LaplaceEvent(scale=1, sensitivity=sensitivity) for sensitivity in (2, 5, 3)]
    assert basic(ParallelEvent(events=counts)) == only(5)
    assert basic(response(2, 5, 3)) == only(8)
    assert basic(response(5, 5)) == only(10)
    assert basic(response(5)) == only(5)
    assert basic(response(2, 5, 3, fixed=True)) == only(5)
    leaky = [
        GuaranteedEvent(guarantee=ApproxDP(epsilon=epsilon, delta=delta, adjacency=ReplaceOne))
        for epsilon, delta in ((1, "0.3"), (2, "0.1"), (3, "0.2"))
    ]
    # The two largest of each, for the parts that a unit leaves and enters are not known.
    assert basic(ParallelEvent(events=leaky)) == (Fraction(5), Fraction(1, 2))


@given(
    st.fractions(Fraction(1, 1000), 30, max_denominator=1000), st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
)
def test_sampling_amplifies_as_the_formula_says(epsilon: Fraction, probability: Fraction) -> None:
    with mpmath.workdps(60):
        truth = mpmath.log1p(_mp(probability) * mpmath.expm1(_mp(epsilon)))
        event = GuaranteedEvent(guarantee=PureDP(epsilon=epsilon))
        found = _mp(basic(PoissonSampledEvent(event=event, probability=probability))[0])
        assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -18) + mpmath.mpf(10) ** -20


def test_fixed_samples_amplify_by_their_share() -> None:
    local = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne))
    epsilon, delta = basic(FixedSampledEvent(event=local, size=25, population=100))
    assert float(epsilon) == pytest.approx(math.log1p(math.expm1(1) / 4), rel=1e-15)
    assert delta == Fraction(1, 4 * 10**6)
    assert basic(FixedSampledEvent(event=local, size=0, population=100)) == only(0)


def test_an_epsilon_beyond_all_reason_is_priced_without_its_exponential() -> None:
    wide = LaplaceEvent(scale="1e-12", sensitivity=1)
    epsilon, _ = basic(PoissonSampledEvent(event=wide, probability="0.01"))
    assert 10**12 - 5 < epsilon < 10**12
    just = [
        float(basic(PoissonSampledEvent(event=LaplaceEvent(scale=1, sensitivity=s), probability="0.01"))[0])
        for s in (1000, 1001)
    ]
    assert just[1] - just[0] == pytest.approx(1, abs=1e-9)


def test_groups_of_what_has_a_delta() -> None:
    with mpmath.workdps(40):
        truth = mpmath.mpf(10) ** -6 * (1 + mpmath.e + mpmath.e**2)
        epsilon, delta = basic(GroupEvent(event=PoissonSampledEvent(event=APPROX, probability=1), size=3))
        assert epsilon == 3
        assert truth <= _mp(delta) <= truth * (1 + mpmath.mpf(10) ** -15)


def test_a_new_kind_of_event_registers_its_price() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
    class _CoinEvent(Event):
        def __init__(self) -> None:
            self._set_scope(ReplaceOne, "row", "integer")

    with pytest.raises(NotPricedError, match="A _CoinEvent cannot be priced"):
        basic(_CoinEvent())
    basic.register(_CoinEvent, lambda _: (Fraction(7), Fraction(0)))
    assert basic(RepeatedEvent(event=_CoinEvent(), times=2)) == only(14)


@given(
    st.lists(
        st.tuples(st.fractions(Fraction(1, 100), 2, max_denominator=100), st.integers(1, 10**4)), min_size=1, max_size=4
    ),
    st.floats(1e-12, 0.5),
)
def test_advanced_composition_is_its_formula_rounded_up(parts: list[tuple[Fraction, int]], slack: float) -> None:
    with mpmath.workdps(50):
        drift = mpmath.fsum(times * _mp(e) * mpmath.expm1(_mp(e)) for e, times in parts)
        squares = mpmath.fsum(times * _mp(e) ** 2 for e, times in parts)
        truth = mpmath.sqrt(2 * squares * mpmath.log(1 / mpmath.mpf(slack))) + drift
        found = mpmath.mpf(advanced_epsilon(parts, slack))
        assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -11)


def test_advanced_composition_says_nothing_where_an_exponential_is_beyond_the_doubles() -> None:
    assert advanced_epsilon([(Fraction(10**4), 1)], 0.1) == math.inf


def direct(epsilon0: float, times: int, epsilon: float) -> mpmath.mpf:
    """Kairouz, Oh and Viswanath 2017, theorem 3.3, by its probabilities: a sum over all numbers of agreeing answers."""
    agree = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon0)))
    total = mpmath.mpf(0)
    for count in range(times + 1):
        loss = (2 * count - times) * mpmath.mpf(epsilon0)
        if loss > epsilon:
            mass = mpmath.binomial(times, count) * agree**count * (1 - agree) ** (times - count)
            total += mass * -mpmath.expm1(epsilon - loss)
    return total


CASES: Sequence[tuple[float, int, float]] = [
    (1.0, 1, 0.0),
    (1.0, 1, 0.999),
    (0.1, 10, 0.35),
    (0.1, 1000, 17.787),
    (0.1, 1000, 60.0),
    (0.5, 100, 49.5),
    (1e-6, 300, 1e-5),
    (30.0, 5, 100.0),
    (8.0, 40, 100.0),
    (2.0, 400, 0.0),
]


def test_optimal_composition_is_the_direct_sum_rounded_up() -> None:
    for epsilon0, times, epsilon in CASES:
        with mpmath.workdps(60):
            truth = direct(epsilon0, times, epsilon)
            found = mpmath.mpf(optimal_delta(epsilon0, times, epsilon))
            assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -8) + mpmath.mpf(10) ** -299


def test_optimal_composition_of_a_hundred_thousand_is_rounded_up() -> None:
    # Only the terms that count, in many digits.
    times, epsilon0, epsilon = 100_000, 0.01, 20.0
    with mpmath.workdps(40):
        agree = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon0)))
        first = math.floor((epsilon / epsilon0 + times) / 2)
        mass = mpmath.binomial(times, first) * agree**first * (1 - agree) ** (times - first)
        truth = mpmath.mpf(0)
        for count in range(first, first + 2000):
            loss = (2 * count - times) * mpmath.mpf(epsilon0)
            truth += mass * -mpmath.expm1(min(epsilon - loss, mpmath.mpf(0)))
            mass *= mpmath.mpf(times - count) / (count + 1) * agree / (1 - agree)
        assert truth <= optimal_delta(epsilon0, times, epsilon) <= truth * (1 + mpmath.mpf(10) ** -7)


def test_optimal_composition_of_very_many_gives_way_to_a_bound() -> None:
    short = [optimal_delta(0.1, 10**times, 10.0**times * 0.0065) for times in (5, 6)]
    assert all(0 < delta < 1e-3 for delta in short)
    # The mean loss is 0.005 per answer; half a standard deviation above it there is a third of the probability.
    assert 0.1 < optimal_delta(0.1, 10**12, 4.9958375e9 + 5e4) <= 1
    assert optimal_delta(0.1, 10**12, 5.1e9) < 1e-100


@given(st.floats(0.01, 3), st.integers(1, 200), st.floats(0, 20), st.floats(0, 5))
def test_optimal_delta_falls_with_epsilon_and_grows_with_the_number(
    epsilon0: float, times: int, epsilon: float, more: float
) -> None:
    here = optimal_delta(epsilon0, times, epsilon)
    assert 0 <= here <= 1
    assert optimal_delta(epsilon0, times, epsilon + more) <= here * (1 + 1e-8) + 1e-299
    assert optimal_delta(epsilon0, times + 1, epsilon) >= here * (1 - 1e-8)
    if epsilon >= times * epsilon0 * (1 + 1e-9):
        assert here < 1e-12


def test_nothing_costs_nothing() -> None:
    assert optimal_delta(0.0, 1000, 0.0) == 0
    assert basic(GuaranteedEvent(guarantee=PureDP(epsilon=0))) == only(0)


def _mp(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator
