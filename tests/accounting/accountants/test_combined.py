"""The combined accountant admits what the sum admits with its part of delta; no analyst makes a session lose more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    BasicAccountant,
    CombinedAccountant,
    Filter,
    Odometer,
    PLDAccountant,
    PureAccountant,
    RenyiAccountant,
)
from celosia.accounting.accountants import combined
from celosia.core import (
    ApproxDP,
    BudgetExceededError,
    CertifiedEvent,
    Event,
    GaussianEvent,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    NotPricedError,
    ParameterError,
    PureDP,
    RenyiDP,
    ReplaceOne,
)
from celosia.mechanisms import Laplace

if TYPE_CHECKING:
    from collections.abc import Callable

TENTH = Laplace(epsilon="0.1", sensitivity=1).event
USUAL = ApproxDP(epsilon=3, delta="1e-6")


def most(watch: Filter, event: Event) -> int:
    """Return how often an event fits."""
    low, high = 0, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if watch.admits(event, middle) else (low, middle)
    return low


def test_more_counts_fit_than_into_the_sum() -> None:
    cases: list[tuple[ApproxDP, int, int]] = [
        (USUAL, 30, 39),
        (ApproxDP(epsilon=20, delta="1e-5"), 200, 1052),
        (ApproxDP(epsilon=1, delta="1e-6"), 10, 10),
        (ApproxDP(epsilon=8, delta="1e-6"), 80, 207),
    ]
    for budget, by_sum, ours in cases:
        assert most(Filter(BasicAccountant(), budget), TENTH) == by_sum
        assert most(Filter(CombinedAccountant(), budget), TENTH) == ours
        # What was declared beforehand could be composed numerically: a filter cannot beat that.
        declared = PLDAccountant().spend(TENTH, times=ours)
        assert declared.epsilon(budget.delta) <= budget.epsilon


def test_one_question_of_the_whole_budget_still_fits() -> None:
    watch = Filter(CombinedAccountant(), USUAL)
    whole = Laplace(epsilon=3, sensitivity=1).event
    assert watch.admits(whole)
    assert watch.cost(whole) == ApproxDP(epsilon=3, delta=0)
    assert not watch.spend(whole).admits(TENTH)
    assert watch.remaining == ApproxDP(epsilon=0, delta="2e-7")


EVENTS = st.one_of(
    st.integers(1, 200).map(lambda scale: LaplaceEvent(scale=scale, sensitivity=1)),
    st.tuples(st.integers(1, 30), st.integers(0, 20)).map(
        lambda both: GuaranteedEvent(guarantee=ApproxDP(epsilon=Fraction(both[0], 20), delta=Fraction(both[1], 10**8)))
    ),
)


@given(st.lists(EVENTS, max_size=30))
def test_it_is_never_worse_than_the_sum(events: list[Event]) -> None:
    ours, plain = Filter(CombinedAccountant(), USUAL), Filter(BasicAccountant(), ApproxDP(epsilon=3, delta="2e-7"))
    for event in events:
        if plain.admits(event):
            plain.spend(event)
            before = ours.remaining
            assert ours.admits(event)
            ours.spend(event)
            assert ours.remaining <= before
            assert ours.spent.epsilon <= plain.spent.epsilon  # type: ignore[attr-defined]
    assert ours.remaining >= plain.remaining


@given(st.lists(EVENTS, max_size=12), st.integers(1, 300))
def test_what_remains_can_be_spent(events: list[Event], part: int) -> None:
    watch = Filter(CombinedAccountant(), USUAL)
    for event in events:
        if watch.admits(event):
            watch.spend(event)
    left = watch.remaining
    assert isinstance(left, ApproxDP)
    epsilon, delta = left.epsilon * Fraction(part, 300), left.delta * Fraction(part, 300)
    assert watch.admits(GuaranteedEvent(guarantee=ApproxDP(epsilon=epsilon, delta=delta)))


def test_gaussian_noise_needs_no_certificate() -> None:
    watch, noise = Filter(CombinedAccountant(), USUAL), GaussianEvent(variance=400, sensitivity_squared=1)
    alone = watch.cost(noise)
    assert isinstance(alone, ApproxDP)
    assert alone.epsilon < 1
    assert alone.delta == Fraction(3, 4 * 10**6)
    assert most(watch, noise) > 100
    certified = CertifiedEvent(event=noise, epsilon=1, delta="1e-7")
    assert watch.cost(certified) == ApproxDP(epsilon=1, delta="1e-7")
    assert most(watch, certified) == most(watch, noise)  # its delta is not needed where the sum is not
    assert most(Filter(BasicAccountant(), USUAL), certified) == 3


def test_a_delta_that_nothing_replaces_is_spent_for_good() -> None:
    leaks = GuaranteedEvent(guarantee=ApproxDP(epsilon="0.01", delta="1e-8"))
    assert most(Filter(CombinedAccountant(), USUAL), leaks) == 20
    watch = Filter(CombinedAccountant(), USUAL).spend(TENTH, times=35)
    assert watch.remaining.epsilon < Fraction(1, 5)  # type: ignore[attr-defined]
    assert most(watch, leaks) == 20
    noise = CertifiedEvent(event=GaussianEvent(variance=400, sensitivity_squared=1), epsilon=1, delta="1e-7")
    watch = Filter(CombinedAccountant(), USUAL).spend(noise, times=4)  # the sum has no room for its delta any more
    assert most(watch, leaks) == 5


def test_without_its_list_of_events_a_sum_is_the_same() -> None:
    watch, other = Filter(CombinedAccountant(), USUAL), Filter(CombinedAccountant(), USUAL)
    for _ in range(3):
        for event in (TENTH, GaussianEvent(variance=900, sensitivity_squared=1)):
            watch.spend(event)
            other.spend(event)
        assert watch.forget()
    assert watch.events == ()
    assert (watch.spent, watch.remaining) == (other.spent, other.remaining)
    assert most(watch, TENTH) == most(other, TENTH)
    assert not Filter(PureAccountant(), PureDP(epsilon=1)).forget()


def test_budgets_without_both_numbers_are_refused() -> None:
    cases: list[PureDP | ApproxDP] = [PureDP(epsilon=1), ApproxDP(epsilon=1, delta=0), ApproxDP(epsilon=0, delta="0.1")]
    for budget in cases:
        with pytest.raises(GuaranteeMismatchError, match="the combined accountant has no limit for"):
            Filter(CombinedAccountant(), budget)


def test_what_cannot_be_priced_or_added_is_refused_and_changes_nothing() -> None:
    accountant = CombinedAccountant().spend(TENTH)
    unpriced = GuaranteedEvent(guarantee=RenyiDP(orders=[1.1], epsilons=[1]))
    for bad, error in (
        (unpriced, NotPricedError),
        (LaplaceEvent(scale=1, sensitivity=1, adjacency=ReplaceOne), GuaranteeMismatchError),
    ):
        with pytest.raises(error):
            accountant.spend(bad)
        assert accountant.guarantee() == ApproxDP(epsilon="0.1", delta=0)
    with pytest.raises(ParameterError, match="no sum of epsilons"):
        accountant.spend(GaussianEvent(variance=9, sensitivity_squared=1)).guarantee()
    watch = Filter(CombinedAccountant(), USUAL)
    with pytest.raises(BudgetExceededError, match="does not fit into the remaining"):
        watch.spend(Laplace(epsilon="3.1", sensitivity=1).event)
    assert watch.remaining == ApproxDP(epsilon=3, delta="2e-7")
    assert watch.count(Laplace(epsilon=4, sensitivity=1).event).spent.epsilon == 4  # type: ignore[attr-defined]


def test_a_declared_list_gets_the_better_of_both_bounds() -> None:
    few, many = (CombinedAccountant().spend(TENTH, times=times) for times in (5, 1000))
    assert (few.epsilon("1e-6"), few.delta("0.5"), CombinedAccountant().epsilon("1e-6")) == (0.5, 0.0, 0.0)
    best = RenyiAccountant().spend(TENTH, times=1000)
    assert best.epsilon("1e-6") <= many.epsilon("1e-6") <= 1.01 * best.epsilon("1e-6")
    assert many.delta(many.epsilon("1e-6")) == pytest.approx(1e-6, rel=1e-6)
    leaks = CombinedAccountant().spend(GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-5")))
    with pytest.raises(NotPricedError, match="delta must be above 1e-05"):
        leaks.epsilon("1e-6")


# ---------------------------------------------------------------------------------------------------- the best analyst


@dataclass(frozen=True)
class Known:
    """An event whose two laws are known: answers by their log ratio, with their probability on the first neighbour."""

    event: Event
    answers: tuple[tuple[float, float], ...]


def coin(epsilon: str, delta: str = "0") -> Known:
    """Randomized response that with probability delta tells all (a ratio without bound)."""
    rate, leak = float(epsilon), float(delta)
    heads = 1 / (1 + math.exp(-rate))
    answers = [(rate, (1 - leak) * heads), (-rate, (1 - leak) * (1 - heads))]
    if leak:
        answers.append((math.inf, leak))
    guarantee = ApproxDP(epsilon=epsilon, delta=delta) if leak else PureDP(epsilon=epsilon)
    return Known(GuaranteedEvent(guarantee=guarantee), tuple(answers))


def best_loss(make: Callable[[], CombinedAccountant], budget: ApproxDP, menu: list[Known], longest: int) -> float:
    """Return the largest delta at the budget's epsilon that any analyst with this menu reaches, over all sessions.

    What matters of a session is how often each event was asked, and its log ratio. One that told all is lost.
    """
    epsilon = float(budget.epsilon)

    @cache
    def watch(asked: tuple[int, ...]) -> Filter:
        found = Filter(make(), budget)
        for known, times in zip(menu, asked, strict=True):
            if times:
                found.count(known.event, times)
        return found

    @cache
    def value(asked: tuple[int, ...], loss: float) -> float:
        best = max(0.0, -math.expm1(epsilon - loss))
        if sum(asked) == longest:
            return best
        for place, known in enumerate(menu):
            if watch(asked).admits(known.event):
                after = (*asked[:place], asked[place] + 1, *asked[place + 1 :])
                ends = [
                    chance * (1.0 if math.isinf(ratio) else value(after, round(loss + ratio, 9)))
                    for ratio, chance in known.answers
                ]
                best = max(best, math.fsum(ends))
        return best

    return value((0,) * len(menu), 0.0)


MENUS = [
    [coin("0.5"), coin("0.2")],
    [coin("0.5"), coin("0.3", "0.004"), coin("0.1", "0.02")],
    [coin("0.9"), coin("0.25"), coin("0.25", "0.01")],
]


@pytest.mark.parametrize("menu", MENUS)
def test_the_best_analyst_stays_within_the_budget(menu: list[Known]) -> None:
    budget = ApproxDP(epsilon="1.5", delta="0.1")
    found = best_loss(CombinedAccountant, budget, menu, 24)
    assert 0.001 < found <= 0.1


class Priced(CombinedAccountant):
    """Prices of events whose laws are known, exactly: an epsilon with its delta, and divergences without one."""

    __slots__ = ()

    def price(self, event: Event) -> combined._Price:
        price = super().price(event)
        if event == NOISY.event:
            price.late = Fraction(0)
            price.curve = divergences(NOISY)
        return price


def divergences(known: Known) -> np.ndarray:
    """Return the Rényi divergences of two known laws."""
    ratios, chances = np.array(known.answers).T
    orders = combined._ORDERS
    moments = (chances[:, None] * np.exp((orders - 1) * ratios[:, None])).sum(axis=0)
    return np.asarray(np.log(moments) / (orders - 1))


def noisy(rate: float, rare: float, often: float) -> Known:
    """Symmetric laws with a small chance of a large ratio, and the least delta at the small one."""
    both = [(rate, often * math.exp(rate)), (-rate, often), (rare, 1.0), (-rare, math.exp(-rare))]
    rest = (1 - often * (1 + math.exp(rate))) / (1 + math.exp(-rare))
    answers = tuple((ratio, chance if place < 2 else rest * chance) for place, (ratio, chance) in enumerate(both))
    delta = answers[0][1] * -math.expm1(rare - rate)
    guarantee = ApproxDP(epsilon=Fraction(rare), delta=Fraction(delta) * Fraction(1000001, 1000000))
    return Known(GuaranteedEvent(guarantee=guarantee), answers)


NOISY = noisy(0.75, 0.25, 0.01)  # log ratios up to 3/4; 1/4 with a delta of its own


def test_noise_with_two_prices_stays_within_the_budget() -> None:
    assert math.fsum(chance for _, chance in NOISY.answers) == pytest.approx(1)
    budget = ApproxDP(epsilon="1.5", delta="0.1")
    assert Filter(Priced(), budget).admits(NOISY.event, times=8)
    for menu in ([NOISY, coin("0.25")], [NOISY, coin("0.25", "0.004")]):
        assert 0.001 < best_loss(Priced, budget, menu, 20) <= 0.1


class Careless(CombinedAccountant):
    """Lets divergences go beyond their limit."""

    __slots__ = ()

    def _bounds(self, limit: ApproxDP) -> list[tuple[Fraction, bool]]:
        return [(spent - Fraction(3, 2), allowed) for spent, allowed in super()._bounds(limit)[-1:]]


class Leaking(CombinedAccountant):
    """Forgets the deltas that no divergence replaces."""

    __slots__ = ()

    def _bounds(self, limit: ApproxDP) -> list[tuple[Fraction, bool]]:
        return [(spent, True) for spent, _ in super()._bounds(limit)]


class Unsplit(CombinedAccountant):
    """Gives all of delta to the deltas of events, and all of it again to the conversion."""

    __slots__ = ()

    def _bounds(self, limit: ApproxDP) -> list[tuple[Fraction, bool]]:
        delta = limit.delta / combined.OWN
        room = float((combined._limits(limit.epsilon, delta / Fraction(9, 16), 6) - self._divergences()).max())
        by_sum, within = self.total().epsilon, self._delta <= delta
        return [(by_sum, within), (limit.epsilon - Fraction(room), within)]


@pytest.mark.parametrize(("make", "menu"), [(Careless, MENUS[0]), (Leaking, MENUS[2]), (Unsplit, MENUS[1])])
def test_the_best_analyst_finds_a_filter_that_is_wrong(make: type[CombinedAccountant], menu: list[Known]) -> None:
    assert best_loss(make, ApproxDP(epsilon="1.5", delta="0.1"), menu, 24) > 0.1


def test_a_limit_that_is_changed_keeps_its_order() -> None:
    first, later = ApproxDP(epsilon=3, delta="1e-6"), ApproxDP(epsilon=20, delta="1e-5")
    places = [combined._best_order(limit.epsilon, limit.delta) for limit in (first, later)]
    assert places[0] != places[1]
    kept = Filter(CombinedAccountant(suited=first), later)
    assert most(Filter(CombinedAccountant(), first), TENTH) < most(kept, TENTH) < 1052
    assert most(Filter(CombinedAccountant(suited=first), first), TENTH) == 39
    # With its order kept, a larger budget has larger limits at every order.
    low, high = (combined._limits(limit.epsilon, limit.delta, places[0]) for limit in (first, later))
    assert (low < high).all()


def test_what_is_beyond_the_limit_is_not_made_smaller() -> None:
    watch, loud = Filter(CombinedAccountant(), USUAL), GaussianEvent(variance=Fraction(1, 100), sensitivity_squared=1)
    assert watch.cost(loud).epsilon > 50  # type: ignore[attr-defined]
    assert watch.count(loud).spent.epsilon > 50  # type: ignore[attr-defined]
    assert watch.remaining.epsilon == 0  # type: ignore[attr-defined]
    assert Filter(CombinedAccountant(), ApproxDP(epsilon=10**50, delta="1e-6")).admits(loud)


def test_a_certificate_that_is_not_true_is_refused() -> None:
    noise = GaussianEvent(variance=400, sensitivity_squared=1)
    with pytest.raises(NotPricedError, match="not enough for its epsilon and delta"):
        CombinedAccountant().spend(CertifiedEvent(event=noise, epsilon="0.01", delta="1e-9"))


def test_an_odometer_has_rungs_for_it() -> None:
    meter = Odometer(CombinedAccountant(), delta="1e-6").spend(TENTH, times=1000)
    assert 15 < meter.reading().epsilon < 40
    assert meter.spend(GaussianEvent(variance=400, sensitivity_squared=1)).reading().epsilon < 40


def test_a_first_question_may_have_all_of_delta_and_the_sum_then_keeps_the_session() -> None:
    whole = GuaranteedEvent(guarantee=ApproxDP(epsilon=2, delta="9e-7"))
    rest = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-7"))
    watch = Filter(CombinedAccountant(), USUAL)
    assert watch.admits(GuaranteedEvent(guarantee=USUAL))
    assert not watch.admits(GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1.1e-6")))
    assert watch.spend(whole).remaining == ApproxDP(epsilon=1, delta="1e-7")
    assert most(watch, TENTH) == 10
    noise = GaussianEvent(variance=10**6, sensitivity_squared=1)
    assert not watch.admits(noise)  # the sum has no price for it
    assert watch.spend(rest).remaining == ApproxDP(epsilon=0, delta=0)
    for first in (TENTH, noise):  # after another question it is too late
        assert not Filter(CombinedAccountant(), USUAL).spend(first).admits(whole)
    # A limit that is raised does not change what the first question has decided.
    raised = Filter(CombinedAccountant(suited=USUAL), ApproxDP(epsilon=20, delta="1e-5")).count(whole)
    assert most(raised, TENTH) == 180
    assert not raised.admits(noise)


def test_what_is_spent_and_left_is_the_limit_also_beyond_the_part_for_deltas() -> None:
    """Gaussian noise, certified with a delta each time, is admitted by divergences when that part is used up."""
    watch = Filter(CombinedAccountant(), ApproxDP(epsilon=3, delta="1e-6"))
    event = CertifiedEvent(event=GaussianEvent(variance=10_000, sensitivity_squared=1), epsilon="0.1", delta="1.5e-7")
    for _ in range(3):
        watch.spend(event)
        for field in ("epsilon", "delta"):
            limit, spent, left = (getattr(one, field) for one in (watch.limit, watch.spent, watch.remaining))
            assert spent + left == limit
    assert watch.remaining.delta == 0  # type: ignore[attr-defined]
