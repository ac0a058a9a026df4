"""Packed coins are decided lane by lane as rational numbers decide, ties too, and have the law that is stated."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import CelosiaError
from celosia.noise import Seeded, System
from celosia.noise.packed import packed_bernoulli, packed_logistic
from tests.noise.scripted import ALL_ONES, Counting, Repeating, Scripted, SpentError, compare, enclose

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DIGITS = 32  # that are compared in lanes
READ = 40  # words that are read for 64 coins

_probabilities = st.one_of(
    st.fractions(0, 1),
    st.integers(0, 256).map(lambda k: Fraction(k, 256)),
    st.builds(lambda k, s: abs(s - Fraction(1, 2**k)), st.integers(1, 200), st.integers(0, 1)),
)


def unpacked(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    flat = np.ascontiguousarray(words.astype("<u8")).view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.unpackbits(flat, axis=1, bitorder="little")[:, :bits]


def expected(words: list[int], probability: tuple[Fraction, Fraction]) -> list[bool | None]:
    """Decide each of 64 lanes in rational numbers: its digits are one bit of each word."""
    prefixes = [sum((words[i] >> lane & 1) << (DIGITS - 1 - i) for i in range(DIGITS)) for lane in range(64)]
    return [compare(prefix, DIGITS, probability) for prefix in prefixes]


def digits_of(probability: tuple[Fraction, Fraction]) -> list[int]:
    """The probability's own first digits, for all lanes."""
    prefix = int(probability[0] * 2**DIGITS)
    return [ALL_ONES * (prefix >> (DIGITS - 1 - i) & 1) for i in range(DIGITS)]


@given(_probabilities, st.lists(st.integers(0, ALL_ONES), min_size=READ, max_size=READ), st.integers(0, 64))
@example(Fraction(1), [ALL_ONES] * READ, 0)
@example(Fraction(0), [0] * READ, 0)
def test_lanes_are_compared_as_numbers(p: Fraction, words: list[int], near: int) -> None:
    if p < 1:  # some lanes, all of whose digits are the probability's but perhaps the last ones
        mask = (1 << near) - 1
        own = digits_of((p, p))
        words = [(own[i] & mask | words[i] & ~mask) if i < DIGITS - 2 else words[i] for i in range(READ)]
    verdicts = expected(words, (p, p))
    ties = verdicts.count(None)
    border = int(p * 2 ** (DIGITS + 64)) & ALL_ONES
    told = [*([border - 1] * ties if border else [border + 1] * ties)]
    coins = unpacked(packed_bernoulli(p, 1, 64, Scripted([*words, *told])), 64)[0].astype(bool)
    wanted = [verdict if verdict is not None else bool(border) for verdict in verdicts]
    assert coins.tolist() == wanted


def test_forced_ties_take_a_word_each_in_their_order() -> None:
    epsilon_cases: list[str | int] = ["1/3", 1, 2, 10]
    odds_cases: list[str | int] = [1, "1/3", 7]
    for epsilon in epsilon_cases:
        for odds in odds_cases:
            low, high = enclose(Fraction(epsilon), Fraction(odds))
            p = 1 / (1 + high), 1 / (1 + low)
            border = int(p[0] * 2 ** (DIGITS + 64)) & ALL_ONES
            script = [*digits_of(p), *[0] * (READ - DIGITS), *[border - 1, border + 1] * 32]
            coins = packed_logistic(epsilon, 1, 64, odds=odds, source=Scripted(script))
            assert coins.tolist() == [[0x5555555555555555]]
            script[-2:] = [border]  # the last is tied again
            with pytest.raises(SpentError):
                packed_logistic(epsilon, 1, 64, odds=odds, source=Scripted(script[:-1]))
            lies = packed_logistic(
                epsilon, 1, 64, odds=odds, complement=True, source=Scripted([*script[:READ], *[border - 1] * 64])
            )
            assert lies.tolist() == [[0]]


