"""Exact summaries of a table of rows, as slowly and plainly as the definitions read, in Python's own numbers.

Nothing is shared with the engines but the kinds, their axes, and the features of a measure: values are cleaned,
expressions computed and rows counted here once more, one by one.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

import celosia as cl
from celosia.query.expressions import Call, Column, Expression, Literal, kind_of
from celosia.query.operations import bucket_labels
from celosia.statistics import Choice, MomentsOfAll

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.data.axis import Axis
    from celosia.data.columns import Kind
    from celosia.data.table import Table
    from celosia.query.needs import Need
    from celosia.query.question import Question

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
            return min(max(_days(raw), _days(kind.low)), _days(kind.high))
        case cl.Timestamp():
            return min(max(_seconds(raw), _seconds(kind.low)), _seconds(kind.high))
    raise AssertionError(kind)


def _step(x: float, low: float, high: float, axis: Axis) -> int:
    step = math.floor(min(max(x, low), high) / float(axis.grid) + 0.5)
    return min(max(step, axis.lowest), axis.highest)


def _days(raw: Any) -> int:  # noqa: ANN401 - a date, a time, or already a number
    if isinstance(raw, int):
        return raw
    return _seconds(raw) // 86_400 if isinstance(raw, dt.datetime) else (raw - _FIRST).days


def _seconds(raw: Any) -> int:  # noqa: ANN401 - a date, a time, or already a number
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
            return _seconds(value)
        case Literal(value=dt.date() as value):
            return _days(value)
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
            return _operation(name, [value_of(argument, row, kinds) for argument in arguments])
    raise AssertionError(expression)


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
            return int(math.fmod(args[0], args[1]))
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


# -------------------------------------------------------------------------------------------------------- summaries


def summaries(question: Question, table: Table) -> list[NDArray[Any]]:
    """Return the exact summaries of each need: cells by width, in Python's integers."""
    plan, kinds, cells = question.plan, question.kinds, question.cells
    assert cells is not None
    raw = table.source.frame.to_pylist()  # type: ignore[union-attr]
    rows = [{name: clean(_plain(row[name]), kind) for name, kind in kinds.items()} for row in raw]
    if plan.filter is not None:
        rows = [row for row in rows if value_of(plan.filter, row, kinds) is True]
    places = {key: place for place, key in enumerate(zip(*cells.columns(), strict=True))} if plan.keys else {(): 0}
    where = [places.get(tuple(_derived(key.expression, row, kinds) for key in plan.keys)) for row in rows]
    inside = [(place, row) for place, row in zip(where, rows, strict=True) if place is not None]
    return [_summary(need, inside, kinds, len(cells)) for need in question.needs]


def _plain(raw: Any) -> Any:  # noqa: ANN401 - whatever stands in a column
    """A decimal as the whole number or the double that it is nearest to."""
    if isinstance(raw, Decimal):
        return int(raw) if raw == raw.to_integral_value() and raw.as_tuple().exponent == 0 else float(raw)
    return raw


def _derived(expression: Expression, row: Row, kinds: Mapping[str, Kind]) -> Any:  # noqa: ANN401 - a clean value
    """The value of an expression, on the grid of its own kind; a key that is a date, as a date."""
    value, kind = value_of(expression, row, kinds), kind_of(expression, kinds)
    if value is None or isinstance(kind, cl.Category | cl.Text | cl.Boolean):
        return value
    return _value(value, kind)


def _summary(need: Need, rows: Sequence[tuple[int, Row]], kinds: Mapping[str, Kind], cells: int) -> NDArray[Any]:
    answer = np.zeros((cells, need.measure.width), dtype=object)
    if need.distinct == "values":
        found = {(cell, _derived(need.columns[0], row, kinds)) for cell, row in rows}
        for cell, value in found:
            answer[cell, 0] += value is not None
        return answer
    for cell, row in rows:
        values = [_derived(column, row, kinds) for column in need.columns]
        if isinstance(need.measure, Choice):
            place = _place(values[0], need, kinds)
            if place is not None:
                answer[cell, place] += 1
        elif isinstance(need.measure, MomentsOfAll):
            there = values[0] is not None
            step = _steps(values, need, kinds)[0] if there else 0
            answer[cell] += np.array(need.measure.features(step, int(there)), dtype=object)
        elif None not in values:
            steps = _steps(values, need, kinds) if need.measure.axes else []
            answer[cell] += np.array(need.measure.features(*steps), dtype=object)
    return answer


def _steps(values: Sequence[Any], need: Need, kinds: Mapping[str, Kind]) -> list[int]:
    found = []
    for value, column, axis in zip(values, need.columns, need.measure.axes, strict=True):
        fine = kind_of(column, kinds).axis
        assert fine is not None
        whole = round(value / float(fine.grid)) if isinstance(kind_of(column, kinds), cl.Real) else None
        step = math.floor(int(value) / float(fine.grid) + 0.5) if whole is None else whole
        factor = axis.grid / fine.grid
        absolute = step if factor == 1 else math.floor(step / float(factor) + 0.5)
        found.append(absolute - axis.lowest)
    return found


def _place(value: Any, need: Need, kinds: Mapping[str, Kind]) -> int | None:  # noqa: ANN401 - a clean value
    """Which of its candidates a choice counts a value for."""
    assert isinstance(need.measure, Choice)
    if value is None:
        return None
    kind = kind_of(need.columns[0], kinds)
    if isinstance(kind, cl.Category):
        place = kind.values.index(value)
        return place // need.measure.bin_width if need.measure.axes else place
    if need.measure.axes:
        return _steps([value], need, kinds)[0] // need.measure.bin_width
    return [_number(known) for known in kind.domain() or ()].index(_number(value))


def _number(value: Any) -> int:  # noqa: ANN401 - a value of a domain
    return _days(value) if isinstance(value, dt.date) else int(value)
