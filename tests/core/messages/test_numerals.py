from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from celosia.core.messages.numerals import compute_share, decimals_for, format_guarantee, format_number

SPACE = "\N{NO-BREAK SPACE}"
POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read_back(text: str, code: str) -> Fraction:
    """What a person would read."""
    group, point = (",", ".") if code == "en" else (".", ",")
    mantissa, _, power = text.partition(f"{SPACE}×{SPACE}10")
    plain = mantissa.replace(group, "").replace(point, ".").replace("−", "-")
    return Fraction(plain) * Fraction(10) ** (int(power.translate(POWERS)) if power else 0)


def test_numbers_are_written_as_people_do() -> None:
    cases: list[tuple[float | Fraction, dict[str, object], str, str]] = [
        (0, {}, "0", "0"),
        (1234, {}, "1,234", "1234"),
        (1234, {"grouped": True}, "1,234", "1.234"),
        (12345678, {}, "12,345,678", "12.345.678"),
        (-0.25, {}, "−0.25", "−0,25"),
        (12345.678, {"decimals": 2}, "12,345.68", "12.345,68"),
        (2.5, {"decimals": 0}, "2", "2"),
        (Fraction(2, 3), {"digits": 3, "rounded": "down"}, "0.666", "0,666"),
        (Fraction(2, 3), {"digits": 3, "rounded": "up"}, "0.667", "0,667"),
        (1e20, {}, f"1{SPACE}×{SPACE}10²⁰", f"1{SPACE}×{SPACE}10²⁰"),
        (1.5e-7, {"digits": 2}, f"1.5{SPACE}×{SPACE}10⁻⁷", f"1,5{SPACE}×{SPACE}10⁻⁷"),
        (math.inf, {}, "∞", "∞"),
        (-math.inf, {}, "−∞", "−∞"),
        (math.nan, {}, "–", "–"),
    ]
    for value, how, english, spanish in cases:
        assert format_number(value, "en", **how) == english  # type: ignore[arg-type]
        assert format_number(value, "es", **how) == spanish  # type: ignore[arg-type]


@given(
    value=st.fractions(min_value=0, max_value=10**18),
    code=st.sampled_from(["en", "es"]),
    digits=st.integers(1, 8),
)
def test_rounding_never_flatters(value: Fraction, code: str, digits: int) -> None:
    assert read_back(format_number(value, code, digits=digits, rounded="up"), code) >= value
    assert read_back(format_number(value, code, digits=digits, rounded="down"), code) <= value


@given(
    value=st.floats(-1e12, 1e12, allow_nan=False),
    code=st.sampled_from(["en", "es"]),
    decimals=st.integers(0, 6),
)
def test_decimals_are_kept(value: float, code: str, decimals: int) -> None:
    near = read_back(format_number(value, code, decimals=decimals), code)
    assert abs(near - Fraction(value)) <= Fraction(1, 2 * 10**decimals)
    assert read_back(format_number(value, code, decimals=decimals, rounded="up"), code) >= Fraction(value)
    assert read_back(format_number(value, code, decimals=decimals, rounded="down"), code) <= Fraction(value)


@pytest.mark.parametrize(("width", "decimals"), [(123.0, 0), (9.9, 1), (1.0, 1), (0.5, 2), (0.0, 0), (math.inf, 0)])
def test_two_digits_of_the_width_are_shown(width: float, decimals: int) -> None:
    assert decimals_for(width) == decimals
    assert decimals_for(1e-300) == 9


def test_promises_are_symbols() -> None:
    assert format_guarantee(PureDP(epsilon="1/3"), "en") == f"ε{SPACE}={SPACE}0.3334"
    assert format_guarantee(PureDP(epsilon="1/3"), "en", rounded="down") == f"ε{SPACE}={SPACE}0.3333"
    assert format_guarantee(ZCDP(rho="0.5"), "es") == f"ρ{SPACE}={SPACE}0,5"
    assert format_guarantee(GaussianDP(mu=1), "en") == f"μ{SPACE}={SPACE}1"
    other = RenyiDP(orders=(2,), epsilons=(1,))
    assert format_guarantee(other, "en") == str(other)


def test_the_share_is_the_larger_of_two() -> None:
    limit = ApproxDP(epsilon=4, delta="1e-6")
    assert compute_share(ApproxDP(epsilon=1, delta="5e-7"), limit) == 0.5
    assert compute_share(ApproxDP(epsilon=9, delta=0), limit) == 1
    assert compute_share(PureDP(epsilon=1), limit) is None
    assert compute_share(PureDP(epsilon=0), PureDP(epsilon=0)) == 0
    assert compute_share(PureDP(epsilon=1), PureDP(epsilon=0)) == 1
