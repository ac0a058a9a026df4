"""Enclosures against an independent oracle: the decimal module, whose exp, ln and sqrt are correctly rounded."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.core.enclosure import (
    exp_at_least,
    exp_at_most,
    exp_negative,
    log,
    log_at_least,
    log_at_most,
    root_at_least,
    root_at_most,
)

_TINY = Fraction(1, 2**1000)
_HUGE = Fraction(2**1000)
_ordinary = st.fractions(min_value=0, max_value=200, max_denominator=10**12)
_small = st.builds(lambda n, k: Fraction(n, 2**k), st.integers(1, 1000), st.integers(0, 1100))
_large = st.builds(lambda n, k: Fraction(n * 2**k, 7), st.integers(1, 1000), st.integers(0, 1000))
_near_one = st.builds(lambda s, k: 1 + Fraction(s, 2**k), st.sampled_from([-1, 1]), st.integers(1, 1000))
_non_negative = st.one_of(st.just(Fraction(0)), _ordinary, _small, _large, _near_one)
_positive = _non_negative.filter(bool)
_bits = st.integers(0, 300)


def _oracle(function: str, x: Fraction, digits: int) -> Fraction:
    """Return exp, ln or sqrt of ``x`` to ``digits`` significant digits (of the distance of x from 1, for ln)."""
    context = decimal.Context(prec=digits + 320, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    quotient = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    return Fraction(getattr(context, function)(quotient))


def _encloses(low: Fraction | int, value: Fraction, high: Fraction | int) -> bool:
    blur = abs(value) / 10**250  # far above the oracle's error, far below what any bound here could hide in
    return low <= value + blur and value - blur <= high


@given(_non_negative, _bits)
@example(Fraction(0), 64)
@example(_TINY, 64)
@example(_HUGE, 64)
@example(Fraction(1), 0)
@example(Fraction(7 * 66, 10), 64)  # where the answer turns into (0, 1)
@example(Fraction(7 * 66, 10) + _TINY, 64)
@example(1 - _TINY, 300)
@example(Fraction(1, 2), 2000)
def test_exp_negative_encloses_within_two_units(x: Fraction, bits: int) -> None:
    low, high = exp_negative(x, bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 2
    if x > 10_000:
        assert (low, high) == (0, 1)
    else:
        assert _encloses(low, _oracle("exp", -x, bits // 3 + 10) * 2**bits, high)


def test_exp_negative_of_zero_is_exact() -> None:
    assert exp_negative(Fraction(0), 10) == (1024, 1024)


@given(_ordinary, st.integers(1, 100))
def test_more_bits_narrow_the_same_number(x: Fraction, bits: int) -> None:
    low, high = exp_negative(x, bits)
    finer_low, finer_high = exp_negative(x, bits + 40)
    assert finer_low <= high << 40
    assert finer_high >= low << 40
    assert finer_high - finer_low < 1 << 40


@given(st.fractions(min_value=-720, max_value=720, max_denominator=10**9) | _small | _small.map(lambda x: -x))
@example(Fraction(0))
@example(_TINY)
@example(-_TINY)
@example(Fraction(720))
@example(Fraction(-720))
def test_exp_bounds_enclose_within_one_part_in_2_to_the_64(x: Fraction) -> None:
    low, high = exp_at_most(x), exp_at_least(x)
    assert _encloses(low, _oracle("exp", x, 400), high)
    assert 0 < low <= high
    assert (high - low) * 2**64 < low
    assert math.log2(high.denominator) <= 80 + 1.5 * (abs(x) + 1)  # short, for the sums that are made of them


def test_exp_bounds_of_zero_are_exact() -> None:
    assert exp_at_most(Fraction(0)) == exp_at_least(Fraction(0)) == 1


@given(_positive, _bits)
@example(Fraction(1), 64)
@example(Fraction(2), 64)
@example(Fraction(1, 2), 64)
@example(_TINY, 64)
@example(_HUGE, 64)
@example(1 + _TINY, 64)
@example(1 - _TINY, 64)
@example(Fraction(3), 3000)
def test_log_encloses_within_two_units(x: Fraction, bits: int) -> None:
    low, high = log(x, bits)
    assert low <= high <= low + 2
    assert _encloses(low, _oracle("ln", x, bits // 3 + 320) * 2**bits, high)


@given(_positive)
@example(1 + _TINY)
@example(_HUGE)
def test_log_bounds_enclose_to_eighty_places(x: Fraction) -> None:
    low, high = log_at_most(x), log_at_least(x)
    assert _encloses(low, _oracle("ln", x, 400), high)
    assert high - low <= Fraction(2, 2**80)


def test_log_of_one_is_exactly_zero() -> None:
    assert log(Fraction(1), 64) == (0, 0)
    assert log_at_most(Fraction(1)) == log_at_least(Fraction(1)) == 0


@given(_non_negative)
@example(Fraction(0))
@example(_TINY)
@example(_TINY / 2)
@example(_HUGE * 2)
@example(1 + _TINY)
@example(Fraction(2))
@example(Fraction(10**200 + 1, 3**700))
def test_root_bounds_enclose_and_are_short(x: Fraction) -> None:
    low, high = root_at_most(x), root_at_least(x)
    assert 0 <= low <= high
    assert low * low <= x <= high * high
    assert (high - low) * 2**64 <= low
    if low != high:
        places = max(0, 82 + (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
        assert 2**places % high.denominator == 0


@given(_positive, st.integers(1, 10**6), st.integers(60, 400))
@example(Fraction(1, 144), 1, 60)
def test_roots_are_monotone_even_where_two_numbers_are_nearly_one(x: Fraction, number: int, power: int) -> None:
    larger = x * (1 + Fraction(number, 3**power))
    # An exact root has all its digits, its neighbours' have eighty places: only beside a square may the order flip.
    assert root_at_most(x) <= root_at_most(larger) or root_at_most(x) ** 2 == x
    assert root_at_least(x) <= root_at_least(larger) or root_at_least(larger) ** 2 == larger


@given(_non_negative)
def test_roots_of_squares_are_exact(x: Fraction) -> None:
    assert root_at_most(x * x) == root_at_least(x * x) == x


def check_outside_the_domain_is_an_error_and_never_an_endless_series(x: Fraction) -> None:
    for function in (
        lambda: exp_negative(x, 64),
        lambda: log(x, 64),
        lambda: root_at_least(x),
        lambda: root_at_most(x),
    ):
        with pytest.raises(ParameterError):
            function()
    with pytest.raises(ParameterError):
        log(Fraction(0), 64)


@pytest.mark.timeout(5)
def test_outside_the_domain_is_an_error_and_never_an_endless_series() -> None:
    cases: list[Fraction] = [Fraction(-1), -_TINY, -_HUGE]
    for x in cases:
        check_outside_the_domain_is_an_error_and_never_an_endless_series(x)
