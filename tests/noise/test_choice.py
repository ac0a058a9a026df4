"""Choices are exact: covers and acceptances multiply to the weights in rational numbers, and always come to an end."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import CelosiaError
from celosia.noise import Seeded, categorical, choice, exponential_choice, permute_and_flip
from celosia.noise.decide import exp_enclosure
from tests.noise.scripted import ALL_ONES, Counting, Repeating, Scripted, SpentError, compare, enclose, threshold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.noise.decide import Enclosure

REST = (1 << 52) - 1  # the coin that the fast path never accepts


class Opened:
    """``exponential_choice`` with its number below the total under control, and what it compares on record."""

    def __init__(self, rate: Fraction, gaps: list[int], counts: list[int] | None = None) -> None:
        self.rate, self.gaps = rate, np.array(gaps)
        self.counts: NDArray[np.int64] | None = None if counts is None else np.array(counts)
        self.total = 0
        self.asked = False
        self.kept = Fraction(0)
        self.exponent = Fraction(0)

    def at(self, number: int, source: Source) -> int:
        """Choose as if ``number`` had been drawn below the total."""

        def fixed(bound: int, _: Source) -> int:
            if self.total == bound and self.asked:
                raise SpentError  # a second proposal: the first was rejected
            self.total, self.asked = bound, True
            return number

        def record(exponent: Fraction, kept: Fraction) -> Enclosure:
            self.exponent, self.kept = exponent, kept
            return exp_enclosure(exponent, kept)

        self.asked = False
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, "integer_below", fixed)
            patch.setattr(choice, "exp_enclosure", record)
            return exponential_choice(self.rate, self.gaps, multiplicities=self.counts, source=source)

    def look(self, number: int) -> tuple[int, Fraction, Fraction]:
        """Return candidate, exponent and factor of a proposal, forced to be decided in integers, and accepted."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, "below", lambda *_: True)
            chosen = self.at(number, Scripted([REST << 12]))
        return chosen, self.exponent, self.kept

    def first_after(self, candidate: int) -> int:
        """Return the first number that leads to a later candidate, found by halving."""
        low, high = -1, self.total
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.look(middle)[0] <= candidate else (low, middle)
        return high


@st.composite
def choices(draw: st.DrawFn) -> tuple[Fraction, list[int], list[int] | None]:
    size = draw(st.integers(1, 8))
    gaps = draw(st.lists(st.integers(0, 12) | st.integers(0, 2**62), min_size=size, max_size=size))
    if draw(st.booleans()):
        gaps[draw(st.integers(0, size - 1))] = 0
    counts = None
    if draw(st.booleans()):
        numbers = st.integers(0, 3) | st.integers(0, 2**62)
        counts = draw(st.lists(numbers, min_size=size, max_size=size).filter(any))
    return draw(st.fractions(Fraction(1, 1000), 20)), gaps, counts


@settings(max_examples=60)
@given(choices())
def test_covers_and_acceptances_multiply_to_the_weights(case: tuple[Fraction, list[int], list[int] | None]) -> None:
    rate, gaps, counts = case
    opened = Opened(rate, gaps, counts)
    weights = counts or [1] * len(gaps)
    least = min(gap for gap, weight in zip(gaps, weights, strict=True) if weight)
    at, unit = 0, None
    kept_mass = Fraction(0)
    for candidate, (gap, weight) in enumerate(zip(gaps, weights, strict=True)):
        if not weight:
            continue
        chosen, exponent, kept = opened.look(at)
        assert chosen == candidate
        assert exponent == rate * (gap - least)
        if unit is None:
            unit = (opened.first_after(candidate) - at) * kept / weight
        # Drawn by its cover and kept by the rest, each candidate comes with the same multiple of its weight.
        cover = unit * weight / kept
        assert cover.denominator == 1
        assert opened.look(at + int(cover) - 1)[0] == candidate
        at += int(cover)
        assert enclose(exponent, kept)[1] <= 1
        kept_mass += cover * enclose(exponent, kept)[0]
    assert at == opened.total < 2**63
    # Nearly every proposal is accepted, whatever the gaps and multiplicities: time tells nothing, and never runs away.
    assert kept_mass >= Fraction(9, 10) * opened.total


@given(choices(), st.integers(-3, 3), st.sampled_from([-1, 0, 1]), st.integers(0, 7))
def test_the_fast_path_decides_what_rational_numbers_decide(
    case: tuple[Fraction, list[int], list[int] | None], by: int, slack: int, place: int
) -> None:
    opened = Opened(*case)
    opened.look(0)
    number = opened.total * place // 8
    chosen, exponent, kept = opened.look(number)
    p = enclose(exponent, kept)
    border = int(p[0] * 2**52)
    coin = min(max(border + slack * (border >> 36) + by, 0), REST)
    verdict = compare(coin, 52, p)
    if verdict is True:
        assert opened.at(number, Scripted([coin << 12 | 0xFFF])) == chosen
    elif verdict is False:
        with pytest.raises(SpentError):
            opened.at(number, Scripted([coin << 12, 0, 0, 0]))
        assert opened.asked
    elif p[0] > 0:
        further = threshold(p, 116) - (coin << 64)
        assert further <= 0 or opened.at(number, Scripted([coin << 12, further - 1])) == chosen
        if further < ALL_ONES:
            with pytest.raises(SpentError):
                opened.at(number, Scripted([coin << 12, further + 1]))


