"""Integers, permutations and subsets: no remainder is favoured, equal keys start over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import CelosiaError
from celosia.noise import Seeded, integer_below, permutation, subset, subsets, uniform_below
from tests.noise.scripted import ALL_ONES, Counting, Repeating, Scripted, SpentError

if TYPE_CHECKING:
    from collections.abc import Callable

_bounds = st.integers(1, 70) | st.integers(1, 2**62) | st.integers(0, 63).map(lambda k: 2**k)
BITS = (8, 16, 32, 64)


def bits_read(bound: int) -> int:
    """Return how many bits are read for a number."""
    source = Counting(1)
    uniform_below(bound, 6400, source)
    return min(BITS, key=lambda bits: abs(source.total - 100 * bits))


def test_every_remainder_is_as_frequent() -> None:
    """All digits that can be read, each once: exactly equally many of each number, and the rest is drawn again."""
    for bound in (1, 2, 3, 6, 7, 255, 256, 257, 511):
        bits = bits_read(bound)
        digits = np.arange(1 << bits, dtype=np.dtype(f"<u{bits // 8}"))
        usable = (1 << bits) // bound * bound
        numbers = uniform_below(bound, usable, Scripted([*digits.view("<u8").tolist(), *[0] * (usable // 128 + 8)]))
        assert set(np.bincount(numbers, minlength=bound).tolist()) == {usable // bound}


@given(_bounds)
def test_digits_that_would_bias_are_drawn_again(bound: int) -> None:
    bits = bits_read(bound)
    usable = (1 << bits) // bound * bound

    def one(*digits: int) -> int:
        """Read from words that are filled with one digit each."""
        words = [sum(digit << shift for shift in range(0, 64, bits)) for digit in digits]
        return int(uniform_below(bound, 1, Scripted(words * (2 if bits == 64 else 1)))[0])

    assert one(usable - 1) == bound - 1
    assert one(0) == 0
    if usable < 1 << bits:
        with pytest.raises(SpentError):
            uniform_below(bound, 1, Repeating(ALL_ONES, 50))
    else:
        assert uniform_below(bound, 1, Repeating(ALL_ONES, 50)).tolist() == [bound - 1]


@given(st.integers(1, 2**200))
def test_large_numbers_too(bound: int) -> None:
    words = next(count for count in range(1, 9) if bound.bit_length() + 8 <= 64 * count)
    range_ = 1 << 64 * words
    usable = range_ // bound * bound
    assert range_ - usable < range_ >> 7  # rarely drawn again

    def script(number: int) -> list[int]:
        return [number >> 64 * place & ALL_ONES for place in reversed(range(words))]

    assert integer_below(bound, Scripted(script(usable - 1))) == bound - 1
    if usable < range_:
        assert integer_below(bound, Scripted(script(usable) + script(bound + 1))) == (bound + 1) % bound
        with pytest.raises(SpentError):
            integer_below(bound, Repeating(ALL_ONES, 50))


@given(_bounds, st.integers(0, 300), st.integers(0, 2**64))
def test_numbers_are_in_range(bound: int, count: int, seed: int) -> None:
    numbers = uniform_below(bound, count, Seeded(seed))
    assert numbers.shape == (count,)
    assert numbers.dtype == np.int64
    assert ((numbers >= 0) & (numbers <= bound - 1)).all()


def test_the_narrowest_type_is_read() -> None:
    assert [bits_read(bound) for bound in (1, 2, 511, 512, 2**24, 2**25, 2**63)] == [8, 16, 16, 32, 32, 64, 64]
    assert uniform_below(2**63, 3, Repeating(ALL_ONES, 4)).tolist() == [2**63 - 1] * 3


def test_a_permutation_starts_over_if_keys_are_equal() -> None:
    assert permutation(3, Scripted([5, 9, 5, 30, 10, 20])).tolist() == [1, 2, 0]
    assert permutation(3, Scripted([1, 2, 3])).tolist() == [0, 1, 2]
    assert permutation(0, Scripted([])).tolist() == []
    assert permutation(1, Repeating(0, 1)).tolist() == [0]
    with pytest.raises(SpentError):  # a constant source has no order to give
        permutation(2, Repeating(0, 100))


@given(st.integers(0, 400), st.integers(0, 2**64))
def test_a_permutation_holds_every_number(size: int, seed: int) -> None:
    assert sorted(permutation(size, Seeded(seed)).tolist()) == list(range(size))


@given(st.integers(0, 400), st.data())
def test_a_subset_is_one(size: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, size))
    numbers = subset(size, chosen, Seeded(data.draw(st.integers(0, 2**32)))).tolist()
    assert len(numbers) == chosen
    assert numbers == sorted(set(numbers))
    assert all(0 <= number < size for number in numbers)


@given(st.integers(0, 400), st.integers(0, 20), st.data())
def test_many_subsets_are_subsets(size: int, count: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, size))
    numbers = subsets(size, chosen, count, Seeded(data.draw(st.integers(0, 2**32))))
    assert numbers.shape == (count, chosen)
    assert numbers.dtype == np.int64
    assert (np.diff(numbers, axis=1) > 0).all()
    assert not numbers.size or 0 <= numbers.min() <= numbers.max() < size


def test_all_subsets_are_equally_likely() -> None:
    for size, chosen in ((7, 2), (5, 3), (6, 1)):
        numbers = subsets(size, chosen, 60_000, Seeded(5))
        _, counts = np.unique(numbers @ 10 ** np.arange(chosen), return_counts=True)
        assert len(counts) == math.comb(size, chosen)
        assert stats.chisquare(counts).pvalue > 1e-7
        skewed = counts + np.where(np.arange(len(counts)) == 0, counts // 10, 0)
        assert stats.chisquare(skewed).pvalue < 1 - 1e-3  # and the check looks at something


def test_rows_are_independent() -> None:
    numbers = subsets(50, 5, 40_000, Seeded(6))
    held = np.zeros((40_000, 50), dtype=np.bool_)
    np.put_along_axis(held, numbers, values=True, axis=1)
    both = int((held[1:] & held[:-1]).sum())
    assert stats.binomtest(both, held[1:].size, 0.01).pvalue > 1e-7
    assert stats.chisquare(held.sum(axis=0)).pvalue > 1e-7


def test_subsets_of_very_many_numbers() -> None:
    for size, chosen in ((2**62, 3), (2**40, 2), (2**27, 20_000)):
        numbers = subsets(size, chosen, 2, Seeded(7))
        assert numbers.shape == (2, chosen)
        assert (np.diff(numbers, axis=1) > 0).all()
        assert numbers.max() > size // 4
    assert subsets(2**32, 1, 1, Repeating(ALL_ONES, 3)).tolist() == [[2**32 - 1]]


def test_a_long_row_gets_done_although_digits_are_drawn_again() -> None:
    cases: list[tuple[int, int]] = [(2**20, 2**19), (2**31 + 10**5, 5000), (3 * 2**30, 5000)]
    for size, chosen in cases:
        words = Seeded(7).words(2 * (chosen + (chosen * size >> 30)))
        numbers = subsets(size, chosen, 1, Scripted(words.tolist()))  # which fails where it is asked for more
        assert len(np.unique(numbers)) == chosen


def test_numbers_that_came_already_are_passed_over() -> None:
    # One word more than is needed is read each time, in case one is drawn again.
    assert subset(2**62, 2, Scripted([7, 7, 0, 3, 0])).tolist() == [3, 7]
    assert subset(2**62, 3, Seeded(7)).size == 3  # no list of all numbers is made


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: uniform_below(0, 3),
        lambda: uniform_below(-5, 3),
        lambda: uniform_below(2**63 + 1, 3),
        lambda: uniform_below(6, -1),
        lambda: uniform_below(6.0, 1),  # type: ignore[arg-type]
        lambda: integer_below(0),
        lambda: integer_below("6"),  # type: ignore[arg-type]
        lambda: permutation(-1),
        lambda: permutation(2.0),  # type: ignore[arg-type]
        lambda: subset(3, 4),
        lambda: subset(-1, 0),
        lambda: subset(3, -1),
        lambda: subset(3, 1, 7),  # type: ignore[arg-type]
        lambda: subsets(3, 4, 1),
        lambda: subsets(-1, 0, 1),
        lambda: subsets(3, 1, -1),
        lambda: subsets(3, 1, 1.0),  # type: ignore[arg-type]
        lambda: subsets(3, 1, 1, 7),  # type: ignore[arg-type]
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()
