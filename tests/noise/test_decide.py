"""Comparison of bits with an enclosed probability is exact; the enclosures hold the probability."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.noise.decide import below, certain, exp_enclosure, leading, logistic_enclosure, ratio_enclosure
from tests.noise.scripted import ALL_ONES, Repeating, Scripted, SpentError, compare

if TYPE_CHECKING:
    from celosia.noise.decide import Enclosure

_words = st.integers(0, ALL_ONES)
_probabilities = st.one_of(
    st.fractions(0, 1),
    st.builds(lambda k: Fraction(1, 2**k), st.integers(0, 300)),
    st.builds(lambda k: 1 - Fraction(1, 2**k), st.integers(0, 300)),
)
_exponents = st.one_of(
    st.fractions(0, 50), st.builds(lambda n, k: Fraction(n, 2**k), st.integers(1, 9), st.integers(0, 200))
)


def true_exp(x: Fraction) -> Fraction:
    """Return exp(-x) to 400 digits, by Python's decimal module."""
    context = decimal.Context(prec=400, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    return Fraction(context.exp(context.divide(Decimal(-x.numerator), Decimal(x.denominator))))


@given(_probabilities, st.integers(0, 200), st.data())
def test_below_is_the_comparison_of_real_numbers(probability: Fraction, bits: int, data: st.DataObject) -> None:
    border = int(probability * 2**bits)
    prefixes = st.integers(max(border - 1, 0), border + 1) | st.integers(0, 2**bits - 1)
    prefix = min(data.draw(prefixes), 2**bits - 1)
    verdict = compare(prefix, bits, (probability, probability))
    if verdict is not None:
        assert below(prefix, bits, ratio_enclosure(probability), Scripted([])) is verdict
        return
    further = int(probability * 2 ** (bits + 64)) - (prefix << 64)
    if further > 0:
        assert below(prefix, bits, ratio_enclosure(probability), Scripted([further - 1])) is True
    if further < ALL_ONES:
        assert below(prefix, bits, ratio_enclosure(probability), Scripted([further + 1])) is False
    if probability * 2 ** (bits + 64) == (prefix << 64) + further:
        assert below(prefix, bits, ratio_enclosure(probability), Scripted([further])) is False
    else:
        with pytest.raises(SpentError):
            below(prefix, bits, ratio_enclosure(probability), Scripted([further]))


@given(_exponents, st.integers(0, 100), _words)
def test_the_border_is_followed_word_by_word(x: Fraction, bits: int, word: int) -> None:
    # Whoever reads the very digits of the probability is never decided; the first other word decides.
    digits = int(true_exp(x) * 2 ** (bits + 64 * 3))
    script = [digits >> 64 * place & ALL_ONES for place in (2, 1)]
    last = digits & ALL_ONES
    prefix = digits >> 64 * 3
    if x == 0 or prefix >= 2**bits:
        return
    if word not in (last, last + 1, last - 1):
        assert below(prefix, bits, exp_enclosure(x), Scripted([*script, word])) is (word < last)
    with pytest.raises(SpentError):
        below(prefix, bits, exp_enclosure(x), Scripted(script))


@given(_probabilities, st.integers(0, 200))
def test_ratios_are_enclosed(probability: Fraction, bits: int) -> None:
    low, high = ratio_enclosure(probability)(bits)
    assert low <= probability * 2**bits <= high
    assert high - low == (probability * 2**bits).denominator.bit_length().__gt__(1)


@given(_exponents, st.fractions(Fraction(1, 10**9), 10**9) | st.integers(-300, 300).map(lambda k: Fraction(2) ** k))
@example(Fraction(0), Fraction(1))
@example(Fraction(0), Fraction(1, 3))
@example(Fraction(10**6), Fraction(2) ** 100)
def test_exponentials_are_enclosed(x: Fraction, factor: Fraction) -> None:
    for bits in (0, 8, 72, 200):
        low, high = exp_enclosure(x, factor)(bits)
        value = factor * true_exp(x) * 2**bits
        blur = value / 10**350  # the oracle's error
        assert low <= value + blur
        assert value - blur <= high
        assert high - low <= 3


@given(_exponents, st.integers(1, 10**9) | st.fractions(Fraction(1, 10**9), 10**9))
@example(Fraction(0), 1)
@example(Fraction(0), 9)
@example(Fraction(10**6), 1)
@example(Fraction(1), Fraction(1, 2**300))
def test_truth_probabilities_are_enclosed(x: Fraction, others: int | Fraction) -> None:
    for bits in (0, 8, 72, 200):
        low, high = logistic_enclosure(x, others)(bits)
        value = 2**bits / (1 + others * true_exp(x))
        blur = value / 10**350
        assert low <= value + blur
        assert value - blur <= high
        assert high - low <= 3


@given(_exponents, st.integers(0, 80))
def test_what_is_certain_is_certain(x: Fraction, bits: int) -> None:
    enclosures: list[tuple[Enclosure, Fraction]] = [
        (exp_enclosure(x), true_exp(x)),
        (logistic_enclosure(x, 3), 1 / (1 + 3 * true_exp(x))),
    ]
    for enclosure, probability in enclosures:
        yes, no = certain(enclosure, bits)
        assert yes <= probability * 2**bits <= no
        assert no - yes <= 2


def test_certain_of_dyadic_probabilities_leaves_no_gap() -> None:
    for bits in (0, 1, 8, 64):
        for k in range(0, 2**bits + 1, max(1, 2**bits // 16)):
            assert certain(ratio_enclosure(Fraction(k, 2**bits)), bits) == (k, k)


@given(_probabilities, st.integers(0, 100))
def test_leading_digits_of_ratios(probability: Fraction, bits: int) -> None:
    prefix, exact = leading(ratio_enclosure(probability), bits)
    assert prefix <= probability * 2**bits < prefix + 1
    assert exact is (probability * 2**bits == prefix)


@given(_exponents, st.integers(0, 100), st.sampled_from([1, 3, Fraction(1, 3)]))
@example(Fraction(1, 2**150), 32, 1)
@example(Fraction(1, 2**1000), 1, Fraction(1, 3))
@example(Fraction(0), 32, 1)
@example(Fraction(0), 32, Fraction(1, 3))
def test_leading_digits_of_truth_probabilities(x: Fraction, bits: int, others: int | Fraction) -> None:
    prefix, exact = leading(logistic_enclosure(x, others), bits)
    value = 2**bits / (1 + others * true_exp(x))
    blur = value / 10**350
    assert prefix <= value + blur
    assert value - blur <= prefix + (not exact)
    assert exact is (x == 0 and value.denominator == 1)


def test_constant_sources_come_to_an_end() -> None:
    third = ratio_enclosure(Fraction(1, 3))
    assert below(0, 64, third, Repeating(0, 1)) is True
    assert below(ALL_ONES, 64, third, Repeating(ALL_ONES, 1)) is False
    # All zeros is below any positive probability, once its first digit has come: here after 1443 zeros.
    source = Repeating(0, 100)
    assert below(0, 64, exp_enclosure(Fraction(1000)), source) is True
    assert 100 - len(source.left) == 22
