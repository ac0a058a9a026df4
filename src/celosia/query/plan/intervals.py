"""Interval arithmetic for engine values: 64-bit integers and IEEE doubles.

The bounds of a derived column follow from the schema's (Moore 1966). Bounds of reals are doubles, the exact bound
rounded to nearest. Rounding is monotone, so an engine that rounds once per operation, as IEEE 754 prescribes, stays
inside them. An interval also bounds how near a nonzero value is to zero, so nothing overflows or underflows; some
engines raise an error on underflow. A side is *open* if its bound only excludes overflow: a quotient whose divisor
comes close to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celosia.data.schema.axis import Axis

MAX_INTEGER: Final = 2**62
"""Integers stay within plus and minus this: a sum of two still fits 64 bits."""

MAX_REAL: Final = Fraction(1e100)
"""Reals stay within plus and minus this: a product of three is still a double."""

MIN_REAL: Final = Fraction(1e-100)
"""Nonzero reals stay at least this far from zero: a product of three is still a normal double."""

_MANTISSA = 52
_MIN_EXPONENT = -333  # 2^-333 is the greatest power of two that is not above 1e-100


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Range of an expression's values.

    Parameters
    ----------
    low, high
        Every value lies between them, both included; doubles unless ``is_integer``.
    is_integer
        Whether the values are 64-bit integers.
    tiny, quantum
        A nonzero value is at least 2^tiny in magnitude, and every value is an integer multiple of 2^quantum.
    open_low, open_high
        Whether a bound is too wide to calibrate noise: it follows from how small a divisor can be, not from the schema.
    """

    low: Fraction
    high: Fraction
    is_integer: bool
    tiny: int = 0
    quantum: int = 0
    open_low: bool = False
    open_high: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether both bounds can be used to calibrate noise."""
        return not (self.open_low or self.open_high)

    @property
    def smallest(self) -> Fraction:
        """The least magnitude of a nonzero value."""
        nearest = min(abs(self.low), abs(self.high)) if self.low > 0 or self.high < 0 else Fraction(0)
        return max(nearest, Fraction(2) ** self.tiny)

    @property
    def largest(self) -> Fraction:
        """The greatest magnitude of a value."""
        return max(abs(self.low), abs(self.high))

    def __repr__(self) -> str:
        low, high = (str(int(end)) if self.is_integer else repr(float(end)) for end in (self.low, self.high))
        return f"Interval({'?' if self.open_low else low} to {'?' if self.open_high else high})"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Two exact ends, each possibly open, before rounding."""

    low: Fraction
    high: Fraction
    open_low: bool = False
    open_high: bool = False


def integers_between(low: int, high: int) -> Interval:
    """Return the interval of the integers between two bounds."""
    return _integer_interval(_Bounds(Fraction(low), Fraction(high)))


def constant(value: float) -> Interval:
    """Return the interval of one number: integer for an ``int``, real for a ``float``."""
    exactly = Fraction(value)
    if isinstance(value, int):
        return integers_between(value, value)
    quantum = 1 - exactly.denominator.bit_length()
    return _real_interval(_Bounds(exactly, exactly), tiny=_exponent(abs(exactly)) if exactly else 0, quantum=quantum)


def of_axis(axis: Axis) -> Interval:
    """Return the interval of a Real column: integer steps times the grid, as doubles."""
    tiny = _exponent(axis.grid)
    denominator = axis.grid.denominator
    dyadic = denominator & (denominator - 1) == 0
    # step * grid may be rounded once or, with the grid itself rounded first, twice: take the wider.
    lows, highs = ((end * axis.grid, end * Fraction(float(axis.grid))) for end in (axis.lowest, axis.highest))
    return _real_interval(
        _Bounds(min(lows), max(highs)), tiny=tiny, quantum=1 - denominator.bit_length() if dyadic else tiny - _MANTISSA
    )


def to_real(a: Interval) -> Interval:
    """Return an interval of doubles: integers are rounded to the nearest one."""
    return _real_interval(_ends(a), tiny=0, quantum=0) if a.is_integer else a


def add(a: Interval, b: Interval) -> Interval:
    """Return the interval of ``a + b``."""
    if a.is_integer and b.is_integer:
        return _integer_interval(_sum(a, b))
    a, b = to_real(a), to_real(b)
    # Both are multiples of the finer quantum, and so is their sum, before and after it is rounded.
    quantum = min(a.quantum, b.quantum)
    return _real_interval(_sum(a, b), tiny=quantum, quantum=quantum)


def negate(a: Interval) -> Interval:
    """Return the interval of ``-a``."""
    return replace(a, low=-a.high, high=-a.low, open_low=a.open_high, open_high=a.open_low)


def multiply(a: Interval, b: Interval) -> Interval:
    """Return the interval of ``a * b``."""
    if a.is_integer and b.is_integer:
        return _integer_interval(_product(_ends(a), _ends(b)))
    a, b = to_real(a), to_real(b)
    tiny = _exponent(a.smallest * b.smallest)
    return _real_interval(_product(_ends(a), _ends(b)), tiny=tiny, quantum=max(a.quantum + b.quantum, tiny - _MANTISSA))


