"""The probability that a lone key shows, in many digits, and the smallest threshold that keeps it small."""

from __future__ import annotations

from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import PLDAccountant, basic, dominating, mu, renyi, rho, simplify
from celosia.accounting.prices.key_selection import least_threshold, tail_at_least
from celosia.accounting.prices.renyi import ORDERS
from celosia.core import (
    ComposedEvent,
    GroupEvent,
    NotPricedError,
    PoissonSampledEvent,
    ReplacedEvent,
    ReplaceOne,
)
from celosia.core.events import KeySelectionEvent

CLOSE = mpmath.mpf(2) ** -60

_scales = st.fractions(Fraction(1, 100), 10**6, max_denominator=1000)


def tail(scale: Fraction, threshold: int) -> mpmath.mpf:
    """P(1 + noise >= threshold), as what is left of 1 after the closed sums of the two sides and the middle."""
    ratio = mpmath.exp(-1 / _mp(scale))
    return ratio ** (threshold - 1) / (1 + ratio)


def _mp(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def check_the_closed_form_is_the_sum_of_the_noise(threshold: int) -> None:
    with mpmath.workdps(40):
        ratio = mpmath.exp(-mpmath.mpf(1) / 2)
        whole = mpmath.nsum(lambda k: (1 - ratio) / (1 + ratio) * ratio**k, [threshold - 1, mpmath.inf])
        assert mpmath.almosteq(whole, tail(Fraction(2), threshold), rel_eps=mpmath.mpf(10) ** -30)


def test_the_closed_form_is_the_sum_of_the_noise() -> None:
    for threshold in (1, 2, 3, 7, 20):
        check_the_closed_form_is_the_sum_of_the_noise(threshold)


@given(_scales, st.integers(1, 10**4))
def test_the_probability_is_rounded_up_and_hardly(scale: Fraction, threshold: int) -> None:
    with mpmath.workdps(700):
        truth = tail(scale, threshold)
        found = _mp(tail_at_least(scale, threshold))
        assert truth <= found
        if (threshold - 1) / scale < 1000:
            assert found <= truth * (1 + CLOSE)
        else:  # below exp(-1000), far from any delta
            assert found <= mpmath.exp(-1000) * (1 + CLOSE)


@given(_scales, st.integers(2, 300).map(lambda digits: Fraction(3, 10**digits)))
def test_the_threshold_is_the_smallest(scale: Fraction, chance: Fraction) -> None:
    threshold = least_threshold(scale, chance)
    assert tail_at_least(scale, threshold) <= chance
    with mpmath.workdps(400):
        assert tail(scale, threshold) <= _mp(chance)
        assert tail(scale, threshold - 1) > _mp(chance) * (1 - CLOSE)


def test_a_large_chance_needs_no_threshold() -> None:
    assert least_threshold(Fraction(1), Fraction(3, 4)) == 1
    assert least_threshold(Fraction(1, 2000), Fraction(1, 10**6)) == 2  # noise that never moves anything


# ---- prices


def test_epsilon_and_delta_grow_with_the_keys_that_a_unit_reaches() -> None:
    one = tail_at_least(Fraction(10), 100)
    for groups in (1, 3):
        event = KeySelectionEvent(scale=10, threshold=100, groups=groups)
        assert basic(event) == (Fraction(groups, 10), groups * one)
        replaced = KeySelectionEvent(scale=10, threshold=100, groups=groups, adjacency=ReplaceOne)
        assert basic(replaced) == (Fraction(2 * groups, 10), 2 * groups * one)
    assert basic(KeySelectionEvent(scale=1, threshold=1, groups=5)) == (Fraction(5), Fraction(1))


def test_an_extreme_event_is_priced_at_once() -> None:
    epsilon, delta = basic(KeySelectionEvent(scale=Fraction(1, 2**100), threshold=2**100))
    assert epsilon == 2**100
    assert 0 < delta < Fraction(1, 10**400)
    epsilon, delta = basic(KeySelectionEvent(scale=2**100, threshold=1))
    assert Fraction(1, 2) <= delta <= Fraction(1, 2) + Fraction(1, 2**70)


def test_what_needs_a_pure_epsilon_refuses_it() -> None:
    event = KeySelectionEvent(scale=10, threshold=100)
    for price in (rho, mu, lambda event: renyi(event, ORDERS)):
        with pytest.raises(NotPricedError, match="it has a delta"):
            price(event)
        with pytest.raises(NotPricedError, match="it has a delta"):
            price(GroupEvent(event=event, size=2))


def test_read_under_replace_one_it_reaches_twice_the_keys() -> None:
    event = KeySelectionEvent(scale=10, threshold=100, groups=3, unit="person")
    replaced = KeySelectionEvent(scale=10, threshold=100, groups=3, unit="person", adjacency=ReplaceOne)
    assert simplify(ReplacedEvent(event=event)) == replaced
    assert basic(ReplacedEvent(event=event)) == basic(replaced)
    # Far less than what is true of everything that has a delta.
    assert basic(replaced)[1] < basic(ReplacedEvent(event=PoissonSampledEvent(event=event, probability="1/2")))[1] * 4


def test_a_group_keeps_the_general_rule() -> None:
    event = KeySelectionEvent(scale=10, threshold=100)
    group = GroupEvent(event=event, size=3)
    assert simplify(group) == group
    replaced = KeySelectionEvent(scale=10, threshold=100, adjacency=ReplaceOne)
    assert simplify(ReplacedEvent(event=group)) == GroupEvent(event=replaced, size=3)
    epsilon, delta = basic(group)
    assert epsilon == Fraction(3, 10)
    # Three people alone in one key: it then shows from two steps further away.
    assert delta > tail_at_least(Fraction(10), 98)


def test_a_group_is_not_more_keys() -> None:
    # The mutant: reading a group as groups * size. Three people in one key show it more easily than one in three keys.
    assert 3 * tail_at_least(Fraction(1), 100) < tail_at_least(Fraction(1), 98)


def test_keys_compose_in_the_loss_distribution() -> None:
    many = KeySelectionEvent(scale=100, threshold=2000, groups=100)
    epsilon, delta = basic(many)
    pld = PLDAccountant().spend(many)
    assert float(epsilon) == 1
    assert pld.delta(1) <= float(delta) * (1 + 1e-5)
    assert pld.epsilon(1e-5) < 0.5  # noise of many keys partly cancels
    assert dominating(KeySelectionEvent(scale=2, threshold=30)).profile([0.5])[0] == pytest.approx(
        float(tail_at_least(Fraction(2), 30)), rel=1e-9
    )


def test_it_composes_with_itself_and_on_a_sample() -> None:
    event = KeySelectionEvent(scale=10, threshold=200)
    both = basic(ComposedEvent(events=(event, event)))
    assert both == (Fraction(1, 5), 2 * basic(event)[1])
    assert PLDAccountant().spend(PoissonSampledEvent(event=event, probability="0.1")).epsilon(1e-6) < 0.02
