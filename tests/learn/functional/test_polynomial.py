from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.learn.functional.polynomial import Polynomial, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.learn.functional.polynomial import Variable

W, X, (Y,) = variables("w", 2), variables("x", 2), variables("y", 1)
LETTERS: dict[Variable, Polynomial] = {("w", 0): W[0], ("w", 1): W[1], ("x", 0): X[0], ("x", 1): X[1], ("y", 0): Y}
numbers = st.fractions(min_value=-5, max_value=5, max_denominator=12)


@st.composite
def polynomials(draw: st.DrawFn) -> Polynomial:
    powers = st.lists(st.sampled_from(sorted(LETTERS)), max_size=3).map(lambda found: tuple(sorted(found)))
    return Polynomial.of(draw(st.dictionaries(powers, numbers, max_size=4)))


def at(polynomial: Polynomial, values: Mapping[Variable, Fraction]) -> Fraction:
    total = Fraction(0)
    for powers, number in polynomial.terms:
        product = number
        for variable in powers:
            product *= values[variable]
        total += product
    return total


@settings(max_examples=50, deadline=None)
@given(polynomials(), polynomials(), st.fixed_dictionaries(dict.fromkeys(LETTERS, numbers)), numbers)
def test_arithmetic_is_that_of_the_values(
    a: Polynomial, b: Polynomial, values: dict[Variable, Fraction], number: Fraction
) -> None:
    left, right = at(a, values), at(b, values)
    assert at(a + b, values) == left + right
    assert at(a - b, values) == left - right
    assert at(a * b, values) == left * right
    assert at(number - a, values) == number - left
    assert at(number * a + number, values) == number * left + number
    assert at(a**2, values) == left**2
    assert at(-a, values) == -left


@given(polynomials())
def test_what_is_equal_is_written_alike(a: Polynomial) -> None:
    assert a + a == 2 * a
    assert (a - a).terms == ()
    assert repr(a - a) == "Polynomial('0')"
    assert a / 2 + a / 2 == a


def test_floats_are_the_binary_fractions_that_they_are() -> None:
    assert (0.1 * X[0]).terms == (((("x", 0),), Fraction(0.1)),)
    assert ("0.1" * X[0]).terms == (((("x", 0),), Fraction(1, 10)),)


def test_it_is_written_as_one_writes() -> None:
    assert repr((Y - W[0] * X[0]) ** 2) == "Polynomial('y^2 - 2 w0 x0 y + w0^2 x0^2')"
    assert ((Y - W[0] * X[0]) ** 2).degree == 4


def test_what_is_no_number_is_refused() -> None:
    cases: list[Any] = [float("nan"), float("inf"), True, None, "many"]
    for wrong in cases:
        with pytest.raises(ParameterError):
            X[0] * wrong
        with pytest.raises(ParameterError):
            X[0] + wrong


def test_powers_are_whole_and_small() -> None:
    for wrong in (-1, 1.5, 65):
        with pytest.raises(ParameterError):
            X[0] ** wrong  # type: ignore[operator] # one of them is no int
    with pytest.raises(ParameterError, match="divided by 0"):
        X[0] / 0


def test_too_many_terms_are_refused_before_memory_is_gone() -> None:
    many = {letter: Polynomial.of({((letter, i),): Fraction(1) for i in range(2000)}) for letter in "wx"}
    with pytest.raises(ParameterError, match="too many"):
        many["w"] * many["x"]
    with pytest.raises(ParameterError, match="50000 terms"):
        Polynomial.of({(("x", i),): Fraction(1) for i in range(50_001)})


def test_a_polynomial_decides_nothing() -> None:
    with pytest.raises(ParameterError, match="neither true nor false"):
        bool(Y)
    with pytest.raises(ParameterError, match="cannot be compared with 1"):
        Y == 1  # noqa: B015 - it raises
    assert X[0] != Y
    assert len({Y, variables("y", 1)[0]}) == 1


def test_powers_of_powers_end() -> None:
    assert (W[0] ** 8 * X[0] ** 8).degree == 16
    with pytest.raises(ParameterError, match="degree 64"):
        (W[0] ** 32) ** 3
