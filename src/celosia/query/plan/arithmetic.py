"""Typing rules of arithmetic: on integers, reals, and dates or times with whole days.

A result lies where interval arithmetic says; what could overflow, underflow or leave the calendar is refused.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import QueryError
from celosia.query.plan import intervals
from celosia.query.plan.intervals import Interval, whole_between
from celosia.query.plan.types import Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Rule: TypeAlias = "Callable[[Sequence[Typed]], Typed]"
"""From what the arguments can be to what the result can be; a rule refuses what makes no sense."""

_FIRST = dt.date(1970, 1, 1)
_MOMENTS: Final = {"date": 1, "timestamp": 86_400}  # and how many steps a day has
_EARLIEST, _LATEST = (dt.date.min - _FIRST).days, (dt.date.max - _FIRST).days


def _add(args: Sequence[Typed]) -> Typed:
    a, b = args
    day, number = (a, b) if a.family in _MOMENTS else (b, a)
    if day.family in _MOMENTS and number.family == "number":
        return _dates(day, number)
    return _numbers("+", intervals.added(*_operands("+", args)), args)


def _subtract(args: Sequence[Typed]) -> Typed:
    a, b = args
    if a.family in _MOMENTS and b.family == "number":
        return _dates(a, replace(b, interval=intervals.negated(b.ends)))
    if a.family == b.family == "date":
        return _numbers("-", intervals.added(a.ends, intervals.negated(b.ends)), args)
    first, second = _operands("-", args)
    return _numbers("-", intervals.added(first, intervals.negated(second)), args)


def _multiply(args: Sequence[Typed]) -> Typed:
    return _numbers("*", intervals.multiplied(*_operands("*", args)), args)


def _divide(args: Sequence[Typed]) -> Typed:
    a, b = _operands("/", args)
    quotient = _numbers("/", intervals.divided(a, b), args)
    return replace(quotient, nullable=quotient.nullable or b.low <= 0 <= b.high)


def _remainder(args: Sequence[Typed]) -> Typed:
    a, b = _operands("%", args)
    if not a.is_integer or not b.is_integer or not args[1].literal or b.low <= 0:
        raise QueryError(
            f"% is for an integer and a positive integer that is written out, as in age % 10; "
            f"not for {args[0].described} and {args[1].described}."
        )
    return _numbers("%", intervals.remainder(a, int(b.low)), args)


def _negate(args: Sequence[Typed]) -> Typed:
    return _numbers("-", intervals.negated(*_operands("-", args)), args)


def _absolute(args: Sequence[Typed]) -> Typed:
    return _numbers("ABS", intervals.absolute(*_operands("ABS", args)), args)


def _floor(args: Sequence[Typed]) -> Typed:
    (x,) = _operands("FLOOR", args)
    return _numbers("FLOOR", intervals.rounded(x, math.floor), args)


def _ceil(args: Sequence[Typed]) -> Typed:
    (x,) = _operands("CEIL", args)
    return _numbers("CEIL", intervals.rounded(x, math.ceil), args)


def _integer(args: Sequence[Typed]) -> Typed:
    (a,) = args
    if a.family == "truth":
        return replace(_numbers("CAST", whole_between(0, 1), args), label=f"{a.label} as a number")
    if a.family == "number" and a.ends.is_integer:
        return replace(a, written=None)
    raise QueryError(
        f"Only what is true or false can be cast to an integer, not {a.described}; for a number use FLOOR or CEIL."
    )


def _real(args: Sequence[Typed]) -> Typed:
    (interval,) = _operands("CAST", args)
    return _numbers("CAST", intervals.real(interval), args)


def _operands(name: str, args: Sequence[Typed]) -> list[Interval]:
    for a in args:
        if a.family == "number":
            continue
        hint = "; CAST(… AS INTEGER) makes it 0 or 1" if a.family == "truth" else ""
        raise QueryError(f"{name} computes with numbers, not with {a.described}{hint}.")
    return [a.ends for a in args]


def _numbers(name: str, interval: Interval, args: Sequence[Typed]) -> Typed:
    label = f"the result of {name}"
    return Typed(family="number", label=label, interval=interval, nullable=any(a.nullable for a in args))


def _dates(day: Typed, number: Typed) -> Typed:
    """A date or time some whole days later."""
    if not number.ends.is_integer:
        raise QueryError(f"Only whole days can be added to {day.described}, not {number.described}.")
    unit = _MOMENTS[day.family]
    interval = intervals.added(day.ends, intervals.multiplied(number.ends, whole_between(unit, unit)))
    if interval.low < _EARLIEST * unit or interval.high >= (_LATEST + 1) * unit or not interval.bounded:
        raise QueryError("A date of the query could fall outside the years 1 to 9999: add or subtract fewer days.")
    label = "the date" if unit == 1 else "the time"
    return Typed(family=day.family, label=label, interval=interval, nullable=day.nullable or number.nullable)


ARITHMETIC: Final[dict[str, Rule]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "neg": _negate,
    "abs": _absolute,
    "floor": _floor,
    "ceil": _ceil,
    "integer": _integer,
    "real": _real,
}
"""The rules by the names of the operations."""