def divide(a: Interval, b: Interval) -> Interval:
    """Return the interval of ``a / b``, as reals, where ``b`` is not zero.

    An integer divisor is at least one away from zero, so it bounds the quotient; a real one that comes near zero does
    not.
    """
    if b.low == b.high == 0:
        raise QueryError("query.division_by_zero")
    loose = not b.is_integer
    a, b = to_real(a), to_real(b)
    parts = [_product(_ends(a), part) for part in _reciprocals(b, loose=loose)]
    tiny = _exponent(a.smallest / b.largest)
    return _real_interval(_enclose(parts), tiny=tiny, quantum=tiny - _MANTISSA)


def remainder(a: Interval, b: int) -> Interval:
    """Return the interval of the remainder of integers by a positive integer; it has the sign of the dividend."""
    return _integer_interval(
        _Bounds(max(min(a.low, Fraction(0)), Fraction(1 - b)), min(max(a.high, Fraction(0)), Fraction(b - 1)))
    )


def magnitude(a: Interval) -> Interval:
    """Return the interval of the magnitude of ``a``."""
    if a.low >= 0:
        return a
    if a.high <= 0:
        return negate(a)
    return replace(a, low=Fraction(0), high=a.largest, open_low=False, open_high=not a.is_bounded)


def round_ends(a: Interval, how: Callable[[Fraction], int]) -> Interval:
    """Return the interval of ``a`` rounded to integers by ``math.floor`` or ``math.ceil``."""
    ends = _ends(a)
    return _integer_interval(replace(ends, low=Fraction(how(a.low)), high=Fraction(how(a.high))))


def least(several: Sequence[Interval]) -> Interval:
    """Return the interval of the least of several numbers; one upper bound is enough."""
    several = _unify(several)
    return replace(hull(several), high=min(a.high for a in several), open_high=all(a.open_high for a in several))


def greatest(several: Sequence[Interval]) -> Interval:
    """Return the interval of the greatest of several numbers; one lower bound is enough."""
    return negate(least([negate(a) for a in several]))


def hull(several: Sequence[Interval]) -> Interval:
    """Return the smallest interval that contains several."""
    several = _unify(several)
    around = _enclose([_ends(a) for a in several])
    return Interval(
        low=around.low,
        high=around.high,
        is_integer=several[0].is_integer,
        tiny=min(a.tiny for a in several),
        quantum=min(a.quantum for a in several),
        open_low=around.open_low,
        open_high=around.open_high,
    )


def _unify(several: Sequence[Interval]) -> Sequence[Interval]:
    return several if all(a.is_integer for a in several) else [to_real(a) for a in several]


def _ends(a: Interval) -> _Bounds:
    return _Bounds(a.low, a.high, a.open_low, a.open_high)


def _sum(a: Interval, b: Interval) -> _Bounds:
    return _Bounds(a.low + b.low, a.high + b.high, a.open_low or b.open_low, a.open_high or b.open_high)


def _product(a: _Bounds, b: _Bounds) -> _Bounds:
    corners = [
        (x * y, open_x or open_y)
        for x, open_x in ((a.low, a.open_low), (a.high, a.open_high))
        for y, open_y in ((b.low, b.open_low), (b.high, b.open_high))
    ]
    # An open corner stands for an infinity of its sign; zero times a corner is zero.
    return _Bounds(
        min(value for value, _ in corners),
        max(value for value, _ in corners),
        any(opened and value < 0 for value, opened in corners),
        any(opened and value > 0 for value, opened in corners),
    )


def _reciprocals(b: Interval, *, loose: bool) -> list[_Bounds]:
    """Return the ranges of 1/b: one, or two if b may have either sign."""
    if b.low > 0 or b.high < 0:
        return [_Bounds(1 / b.high, 1 / b.low)]
    parts = []
    if b.high > 0:
        parts.append(_Bounds(1 / b.high, 1 / b.smallest, open_high=loose))
    if b.low < 0:
        parts.append(_Bounds(-1 / b.smallest, 1 / b.low, open_low=loose))
    return parts


def _enclose(parts: Sequence[_Bounds]) -> _Bounds:
    return _Bounds(
        min(part.low for part in parts),
        max(part.high for part in parts),
        any(part.open_low for part in parts),
        any(part.open_high for part in parts),
    )


def _integer_interval(ends: _Bounds) -> Interval:
    if max(abs(ends.low), abs(ends.high)) > MAX_INTEGER:
        raise QueryError("query.integer_could_overflow")
    return Interval(low=ends.low, high=ends.high, is_integer=True, open_low=ends.open_low, open_high=ends.open_high)


def _real_interval(ends: _Bounds, *, tiny: int, quantum: int) -> Interval:
    if max(abs(ends.low), abs(ends.high)) > MAX_REAL:
        raise QueryError("query.number_could_overflow")
    low, high = Fraction(float(ends.low)), Fraction(float(ends.high))
    if low > 0 or high < 0:
        tiny = max(tiny, _exponent(min(abs(low), abs(high))))
        quantum = max(quantum, tiny - _MANTISSA)
    if tiny < _MIN_EXPONENT:
        raise QueryError("query.number_could_underflow")
    return Interval(
        low=low,
        high=high,
        is_integer=False,
        tiny=tiny,
        quantum=quantum,
        open_low=ends.open_low,
        open_high=ends.open_high,
    )


def _exponent(value: Fraction) -> int:
    """Return the greatest e with 2^e <= value, for value > 0."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1
