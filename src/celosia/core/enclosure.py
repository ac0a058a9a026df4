"""Exponentials, logarithms and roots of rational numbers, enclosed between integers.

Exact samplers and rounded-up guarantees need a number certainly below, and one certainly above, the true real value.
Integers give such bounds; floating point does not. ``exp_negative(x, bits)`` returns ``(low, high)`` with ``low <=
exp(-x) * 2**bits <= high``; more bits narrow the relative width. Series are Taylor's, with argument halving (exp) and
the inverse hyperbolic tangent (log); see Brent and Zimmermann, *Modern Computer Arithmetic*, 2010, chapter 4.
"""

import math
from fractions import Fraction

from celosia.core.errors import ParameterError

_ROUNDING_BITS = 80  # for values that are only rounded up: finer than any double


def exp_negative(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-x) * 2**bits`` for a rational ``x >= 0``."""
    if x.numerator < 0:  # the series would never end
        raise ParameterError("core.negative_exponent")
    if x == 0:
        return 1 << bits, 1 << bits
    if 10 * x > 7 * (bits + 2):  # exp(-0.7 n) < 2**-n: nothing but zero is visible at this precision
        return 0, 1
    halvings = max(0, math.ceil(x).bit_length() + 1)
    precision = bits + halvings + 24
    least = (x.numerator << precision >> halvings) // x.denominator
    low, high = _exp_small(least + 1, precision)[0], _exp_small(least, precision)[1]
    for _ in range(halvings):
        low = low * low >> precision
        high = (high * high >> precision) + 1
    drop = precision - bits
    return low >> drop, min((high >> drop) + 1, 1 << bits)


def _exp_small(y: int, precision: int) -> tuple[int, int]:
    """Enclose ``exp(-y / 2**precision) * 2**precision`` for ``0 <= y <= 2**(precision-1)``: its alternating series."""
    total = term = 1 << precision
    n = 0
    while term:
        n += 1
        term = (term * y >> precision) // n
        total += -term if n % 2 else term
    return total - 2 * n, total + 2 * n  # each term was truncated by less than two units


def exp_at_least(x: Fraction) -> Fraction:
    """Return a rational number that is at least ``exp(x)``, and above it by less than one part in 2^64."""
    return _exp(x)[1]


def exp_at_most(x: Fraction) -> Fraction:
    """Return a rational number that is at most ``exp(x)``, and below it by less than one part in 2^64."""
    return _exp(x)[0]


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    bits = _ROUNDING_BITS + 3 * math.ceil(abs(x)) // 2  # exp(-x) has that many leading zeros at the most
    low, high = exp_negative(abs(x), bits)
    if x > 0:  # dyadic, so that sums of such bounds keep short denominators
        one = 1 << 2 * bits
        return Fraction(one // high, 1 << bits), Fraction(-(-one // low), 1 << bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def log(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``ln(x) * 2**bits`` for a rational ``x > 0``."""
    if x.numerator <= 0:  # the series would never end
        raise ParameterError("core.logarithm_not_positive")
    if x == 1:
        return 0, 0
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** exponent  # between 1/2 and 2
    precision = bits + abs(exponent).bit_length() + 24
    low, high = _log_near_one(mantissa, precision)
    two_low, two_high = _log_near_one(Fraction(2), precision)
    if exponent < 0:
        two_low, two_high = two_high, two_low
    drop = precision - bits
    return (low + exponent * two_low) >> drop, ((high + exponent * two_high) >> drop) + 1


def _log_near_one(x: Fraction, precision: int) -> tuple[int, int]:
    """Enclose ``ln(x) * 2**precision`` for ``1/2 <= x <= 2`` as twice the inverse hyperbolic tangent of (x-1)/(x+1)."""
    z = (x - 1) / (x + 1)
    power = (z.numerator << precision) // z.denominator
    square = (z.numerator**2 << precision) // z.denominator**2
    total = 0
    n = 1
    while power not in (0, -1):  # a negative power is truncated towards -1
        total += power // n
        power = power * square >> precision
        n += 2
    return 2 * (total - 2 * n), 2 * (total + 2 * n)


def log_at_least(x: Fraction) -> Fraction:
    """Return a rational number that is at least ``ln(x)``."""
    return Fraction(log(x, _ROUNDING_BITS)[1], 1 << _ROUNDING_BITS)


def log_at_most(x: Fraction) -> Fraction:
    """Return a rational number that is at most ``ln(x)``."""
    return Fraction(log(x, _ROUNDING_BITS)[0], 1 << _ROUNDING_BITS)


def root_at_least(x: Fraction) -> Fraction:
    """Return a rational number that is at least the square root of ``x >= 0``; exact for perfect squares.

    The excess is below one part in 2^64. The result is short: roots of sums of squares of roots must not grow without
    end.
    """
    return _root(x)[1]


def root_at_most(x: Fraction) -> Fraction:
    """Return a rational number that is at most the square root of ``x >= 0``; exact for perfect squares."""
    return _root(x)[0]


def _root(x: Fraction) -> tuple[Fraction, Fraction]:
    if x.numerator < 0:
        raise ParameterError("core.square_root_of_negative")
    exact = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    if exact * exact == x:
        return exact, exact
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** exponent:
        exponent -= 1
    # The binary places give the root _ROUNDING_BITS significant digits, whatever the denominator of x. They depend on
    # the size of x alone, so a larger x has no smaller bound, except beside a square, whose root is exact.
    places = max(0, _ROUNDING_BITS - exponent // 2)
    low = math.isqrt((x.numerator << 2 * places) // x.denominator)
    return Fraction(low, 1 << places), Fraction(low + 1, 1 << places)