def test_many_ties_and_many_words_are_filled_in_turn() -> None:
    p = Fraction(1, 3)
    border = int(p * 2 ** (DIGITS + 64)) & ALL_ONES

    class Tying:
        """All lanes of all words are tied; each tie is settled upwards."""

        seeded = True

        def __init__(self) -> None:
            self.settled = 0

        def words(self, count: int) -> NDArray[np.uint64]:
            own = np.array(digits_of((p, p)), dtype=np.uint64)
            return np.tile(own, -(-count // DIGITS))[:count]

        def word(self) -> int:
            self.settled += 1
            return border - 1

    source = Tying()
    coins = packed_bernoulli(p, 300, 70, source)
    assert (coins == np.array([ALL_ONES, 63], dtype=np.uint64)).all()
    assert source.settled == 300 * 70


def test_probabilities_next_to_a_half() -> None:
    """The digits of 1/2 + 2^-exponent are 1000…: an enclosure must be narrow to tell them from 0111…."""
    for exponent in (40, 100, 200):
        epsilon = Fraction(4, 2**exponent)
        words = [ALL_ONES, *[0] * (READ - 1)]
        coins = packed_logistic(epsilon, 1, 64, source=Scripted([*words, *[0] * 64 * 5]))
        assert coins.tolist() == [[ALL_ONES]]
        coins = packed_logistic(epsilon, 1, 64, source=Scripted([*words, *[ALL_ONES] * 64]))
        assert coins.tolist() == [[0]]


def test_what_is_certain_is_certain() -> None:
    for source in (Repeating(0, 100_000), Repeating(ALL_ONES, 100_000), Seeded(7)):
        assert not packed_bernoulli(0, 10, 100, source).any()
        assert (unpacked(packed_bernoulli(1, 10, 100, source), 100) == 1).all()
        assert (unpacked(packed_bernoulli("1/2", 3, 100, source), 100) <= 1).all()
    assert (unpacked(packed_logistic(60_000, 10, 100, source=Seeded(7)), 100) == 1).all()
    assert not packed_logistic(60_000, 10, 100, complement=True, source=Seeded(7)).any()
    # A dyadic probability is never tied: no word is asked for beyond those read in lanes.
    assert packed_bernoulli("1/2", 1, 64, Scripted([ALL_ONES, *[0] * (READ - 1)])).tolist() == [[0]]


@given(st.integers(0, 40), st.integers(1, 300), st.booleans())
def test_bits_beyond_the_last_are_zero(rows: int, bits: int, complement: bool) -> None:  # noqa: FBT001
    coins = packed_logistic(1, rows, bits, complement=complement, source=Seeded(7))
    assert coins.shape == (rows, -(-bits // 64))
    assert coins.dtype == np.uint64
    beyond = unpacked(coins, 64 * coins.shape[1])[:, bits:]
    assert not beyond.any()


def alarms(coins: NDArray[np.uint8], probability: float) -> float:
    """The least p-value of: all coins; ones in a word; two neighbouring lanes; two neighbouring words; each lane."""
    rows, bits = coins.shape
    total = stats.binomtest(int(coins.sum()), coins.size, probability).pvalue
    words = coins.reshape(-1, 64).sum(axis=1)
    masses = stats.binom.pmf(np.arange(65), 64, probability) * words.size
    observed = np.bincount(words, minlength=65)
    rare = masses < 10
    masses, observed = (np.append(each[~rare], each[rare].sum() + 10 * int(rare.any())) for each in (masses, observed))
    spread = stats.chi2.sf(((observed - masses) ** 2 / masses).sum(), masses.size)
    both = probability**2
    lanes = stats.binomtest(int((coins[:, ::2] & coins[:, 1::2]).sum()), coins.size // 2, both).pvalue
    neighbours = stats.binomtest(int((coins[:, :64] & coins[:, 64:128]).sum()), rows * 64, both).pvalue
    sums = coins.sum(axis=0, dtype=np.int64)  # the lane of the least or the most ones is the least likely
    each = min(stats.binomtest(int(ones), rows, probability).pvalue for ones in (sums.min(), sums.max())) * bits
    return float(min(total, spread, lanes, neighbours, each))


@pytest.mark.parametrize("epsilon", ["1/4", 2, *(pytest.param(one, marks=pytest.mark.thorough) for one in (1, 4))])
def test_coins_have_the_stated_law_and_others_do_not(epsilon: str | int) -> None:
    truth = 1 / (1 + np.exp(-float(Fraction(epsilon))))
    truths = unpacked(packed_logistic(epsilon, 6_000, 256, source=Seeded(11)), 256)
    lies = unpacked(packed_logistic(epsilon, 6_000, 256, complement=True, source=Seeded(12)), 256)
    plain = unpacked(packed_bernoulli(str(Fraction(truth)), 6_000, 256, Seeded(13)), 256)
    for coins, probability in ((truths, truth), (lies, 1 - truth), (plain, truth)):
        assert alarms(coins, probability) > 1e-7
        assert alarms(coins, 1 - probability) < 1e-12
        assert alarms(coins, probability * (0.9 if probability < 0.5 else 0.98)) < 1e-12
        assert alarms(np.repeat(coins[:, :128], 2, axis=1), probability) < 1e-12  # lanes that are copies


def test_a_coin_takes_about_seven_bits_of_a_word() -> None:
    source = Counting(1)
    packed_logistic(1, 1000, 1024, source=source)
    assert source.total < 16_000 * 8.5
    assert source.largest <= 1 << 14  # memory stays flat


def test_the_system_is_the_default() -> None:
    assert packed_bernoulli("1/2", 4, 640).any()
    assert packed_logistic(1, 4, 640, source=System()).any()
    assert packed_bernoulli("1/2", 0, 640).shape == (0, 10)


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: packed_bernoulli(-1, 3, 3),
        lambda: packed_bernoulli("1.01", 3, 3),
        lambda: packed_bernoulli(float("nan"), 3, 3),
        lambda: packed_bernoulli("1/2", -1, 3),
        lambda: packed_bernoulli("1/2", 1, 0),
        lambda: packed_bernoulli("1/2", 1, 2.0),  # type: ignore[arg-type]
        lambda: packed_bernoulli("1/2", 1, 2, 7),  # type: ignore[arg-type]
        lambda: packed_logistic(-1, 3, 3),
        lambda: packed_logistic(float("inf"), 3, 3),
        lambda: packed_logistic(1, 3, 3, odds=0),
        lambda: packed_logistic(1, 3, 3, odds=-1),
        lambda: packed_logistic(1, 3, 3, complement=1),  # type: ignore[arg-type]
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
