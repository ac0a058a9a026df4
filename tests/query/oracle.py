"""Clean values and expressions, as slowly and plainly as the definitions read, in Python's own numbers.

Nothing is shared with the engines but the kinds, their axes and the types of expressions. Dates are days and times are
seconds since 1970. ``oracle_plans`` computes the summaries of whole plans from them.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import celosia as cl
from celosia.core import CelosiaError
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import Call, Column, Expression, Literal, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celosia.data.schema.axis import Axis
    from celosia.data.schema.columns import Kind

    Row = Mapping[str, Any]

_FIRST = dt.date(1970, 1, 1)


def clean(raw: Any, kind: Kind) -> Any:
    """Return the clean value of a raw entry: by the null rule if it is missing, else inside the bounds."""
    value = _value(raw, kind)
    if value is None and not kind.nullable:
        value = _value(kind.null, kind)
    return value


def _value(raw: Any, kind: Kind) -> Any:  # noqa: PLR0911 - whatever stands in a column; a line for each kind
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


def days_of(raw: Any) -> int:
    if isinstance(raw, int):
        return raw
    return seconds_of(raw) // 86_400 if isinstance(raw, dt.datetime) else (raw - _FIRST).days


def seconds_of(raw: Any) -> int:
    if isinstance(raw, int):
        return raw
    if not isinstance(raw, dt.datetime):
        return int((raw - _FIRST).days) * 86_400
    moment = raw.replace(tzinfo=dt.UTC) if raw.tzinfo is None else raw
    return int((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1))


# ------------------------------------------------------------------------------------------------------ expressions


def value_of(expression: Expression, row: Row, kinds: Mapping[str, Kind]) -> Any:  # noqa: C901, PLR0911, PLR0912 - by form
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
        case Call(name="date_trunc" | "add_months" | "add_seconds" as name, arguments=(first, Literal(value=given))):
            return _moved(
                name, value_of(first, row, kinds), given, time=isinstance(kind_of(first, kinds), cl.Timestamp)
            )
        case Call(name=name, arguments=(first, *written)) if name in _TEXTS:
            text = value_of(first, row, kinds)
            return None if text is None else _TEXTS[name](text, *(value_of(one, row, kinds) for one in written))
        case Call(name="+" | "-" as name, arguments=(first, second)) if isinstance(_kind(first, kinds), cl.Timestamp):
            time, days = value_of(first, row, kinds), value_of(second, row, kinds)
            return None if None in (time, days) else time + 86_400 * (days if name == "+" else -days)
        case Call(name=name, arguments=arguments):
            return _operation(name, _alike([value_of(argument, row, kinds) for argument in arguments]))
    raise AssertionError(expression)


def derived(expression: Expression, row: Row, kinds: Mapping[str, Kind]) -> Any:
    """Return the value of an expression, on the grid and inside the bounds of its own kind."""
    value, kind = value_of(expression, row, kinds), kind_of(expression, kinds)
    return value if value is None or isinstance(kind, cl.Category | cl.Text | cl.Boolean) else _value(value, kind)


def plain(raw: Any) -> Any:
    """Return a decimal as the integer or the double that it is nearest to."""
    if isinstance(raw, Decimal):
        return int(raw) if raw == raw.to_integral_value() and raw.as_tuple().exponent == 0 else float(raw)
    return raw


def _alike(args: list[Any]) -> list[Any]:
    """Numbers are all doubles as soon as one of them is."""
    if any(isinstance(arg, float) for arg in args):
        return [float(arg) if type(arg) is int else arg for arg in args]
    return args


def _operation(name: str, args: list[Any]) -> Any:  # noqa: PLR0911 - one line each
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


def _bucket(value: Any, edges: Sequence[Any]) -> str | None:
    if value is None or not edges[0] <= value <= edges[-1]:
        return None
    place = sum(bool(value >= edge) for edge in edges[1:-1])
    return bucket_labels(edges)[place]


def _part(name: str, value: int | None, *, time: bool) -> int | None:
    if value is None:
        return None
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=value if time else value * 86_400)
    return moment.isoweekday() if name == "isodow" else int(getattr(moment, name))


# ------------------------------------------------------------------------------------------------- texts and dates


def _kind(expression: Expression, kinds: Mapping[str, Kind]) -> Kind | None:
    try:
        return kind_of(expression, kinds)
    except CelosiaError:  # without bounds, so not a time
        return None


def _cased(text: str, change: Callable[[str], str]) -> str:
    """Letters in the other case: of the scripts that are listed, and only where the way back is the same."""
    return "".join(new if _are_partners(old, new := change(old)) else old for old in text)


def _are_partners(old: str, new: str) -> bool:
    if len(new) != 1 or {old, new} != {old.lower(), old.upper()} or {old, new} != {new.lower(), new.upper()}:
        return False
    blocks = {"LATIN": (0, 0x17F), "GREEK": (0x386, 0x3CE), "CYRILLIC": (0x400, 0x45F)}
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in (old, new)}
    low, high = blocks.get(scripts.pop(), (1, 0))
    return not scripts and all(low <= ord(letter) <= high for letter in (old, new))


def _fits(text: str, pattern: str, escape: str = "") -> bool:
    """Whether a text fits a pattern, one character after the other."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_fits(text[place:], pattern[1:], escape) for place in range(len(text) + 1))
    if pattern[0] == escape:
        return text[:1] == pattern[1] and _fits(text[1:], pattern[2:], escape)
    return bool(text) and pattern[0] in ("_", text[0]) and _fits(text[1:], pattern[1:], escape)


