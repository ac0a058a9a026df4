"""Clean values and expressions, as slowly and plainly as the definitions read, in Python's own numbers.

Nothing is shared with the engines but the kinds, their axes and the types of expressions. Dates are days and times are
seconds since 1970. ``oracle_plans`` computes the summaries of whole plans from them.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import celosia as cl
from celosia.query.expressions import Call, Column, Expression, Literal, kind_of
from celosia.query.operations import bucket_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celosia.data.axis import Axis
    from celosia.data.columns import Kind

    Row = Mapping[str, Any]

_FIRST = dt.date(1970, 1, 1)


def clean(raw: Any, kind: Kind) -> Any:  # noqa: ANN401 - whatever stands in a column
    """Return the value of a raw entry: what the null rule says where it is none, else inside the bounds."""
    value = _value(raw, kind)
    if value is None and not kind.nullable:
        value = _value(kind.null, kind)
    return value


def _value(raw: Any, kind: Kind) -> Any:  # noqa: ANN401, PLR0911 - whatever stands in a column; a line for each kind
    match kind:
        case _ if raw is None or (isinstance(raw, float) and not math.isfinite(raw)):
            return None
        case cl.Category():
            return next((known for known in kind.values if known == raw and not isinstance(raw, bool)), None)
        case cl.Text():
            return str(raw)
        case cl.Boolean():
            return bool(raw) if raw in (0, 1) else None
        case cl.Real():
            return _step(float(raw), float(kind.low), float(kind.high), kind.axis) * float(kind.axis.grid)
        case cl.Integer():
            number = raw if isinstance(raw, int) or raw == int(raw) else math.floor(float(raw) + 0.5)
            return min(max(int(number), kind.low), kind.high)
        case cl.Date():
            return min(max(days_of(raw), days_of(kind.low)), days_of(kind.high))
        case cl.Timestamp():
            return min(max(seconds_of(raw), seconds_of(kind.low)), seconds_of(kind.high))
    raise AssertionError(kind)


def _step(x: float, low: float, high: float, axis: Axis) -> int:
    step = math.floor(min(max(x, low), high) / float(axis.grid) + 0.5)
    return min(max(step, axis.lowest), axis.highest)


def days_of(raw: Any) -> int:  # noqa: ANN401 - a date, a time, or already a number
    if isinstance(raw, int):
        return raw
    return seconds_of(raw) // 86_400 if isinstance(raw, dt.datetime) else (raw - _FIRST).days


def seconds_of(raw: Any) -> int:  # noqa: ANN401 - a date, a time, or already a number
    if isinstance(raw, int):
        return raw
    if not isinstance(raw, dt.datetime):
        return int((raw - _FIRST).days) * 86_400
    moment = raw.replace(tzinfo=dt.UTC) if raw.tzinfo is None else raw
    return int((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1))


# ------------------------------------------------------------------------------------------------------ expressions


def value_of(expression: Expression, row: Row, kinds: Mapping[str, Kind]) -> Any:  # noqa: ANN401, C901, PLR0911 - by form
    """Return the value of an expression in a row of clean values; None is null."""
    match expression:
        case Column(name=name):
            return row[name]
        case Literal(value=dt.datetime() as value):
            return seconds_of(value)
        case Literal(value=dt.date() as value):
            return days_of(value)
        case Literal(value=value):
            return value
        case Call(name="case", arguments=arguments):
            *pairs, other = arguments
            for condition, result in zip(pairs[::2], pairs[1::2], strict=True):
                if value_of(condition, row, kinds) is True:
                    return value_of(result, row, kinds)
            return value_of(other, row, kinds)
        case Call(name="bucket", arguments=(first, *edges)):
            return _bucket(value_of(first, row, kinds), [edge.value for edge in edges])  # type: ignore[union-attr]
        case Call(name="year" | "month" | "hour" | "isodow" as name, arguments=(first,)):
            return _part(name, value_of(first, row, kinds), time=isinstance(kind_of(first, kinds), cl.Timestamp))
        case Call(name=name, arguments=arguments):
            return _operation(name, _alike([value_of(argument, row, kinds) for argument in arguments]))
    raise AssertionError(expression)


def derived(expression: Expression, row: Row, kinds: Mapping[str, Kind]) -> Any:  # noqa: ANN401 - a clean value
    """Return the value of an expression, on the grid and inside the bounds of its own kind."""
    value, kind = value_of(expression, row, kinds), kind_of(expression, kinds)
    return value if value is None or isinstance(kind, cl.Category | cl.Text | cl.Boolean) else _value(value, kind)


def plain(raw: Any) -> Any:  # noqa: ANN401 - whatever stands in a column
    """Return a decimal as the whole number or the double that it is nearest to."""
    if isinstance(raw, Decimal):
        return int(raw) if raw == raw.to_integral_value() and raw.as_tuple().exponent == 0 else float(raw)
    return raw


def _alike(args: list[Any]) -> list[Any]:
    """Numbers are all doubles as soon as one of them is."""
    if any(isinstance(arg, float) for arg in args):
        return [float(arg) if type(arg) is int else arg for arg in args]
    return args


def _operation(name: str, args: list[Any]) -> Any:  # noqa: ANN401, PLR0911 - one line each
    match name:
        case "coalesce":
            return next((arg for arg in args if arg is not None), None)
        case "is_null":
            return args[0] is None
        case "and":
            return False if False in args else None if None in args else True
        case "or":
            return True if True in args else None if None in args else False
        case _ if None in args:
            return None
        case "in":
            return args[0] in args[1:]
        case "/":
            return None if args[1] == 0 else float(args[0]) / float(args[1])
        case "%":
            rest = abs(args[0]) % abs(args[1])
            return rest if args[0] >= 0 else -rest
        case _:
            return _SIMPLE[name](*args)


_SIMPLE: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "least": min,
    "greatest": max,
    "clip": lambda x, low, high: low if x < low else min(x, high),
    "integer": int,
    "real": float,
    "not": lambda a: not a,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "between": lambda x, low, high: low <= x <= high,
}


def _bucket(value: Any, edges: Sequence[Any]) -> str | None:  # noqa: ANN401 - a number
    if value is None or not edges[0] <= value <= edges[-1]:
        return None
    place = sum(bool(value >= edge) for edge in edges[1:-1])
    return bucket_labels(edges)[place]


def _part(name: str, value: int | None, *, time: bool) -> int | None:
    if value is None:
        return None
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=value if time else value * 86_400)
    return moment.isoweekday() if name == "isodow" else int(getattr(moment, name))