def test_a_best_candidate_that_cannot_be_chosen_is_no_trap() -> None:
    # An interval without points has the best utility, and all others are far behind.
    gaps, counts = np.array([0, 5000, 5001]), np.array([0, 3, 1])
    drawn = [exponential_choice(2, gaps, multiplicities=counts, source=Seeded(seed)) for seed in range(200)]
    assert set(drawn) == {1, 2}
    assert drawn.count(2) < 30  # exp(-2) / (3 + exp(-2)) of 200 is 8.6


def test_many_candidates_far_behind_cost_no_time() -> None:
    # One point against a hundred thousand wide intervals that have no chance.
    gaps = np.full(100_000, 10**6)
    gaps[777] = 0
    counts = np.full(100_000, 2**40)
    counts[777] = 1
    source = Counting(1)
    assert {exponential_choice(1, gaps, multiplicities=counts, source=source) for _ in range(20)} == {777}
    assert source.total < 100


def test_only_differences_of_gaps_count() -> None:
    for least in (0, 7, 2**61):
        source = Seeded(7)
        drawn = [exponential_choice("1/2", np.array([3, 0, 2]) + least, source=source) for _ in range(100)]
        assert drawn == [exponential_choice("1/2", np.array([3, 0, 2]), source=Seeded(7)), *drawn[1:]]
    assert exponential_choice(1, np.array([10**18])) == 0


def test_extremes_are_quiet() -> None:
    far = np.array([2**62, 0, 2**62])
    assert exponential_choice(2.0**1000, far, source=Seeded(7)) == 1
    assert permute_and_flip(2.0**1000, far, source=Seeded(7)) == 1
    assert exponential_choice(2.0**-1000, np.array([0, 2**62]), source=Seeded(7)) in (0, 1)
    for source in (Repeating(0, 50), Seeded(1)):
        assert exponential_choice(1, np.array([0, 5]), source=source) in (0, 1)
        assert permute_and_flip(1, np.array([0, 5]), source=source) in (0, 1)
    # Words of ones are the last candidate with the worst coin, for ever; the script ends it.
    with pytest.raises(SpentError):
        exponential_choice(1, np.array([0, 5]), source=Repeating(ALL_ONES, 100))
    assert permute_and_flip(1, np.array([0, 5]), source=Repeating(ALL_ONES, 100)) == 0


def test_permute_and_flip_takes_a_uniform_one_of_the_heads() -> None:
    gaps = np.array([1, 0, 1, 0])
    heads, tails = 0, ALL_ONES
    for coins in itertools.product([heads, tails], repeat=4):
        shown = [i for i, coin in enumerate(coins) if gaps[i] == 0 or coin == heads]
        picks = [permute_and_flip(1, gaps, source=Scripted([*coins, number])) for number in range(len(shown))]
        assert picks == shown


def test_categories_follow_their_weights_exactly() -> None:
    # Every number below the total, once.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "uniform_below", lambda total, *_: np.arange(total))
        drawn = categorical([0, 3, 0, 0, 5, 1, 0], 9)
        assert np.bincount(drawn, minlength=7).tolist() == [0, 3, 0, 0, 5, 1, 0]
        assert drawn.dtype == np.int64
    assert set(categorical([2**62, 0, 2**62 - 1], 100, Seeded(7)).tolist()) == {0, 2}
    assert categorical(np.array([0, 7], dtype=np.uint8), 3).tolist() == [1, 1, 1]
    assert categorical([1], 0).shape == (0,)


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: categorical([], 3),
        lambda: categorical([0, 0], 3),
        lambda: categorical([-1, 2], 3),
        lambda: categorical([0.5, 0.5], 3),
        lambda: categorical([[1, 2]], 3),
        lambda: categorical([2**62, 2**62], 3),
        lambda: categorical([True], 3),
        lambda: categorical([1, 2], -1),
        lambda: exponential_choice(0, np.array([0])),
        lambda: exponential_choice(-1, np.array([0])),
        lambda: exponential_choice(1, np.array([], dtype=np.int64)),
        lambda: exponential_choice(1, np.array([[0]])),
        lambda: exponential_choice(1, np.array([0, -1])),
        lambda: exponential_choice(1, np.array([0.0, 0.5])),
        lambda: exponential_choice(1, np.array([0, 1]), multiplicities=np.array([1])),
        lambda: exponential_choice(1, np.array([0, 1]), multiplicities=np.array([0, 0])),
        lambda: exponential_choice(1, np.array([0, 1]), multiplicities=np.array([1, -1])),
        lambda: exponential_choice(1, np.array([0, 1]), multiplicities=np.array([0.5, 0.5])),
        lambda: permute_and_flip(1, np.array([0.0, 0.5])),
        lambda: permute_and_flip(1, np.array([1, 2])),
        lambda: permute_and_flip(1, np.array([], dtype=np.int64)),
        lambda: permute_and_flip(0, np.array([0])),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