def _stripped(text: str, letters: str, *, left: bool, right: bool) -> str:
    while left and text and text[0] in letters:
        text = text[1:]
    while right and text and text[-1] in letters:
        text = text[:-1]
    return text


_TEXTS: dict[str, Callable[..., Any]] = {
    "upper": lambda text: _cased(text, str.upper),
    "lower": lambda text: _cased(text, str.lower),
    "length": lambda text: sum(1 for _ in text),
    "trim": lambda text, letters=" ": _stripped(text, letters, left=True, right=True),
    "ltrim": lambda text, letters=" ": _stripped(text, letters, left=True, right=False),
    "rtrim": lambda text, letters=" ": _stripped(text, letters, left=False, right=True),
    "substring": lambda text, start, length=10**9: "".join(list(text)[start - 1 :][:length]),
    "right": lambda text, length: "".join([*text][::-1][:length][::-1]),
    "replace": lambda text, old, new: new.join(text.split(old)),
    "like": _fits,
}


def _moved(name: str, value: int | None, given: Any, *, time: bool) -> int | None:
    if value is None:
        return None
    step = 1 if time else 86_400
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=value * step)
    if name == "add_seconds":
        moment += dt.timedelta(seconds=given)
    elif name == "add_months":
        months = moment.year * 12 + moment.month - 1 + given
        last = calendar.monthrange(months // 12, months % 12 + 1)[1]
        moment = moment.replace(year=months // 12, month=months % 12 + 1, day=min(moment.day, last))
    else:
        parts = ("year", "month", "day", "hour")
        place = {"year": 0, "quarter": 1, "month": 1, "week": 2, "day": 2, "hour": 3}[given]
        kept = [getattr(moment, part) if i <= place else int(part != "hour") for i, part in enumerate(parts)]
        if given == "quarter":
            kept[1] = {1: 1, 2: 4, 3: 7, 4: 10}[(moment.month + 2) // 3]
        year, month, day, hour = kept
        moment = dt.datetime(year, month, day, hour, tzinfo=dt.UTC)
        while given == "week" and moment.isoweekday() != 1:
            moment -= dt.timedelta(days=1)
    return seconds_of(moment) // step
