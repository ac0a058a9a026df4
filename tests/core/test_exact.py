"""Parameters: what each kind of number means exactly, and that whatever means nothing is refused by name."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.core.exact import (
    double_at_least,
    double_at_most,
    exact,
    exact_epsilon,
    exact_integer,
    exact_level,
    exact_non_negative,
    exact_positive,
    exact_probability,
    format_exact,
    is_unicode,
    safe_repr,
    short_at_least,
)

_SMALLEST = Fraction(1, 2**1022)
_LARGEST = Fraction(2**1023)


class _Five(IntEnum):
    VALUE = 5


def test_each_kind_of_number_has_one_meaning() -> None:
    cases: list[tuple[Any, Fraction | int]] = [
        (3, 3),
        (-3, -3),
        (0, 0),
        (2**1023, 2**1023),
        (_Five.VALUE, 5),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(3602879701896397, 2**55)),
        (-0.0, 0),
        (2.0**-1022, _SMALLEST),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1E+2"), 100),
        (Decimal("0E-9999"), 0),
        ("0.1", Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("1E+3", 1000),
        ("+1.50", Fraction(3, 2)),
        ("-2", -2),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1/3", Fraction(1, 3)),
        ("-2/6", Fraction(-1, 3)),
        ("0", 0),
        ("0e99999", 0),
        (" 0.1 ", Fraction(1, 10)),
        (np.str_("0.1"), Fraction(1, 10)),
        (np.float16(0.1), Fraction(819, 2**13)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.float64(0.1), Fraction(3602879701896397, 2**55)),
        (np.longdouble(0.5), Fraction(1, 2)),
        *[
            (integer(100), 100)
            for integer in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.intp)
        ],
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.int64(-(2**63)), -(2**63)),
    ]
    for value, expected in cases:
        fraction = exact(value, name="epsilon")
        assert fraction == expected
        assert type(fraction) is Fraction
        assert type(fraction.numerator) is int
        assert type(fraction.denominator) is int


_MEANINGLESS = [
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    -5e-324,
    math.nextafter(2.0**-1022, 0),
    1e308,
    np.float16("nan"),
    np.float32("inf"),
    np.float64("-inf"),
    np.longdouble("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e-400"),
    Decimal("1e999999"),
    Decimal("1e-999999"),
    Decimal("1." + "0" * 100_000 + "1"),
    Fraction(1, 2**1023),
    Fraction(3**5000 + 1, 3**5000),
    2**1023 + 1,
    10**5000,  # longer than Python agrees to write
    Fraction(10**5000, 3),
    "",
    " ",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "1e-400",
    "1e400",
    "1e99999",
    "1e-99999",
    "1e999999",
    "1e999999999999999999",
    "1/0",
    "0/0",
    "1//3",
    "1/-3",
    "1 / 3",
    "1/3.5",
    "/3",
    "1_000",
    "1,5",
    "1.2.3",
    "--1",
    "e5",
    ".",
    "0x10",
    "1j",
    "١",
    "１",
    "½",
    "0.1\x00",
    "0.1\n0.2",
    "9" * 1001,
    "1." + "1" * 998,  # a decimal that fits, a ratio that does not
    "1" * 1_000_000,
    True,
    False,
    np.True_,
    None,
    1j,
    np.complex128(1),
    b"0.1",
    bytearray(b"1"),
    [1],
    (1,),
    {},
    object(),
    float,
    np.array([1, 2]),
    np.array([1.0]),
    np.array(0.5),
    np.timedelta64(5, "s"),
]
_PARSERS: list[Callable[[Any], Fraction]] = [
    lambda value: exact(value, name="epsilon"),
    lambda value: exact_positive(value, name="epsilon"),
    lambda value: exact_non_negative(value, name="epsilon"),
    lambda value: exact_probability(value, name="epsilon"),
    exact_epsilon,
]


def test_what_means_nothing_is_refused_by_name() -> None:
    for value in _MEANINGLESS:
        for parse in _PARSERS:
            with pytest.raises(ParameterError, match=r"^epsilon must be ") as caught:
                parse(value)
            assert len(str(caught.value)) < 250


def test_a_long_double_beyond_the_doubles_is_refused() -> None:
    cases: list[str] = ["1e4000", "1e-4000"]
    for text in cases:
        value: Any = np.longdouble(text)
        if np.isinf(value) or value == 0:
            pytest.skip("long double is no wider than double here")
        with pytest.raises(ParameterError, match=r"^scale must be "):
            exact(value, name="scale")


def test_messages_quote_the_value() -> None:
    with pytest.raises(ParameterError, match=re.escape("epsilon must be greater than 0, not -1.")):
        exact_positive(-1, name="epsilon")
    with pytest.raises(ParameterError, match=re.escape("rho must be 0 or greater, not '-0.5'.")):
        exact_non_negative("-0.5", name="rho")
    with pytest.raises(ParameterError, match=re.escape("truth must be between 0 and 1, not 2.")):
        exact_probability(2, name="truth")
    with pytest.raises(ParameterError, match=re.escape("epsilon must be a finite number, not nan.")):
        exact(math.nan, name="epsilon")
    with pytest.raises(
        ParameterError, match=re.escape("must be an int, float, Fraction, Decimal or str, not NoneType")
    ):
        exact(None, name="epsilon")  # type: ignore[arg-type]


def test_ranges_end_where_they_say() -> None:
    assert exact_non_negative(0, name="rho") == 0
    assert exact_probability(0, name="truth") == 0
    assert exact_probability(1, name="truth") == 1
    assert exact_positive("1e-300", name="scale") == Fraction(1, 10**300)
    assert exact_epsilon(2**16) == 2**16
    assert exact(_SMALLEST, name="x") == _SMALLEST
    assert exact(-_LARGEST, name="x") == -_LARGEST
    for refused in (0, -1, "0", -0.0, "-1/3", -(2.0**-1022)):
        with pytest.raises(ParameterError, match="greater than 0"):
            exact_positive(refused, name="scale")
    with pytest.raises(ParameterError, match="at most 65536"):
        exact_epsilon(65536.5)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        exact_probability("1.0000000000000000000001", name="truth")
    with pytest.raises(ParameterError, match="0 or greater"):
        exact_non_negative(-(2.0**-1022), name="rho")


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, max_value=8e307, min_value=-8e307))
def test_a_float_is_exactly_the_binary_fraction_that_it_is(value: float) -> None:
    assert exact(value, name="x") == Fraction(value)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=10))
def test_a_decimal_and_its_text_mean_the_same(value: Decimal) -> None:
    assert exact(value, name="x") == exact(str(value), name="x") == Fraction(value)


@given(st.text(max_size=40))
@example("1e+")
def test_any_text_is_a_number_or_a_parameter_error(text: str) -> None:
    try:
        fraction = exact(text, name="x")
    except ParameterError:
        return
    assert fraction == Fraction(text.strip())


_fractions = st.one_of(
    st.fractions(min_value=-(10**30), max_value=10**30),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9).map(Fraction),
    st.floats(min_value=-1e300, max_value=1e300, allow_subnormal=False).map(Fraction),
).filter(lambda x: x == 0 or abs(x) >= _SMALLEST)


@given(_fractions)
@example(Fraction(2**1023))
@example(_SMALLEST)
@example(Fraction(1, 10**6))
@example(Fraction(10**16 + 1, 10))
def test_show_is_a_literal_that_reads_back(fraction: Fraction) -> None:
    assert exact(eval(format_exact(fraction)), name="x") == fraction


def test_show_is_short() -> None:
    assert [format_exact(Fraction(text)) for text in ("2", "-1/2", "1/10", "1e-06", "1/3", "0")] == [
        "2",
        "-0.5",
        "'0.1'",
        "'1e-06'",
        "'1/3'",
        "0",
    ]


def test_whole_numbers() -> None:
    cases: list[Any] = [1, 7, np.int8(7), np.uint64(2**64 - 1), 2**1023, _Five.VALUE]
    for value in cases:
        number = exact_integer(value, name="answers")
        assert number == value
        assert type(number) is int


def test_what_is_not_a_whole_number_is_refused_by_name() -> None:
    cases: list[Any] = [
        0,
        -1,
        2**1023 + 1,
        10**5000,
        2.0,
        "2",
        Fraction(2),
        Decimal(2),
        True,
        np.True_,
        None,
        1j,
        b"1",
        [1],
        np.array([1, 2]),
    ]
    for value in cases:
        with pytest.raises(ParameterError, match=r"^answers must be "):
            exact_integer(value, name="answers")


def test_whole_numbers_from_a_least_one() -> None:
    assert exact_integer(0, name="size", least=0) == 0
    with pytest.raises(ParameterError, match=r"size must be at least 2, .*not 1"):
        exact_integer(1, name="size", least=2)


@given(_fractions.filter(lambda x: x > 0))
def test_short_numbers_stay_as_they_are(fraction: Fraction) -> None:
    assert short_at_least(fraction) == fraction


@given(st.integers(1, 10**40), st.integers(2500, 3000))
def test_long_numbers_are_rounded_up_by_less_than_one_part_in_2_to_the_120(number: int, power: int) -> None:
    fraction = number + Fraction(1, 3**power)
    short = short_at_least(fraction)
    assert fraction < short
    assert (short - fraction) * 2**120 < fraction
    assert exact(str(short), name="x") == short


def test_quotes_fit_a_line() -> None:
    assert safe_repr("0.1") == "'0.1'"
    assert len(safe_repr("1" * 10**6)) == 60
    assert safe_repr(10**5000) == "a very long int"
    assert safe_repr(Fraction(1, 3)) == "1/3"


@given(st.text(st.characters(codec=None)))
@example("\ud800")
@example("a\udfff")
@example("\ud7ff\ue000\U0010ffff")
def test_unicode_is_what_utf_8_can_hold(text: str) -> None:
    def encodes() -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        return True

    assert is_unicode(text) == encodes()


def test_a_level_lies_between_zero_and_one() -> None:
    cases: list[Any] = [0, 1, -0.5, 1.5, math.nan, math.inf, "95%", True, None]
    for level in cases:
        with pytest.raises(ParameterError, match=r"^level must be "):
            exact_level(level)


def test_a_level_may_be_given_as_any_exact_number() -> None:
    assert exact_level("0.95") == exact_level(0.95) == exact_level(Fraction(19, 20)) == 0.95


@given(st.fractions(-(10**6), 10**6))
def test_doubles_on_either_side_of_a_fraction(number: Fraction) -> None:
    above, below = double_at_least(number), double_at_most(number)
    assert Fraction(below) <= number <= Fraction(above)
    assert above == below or math.nextafter(below, math.inf) == above


def test_what_is_beyond_the_doubles_is_refused() -> None:
    for rounded in (double_at_least, double_at_most):
        with pytest.raises(ParameterError, match="beyond the range of doubles"):
            rounded(Fraction(10**400))
