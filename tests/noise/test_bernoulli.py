"""Coins are decided as rational numbers decide, at the border too."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.core import CelosiaError
from celosia.noise import (
    Seeded,
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    bernoulli_odds,
    coins_exp,
    flip,
    flip_exp,
    flip_logistic,
    flip_odds,
)
from tests.noise.scripted import ALL_ONES, Counting, Repeating, Scripted, SpentError, compare, enclose, threshold

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Source

TINY = Fraction(1, 2**70)


def bytes_as_words(digits: list[int]) -> list[int]:
    padded = bytes(digits) + bytes(-len(digits) % 8)
    words: list[int] = np.frombuffer(padded, dtype="<u8").tolist()
    return words


def check(probability: tuple[Fraction, Fraction], byte: int, word: int, one: Callable[[Source], bool]) -> None:
    """Hold a coin of one byte, and a word where that is not enough, to its exact verdict."""
    verdict = compare(byte, 8, probability)
    if verdict is not None:
        assert one(Scripted([byte])) is verdict
        return
    verdict = compare(byte << 64 | word, 72, probability)
    if verdict is not None:
        assert one(Scripted([byte, word])) is verdict
        return
    further = threshold(probability, 136) - ((byte << 64 | word) << 64)
    if further > 0:
        assert one(Scripted([byte, word, further - 1])) is True
    if further < ALL_ONES:
        assert one(Scripted([byte, word, further + 1])) is False


@st.composite
def coins(draw: st.DrawFn, probability: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """Draw a byte and a word; often those that are next to the probability."""
    if draw(st.booleans()):
        return draw(st.integers(0, 255)), draw(st.integers(0, ALL_ONES))
    border = min(max(int(probability[0] * 2**72) + draw(st.integers(-2, 2)), 0), 2**72 - 1)
    return border >> 64, border & ALL_ONES


_probabilities = st.one_of(
    st.fractions(0, 1),
    st.integers(0, 256).map(lambda k: Fraction(k, 256)),
    st.builds(lambda k, s: abs(s - Fraction(1, 2**k)), st.integers(1, 200), st.integers(0, 1)),
)


@given(_probabilities, st.data())
def test_coins_of_rational_probability(p: Fraction, data: st.DataObject) -> None:
    byte, word = data.draw(coins((p, p)))
    check((p, p), byte, word, lambda source: bool(bernoulli(p, 1, source)[0]))


@given(st.fractions(0, 60), st.data())
@example(Fraction(0), None)
def test_coins_of_exponential_probability(x: Fraction, data: st.DataObject | None) -> None:
    p = enclose(x, Fraction(1))
    byte, word = (255, ALL_ONES) if data is None else data.draw(coins(p))
    check(p, byte, word, lambda source: bool(bernoulli_exp(x, 1, source)[0]))


@given(st.fractions(0, 60), st.integers(2, 1000), st.data())
def test_coins_of_truth_probability(epsilon: Fraction, categories: int, data: st.DataObject) -> None:
    low, high = enclose(epsilon, Fraction(categories - 1))
    p = 1 / (1 + high), 1 / (1 + low)
    byte, word = data.draw(coins(p))
    check(p, byte, word, lambda s: bool(bernoulli_logistic(epsilon, 1, categories=categories, source=s)[0]))


@given(st.fractions(0, 60), st.fractions(Fraction(1, 10**6), 10**6) | st.just(Fraction(2) ** 300), st.data())
def test_coins_of_rational_odds(epsilon: Fraction, odds: Fraction, data: st.DataObject) -> None:
    low, high = enclose(epsilon, odds)
    p = 1 / (1 + high), 1 / (1 + low)
    byte, word = data.draw(coins(p))
    check(p, byte, word, lambda s: bool(bernoulli_odds(epsilon, odds, 1, s)[0]))
    border = int(p[0] * 2**64)
    if border == int(p[1] * 2**64):
        assert border == 0 or flip_odds(epsilon, odds, Scripted([border - 1])) is True
        assert border >= ALL_ONES or flip_odds(epsilon, odds, Scripted([border + 1])) is False


def test_whole_odds_are_other_categories() -> None:
    for others in (1, 2, 9):
        one, two = Seeded(3), Seeded(3)
        assert bernoulli_odds(1, others, 999, one).tolist() == (
            bernoulli_logistic(1, 999, categories=others + 1, source=two).tolist()
        )
        assert flip_odds("1/2", others, one) == flip_logistic("1/2", others + 1, two)


@given(_probabilities, st.integers(-2, 2))
def test_single_coins(p: Fraction, by: int) -> None:
    word = min(max(int(p * 2**64) + by, 0), ALL_ONES)
    verdict = compare(word, 64, (p, p))
    if verdict is not None:
        assert flip(p, Scripted([word])) is verdict
    else:
        further = int(p * 2**128) - (word << 64)
        assert further == 0 or flip(p, Scripted([word, further - 1])) is True
        assert further == ALL_ONES or flip(p, Scripted([word, further + 1])) is False
    x = enclose(p, Fraction(1))
    if x[0] < 1:
        assert flip_exp(p, Scripted([threshold(x, 64) - 1])) is True
        assert flip_exp(p, Scripted([threshold(x, 64) + 1])) is False or threshold(x, 64) + 1 > ALL_ONES


def test_a_byte_decides_a_probability_of_a_byte() -> None:
    for k in (0, 1, 2, 100, 128, 254, 255, 256):
        shown = bernoulli(Fraction(k, 256), 256, Scripted(bytes_as_words(list(range(256)))))
        assert shown.tolist() == [digit < k for digit in range(256)]


def test_ties_take_one_word_each_in_their_order() -> None:
    border = 2**64 // 3  # 1/3 is 85 and a third 256ths
    digits = [85, 0, 85, 255, 85, 85, 86, 84, 85]
    script = [*bytes_as_words(digits), border - 1, border + 1, 0, ALL_ONES, border, 5]
    assert bernoulli("1/3", 9, Scripted(script)).tolist() == [True, True, False, False, True, False, False, True, True]


def test_probabilities_next_to_zero_and_one() -> None:
    for word, rare, usual in ((0, True, True), (3, True, True), (4, False, True)):
        assert bernoulli(TINY, 1, Scripted([0, word])).tolist() == [rare]
        assert bernoulli(1 - TINY, 1, Scripted([255, word])).tolist() == [usual]
        assert bernoulli(1 - TINY, 1, Scripted([255, ALL_ONES - word])).tolist() == [not rare]
        assert not bernoulli(TINY, 1, Scripted([1])).any()
        assert bernoulli(1 - TINY, 1, Scripted([254])).all()


def test_what_is_certain_is_certain() -> None:
    for source in (Repeating(0, 1000), Repeating(ALL_ONES, 1000), Seeded(7)):
        assert not bernoulli(0, 1000, source).any()
        assert bernoulli(1, 1000, source).all()
        assert bernoulli_exp(0, 1000, source).all()
        assert flip(1, source)
        assert not flip(0, source)
        assert flip_exp(0, source)
    assert not bernoulli_exp(10**300, 1000, Seeded(7)).any()
    assert not flip_exp(10**300, Seeded(7))
    assert bernoulli_logistic(10**6, 1000, source=Seeded(7)).all()
    assert flip_logistic(10**6, 5, Seeded(7))
    # A source of zeros is below any positive probability; it takes as many zeros as the probability begins with.
    assert bernoulli_exp(1000, 3, Repeating(0, 200)).all()
    assert not bernoulli_exp(1000, 3, Repeating(ALL_ONES, 200)).any()


@given(st.fractions(Fraction(1, 10**6), 50), st.integers(0, 60), st.integers(-3, 3), st.sampled_from([-1, 0, 1]))
@example(Fraction(36), 1, 0, 0)
def test_coins_with_gaps_of_their_own(rate: Fraction, gap: int, by: int, slack: int) -> None:
    p = enclose(rate * gap, Fraction(1))
    border = int(p[0] * 2**52)
    coin = min(max(border + slack * (border >> 36) + by, 0), 2**52 - 1)
    verdict = compare(coin, 52, p)
    gaps = np.array([gap])

    def shown(*more: int) -> list[bool]:
        return coins_exp(rate, gaps, Scripted([coin << 12 | 0xFFF, *more])).tolist()  # type: ignore[no-any-return]

    if verdict is not None:
        assert shown() == [verdict]
        return
    further = threshold(p, 116) - (coin << 64)
    assert further <= 0 or shown(further - 1) == [True]
    assert further >= ALL_ONES or shown(further + 1) == [False]


def test_gaps_keep_their_shape_and_extremes_are_quiet() -> None:
    assert coins_exp(0, np.full((3, 4), 2**62), Seeded(7)).all()
    assert coins_exp(5, np.zeros((2, 2), dtype=np.int8), Repeating(ALL_ONES, 4)).tolist() == [[True] * 2] * 2
    assert not coins_exp(2.0**1000, np.array([1, 2**62]), Seeded(7)).any()
    assert coins_exp(1, np.array(0), Seeded(7)).shape == ()
    assert coins_exp(1, np.array([], dtype=np.int64), Scripted([])).shape == (0,)
    assert coins_exp(1, np.array([0, 1], dtype=np.uint64), Seeded(7)).tolist()[0] is True


def test_a_coin_takes_a_byte() -> None:
    source = Counting(1)
    bernoulli("1/3", 80_000, source)
    bernoulli_exp(1, 80_000, source)
    bernoulli_logistic(1, 80_000, source=source)
    # A byte each, and a word for one in 256.
    assert source.total < 3 * 80_000 * (1 / 8 + 1.3 / 256)


def test_scripts_that_end_are_noticed() -> None:
    with pytest.raises(SpentError):
        bernoulli("1/3", 1, Scripted([85]))


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: bernoulli(-1, 3),
        lambda: bernoulli("1.0001", 3),
        lambda: bernoulli(float("nan"), 3),
        lambda: bernoulli("1/2", -1),
        lambda: bernoulli("1/2", 1.0),  # type: ignore[arg-type]
        lambda: bernoulli_exp(-1, 3),
        lambda: bernoulli_exp(float("inf"), 3),
        lambda: bernoulli_logistic(-1, 3),
        lambda: bernoulli_logistic(1, 3, categories=1),
        lambda: bernoulli_odds(-1, 1, 3),
        lambda: bernoulli_odds(1, 0, 3),
        lambda: bernoulli_odds(1, "-1/2", 3),
        lambda: bernoulli_odds(1, 1, -3),
        lambda: flip_odds(1, float("nan")),
        lambda: flip(2),
        lambda: flip_exp("x"),
        lambda: flip_logistic(1, 0),
        lambda: flip("1/2", 7),  # type: ignore[arg-type]
        lambda: coins_exp(-1, np.array([1])),
        lambda: coins_exp(1, np.array([-1])),
        lambda: coins_exp(1, np.array([0.5])),
        lambda: coins_exp(1, np.array([True])),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
