"""Typing rules of arithmetic on integers, reals, and dates or times with whole days.

Interval arithmetic bounds each result. A result that could overflow, underflow or leave the calendar raises.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import QueryError
from celosia.query.plan import intervals
from celosia.query.plan.intervals import Interval, integers_between
from celosia.query.plan.types import Derivation, ValueType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Rule: TypeAlias = "Callable[[Sequence[ValueType]], ValueType]"
"""Maps the types of the arguments to the type of the result, or raises."""

_EPOCH_DAY = dt.date(1970, 1, 1)
_STEPS_PER_DAY: Final = {"date": 1, "timestamp": 86_400}  # steps of each family
_EARLIEST, _LATEST = (dt.date.min - _EPOCH_DAY).days, (dt.date.max - _EPOCH_DAY).days


def _add(args: Sequence[ValueType]) -> ValueType:
    a, b = args
    day, number = (a, b) if a.family in _STEPS_PER_DAY else (b, a)
    if day.family in _STEPS_PER_DAY and number.family == "number":
        return _add_days(day, number)
    return _number("+", intervals.add(*_operands("+", args)), args)


def _subtract(args: Sequence[ValueType]) -> ValueType:
    a, b = args
    if a.family in _STEPS_PER_DAY and b.family == "number":
        return _add_days(a, replace(b, interval=intervals.negate(b.ends)))
    if a.family == b.family == "date":
        return _number("-", intervals.add(a.ends, intervals.negate(b.ends)), args)
    first, second = _operands("-", args)
    return _number("-", intervals.add(first, intervals.negate(second)), args)


def _multiply(args: Sequence[ValueType]) -> ValueType:
    return _number("*", intervals.multiply(*_operands("*", args)), args)


def _divide(args: Sequence[ValueType]) -> ValueType:
    a, b = _operands("/", args)
    quotient = _number("/", intervals.divide(a, b), args)
    return replace(quotient, nullable=quotient.nullable or b.low <= 0 <= b.high)


def _remainder(args: Sequence[ValueType]) -> ValueType:
    a, b = _operands("%", args)
    if not a.is_integer or not b.is_integer or not args[1].is_literal or b.low <= 0:
        raise QueryError("query.invalid_remainder_operands", found=args[0].description, other=args[1].description)
    return _number("%", intervals.remainder(a, int(b.low)), args)


def _negate(args: Sequence[ValueType]) -> ValueType:
    return _number("-", intervals.negate(*_operands("-", args)), args)


def _absolute(args: Sequence[ValueType]) -> ValueType:
    return _number("ABS", intervals.magnitude(*_operands("ABS", args)), args)


def _floor(args: Sequence[ValueType]) -> ValueType:
    (x,) = _operands("FLOOR", args)
    return _number("FLOOR", intervals.round_ends(x, math.floor), args)


def _ceil(args: Sequence[ValueType]) -> ValueType:
    (x,) = _operands("CEIL", args)
    return _number("CEIL", intervals.round_ends(x, math.ceil), args)


def _integer(args: Sequence[ValueType]) -> ValueType:
    (a,) = args
    if a.family == "truth":
        source = Derivation("query.label_as_number", operand=a.source)
        return replace(_number("CAST", integers_between(0, 1), args), source=source)
    if a.family == "number" and a.ends.is_integer:
        return replace(a, literal_value=None)
    raise QueryError("query.cast_to_integer_not_boolean", found=a.description)


def _real(args: Sequence[ValueType]) -> ValueType:
    (interval,) = _operands("CAST", args)
    return _number("CAST", intervals.to_real(interval), args)


def _operands(name: str, args: Sequence[ValueType]) -> list[Interval]:
    for a in args:
        if a.family == "number":
            continue
        code = "query.boolean_not_numeric" if a.family == "truth" else "query.operand_not_numeric"
        raise QueryError(code, name=name, found=a.description)
    return [a.ends for a in args]


def _number(name: str, interval: Interval, args: Sequence[ValueType]) -> ValueType:
    source = Derivation("query.label_result", name)
    return ValueType(family="number", source=source, interval=interval, nullable=any(a.nullable for a in args))


def _add_days(day: ValueType, number: ValueType) -> ValueType:
    """Return the type of a date or time some whole days later."""
    if not number.ends.is_integer:
        raise QueryError("query.date_shift_not_days", date=day.description, found=number.description)
    unit = _STEPS_PER_DAY[day.family]
    interval = intervals.add(day.ends, intervals.multiply(number.ends, integers_between(unit, unit)))
    if interval.low < _EARLIEST * unit or interval.high >= (_LATEST + 1) * unit or not interval.is_bounded:
        raise QueryError("query.days_leave_calendar")
    source = Derivation("query.label_date" if unit == 1 else "query.label_time")
    return ValueType(family=day.family, source=source, interval=interval, nullable=day.nullable or number.nullable)


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
