"""Compiles expressions over clean columns to Ibis expressions.

Every operation is total and means the same on every engine. Integers have 64 bits, and all other numbers are IEEE
doubles (an integer that meets a real becomes one first). Nulls pass through, and a quotient by zero is null. Typing has
checked the bounds, so nothing overflows.

An engine that prepares queries takes compared literals as parameters: queries that differ in these values alone are
compiled once.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Date, Kind, Timestamp
from celosia.query.execution.calendar import PARTS, SECONDS_PER_DAY
from celosia.query.execution.clean import encode_value, to_bit
from celosia.query.execution.dialect import (
    Dialect,
    double_literal,
    engine_function,
    floor_divide,
    integer_literal,
    null_literal,
    parenthesize,
)
from celosia.query.execution.raw_ranges import RawRange
from celosia.query.plan.calendar_rules import CALENDAR
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import Call, Column, Expression, Literal, family_of
from celosia.query.plan.text_functions import CAPITALS, SMALL, TEXT_FUNCTIONS, pattern_parts
from celosia.query.plan.types import Scalar

if TYPE_CHECKING:
    from ibis.expr import types as ir

_DAY = Date(dt.date.min, dt.date.max)
_TIME = Timestamp(dt.datetime.min, dt.datetime.max)  # noqa: DTZ901 - taken as UTC

PARAMETER: Final = "celosia_parameter_"
"""Parameter 1 of a query is the function of this name and 1, and so on."""

_MAX_PARAMETERS: Final = 50  # of one condition; a long list stays in the text of the query
_EXACT_TYPES: Final = (int, str, dt.date, dt.datetime)
_PARAMETER_TYPES: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("=", "<>", "in"), _EXACT_TYPES),  # a category is compared with the literal's own value
    **dict.fromkeys(("<", "<=", ">", ">=", "between"), (*_EXACT_TYPES, float)),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parameter(Literal):
    """A literal whose value is given when the query runs; equal to others of its place and type, whatever the value."""

    place: int = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and (self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, str]:
        return self.place, type(self.value).__name__


def split_parameters(condition: Expression) -> tuple[Expression, tuple[str, ...]]:
    """Return a condition whose compared literals are parameters, and their values as texts."""
    values: list[str] = []

    def split(expression: Expression, types: tuple[type, ...] = ()) -> Expression:
        if isinstance(expression, RawRange):
            values.extend(map(_text_of, (expression.low, expression.high)))
            return expression.take_place(len(values) - 1)
        if type(expression) is Literal and type(expression.value) in types:
            values.append(_text_of(expression.value))
            return Parameter(expression.value, len(values))
        if not isinstance(expression, Call) or types:
            return expression
        types = _PARAMETER_TYPES.get(expression.name, ())
        if expression.name not in ("and", "or", "not") and not types:
            return expression
        if len(values) + len(expression.arguments) > _MAX_PARAMETERS:
            return expression
        return Call(expression.name, tuple([split(argument, types) for argument in expression.arguments]))

    return split(condition), tuple(values)


def compile_expression(  # noqa: PLR0911 - one for each form
    expression: Expression, column: "Callable[[str], ir.Value]", kinds: Mapping[str, Kind], dialect: Dialect
) -> "ir.Value":
    """Return an expression as an Ibis value; ``column`` gives the clean columns, and ``kinds`` their kinds."""

    def made(argument: Expression) -> "ir.Value":
        return compile_expression(argument, column, kinds, dialect)

    match expression:
        case Column(name=name) if not isinstance(expression, RawRange):
            return column(name)
        case Parameter(value=value, place=place):
            return _parameter(value, place)
        case Literal(value=value):
            return _literal(value)
        case Call(name=name, arguments=(first, *others)) if name in CALENDAR:
            time = family_of(first, kinds) == "timestamp"
            return _compile_calendar(name, made(first), [_literal_value(other) for other in others], dialect, time=time)
        case Call(name="+" | "-" as name, arguments=(a, b)):
            return _compile_sum(name, made(a), made(b), [family_of(one, kinds) == "timestamp" for one in (a, b)])
        case Call(name="bucket", arguments=(argument, *edges)):
            return _bucket(made(argument), [_literal_value(edge) for edge in edges])
        case Call(name=name, arguments=(first, *others)) if name in TEXT_FUNCTIONS:
            return _compile_text(name, made(first), [_literal_value(other) for other in others], dialect)
        case Call(name=name, arguments=arguments):
            return _OPERATIONS[name](*map(made, arguments))
    raise QueryError("query.unknown_expression_node")


def _literal_value(argument: Expression) -> Scalar:
    if not isinstance(argument, Literal):
        raise QueryError("query.parameter_not_literal")
    return argument.value


def _literal(value: object) -> "ir.Value":
    import ibis

    match value:
        case None:
            return ibis.null()
        case bool() | str():
            return ibis.literal(value)
        case float():
            return double_literal(value)
        case int() | dt.date():
            return integer_literal(_integer_of(value))
    raise QueryError("query.literal_kind_not_compiled")


def _parameter(value: Scalar, place: int) -> "ir.Value":
    text: ir.Value = engine_function(f"{PARAMETER}{place}", (), "string")()
    return text if isinstance(value, str) else text.cast("float64" if isinstance(value, float) else "int64")


def range_ends(condition: RawRange) -> "tuple[ir.Value, ir.Value]":
    """Return the ends of an interval of a raw column: literals or parameters."""
    ends, place = (condition.low, condition.high), condition.place
    if place is None:
        low, high = map(_literal, ends)
    else:
        low, high = (_parameter(end, place + number) for number, end in enumerate(ends))
    return low, high


def _text_of(value: Scalar) -> str:
    """Return the text that is cast to the value of a parameter."""
    match value:
        case str():
            return value
        case int() | dt.date():
            return str(_integer_of(value))
    return repr(value)


def _integer_of(value: int | dt.date) -> int:
    """Return an integer unchanged, a date in days, and a time in seconds."""
    if isinstance(value, int):
        return value
    return int(encode_value(value, _TIME if isinstance(value, dt.datetime) else _DAY))


# --------------------------------------------------------------------------------------------------- dates and texts


def _compile_calendar(
    name: str, number: "ir.Value", given: Sequence[Scalar], dialect: Dialect, *, time: bool
) -> "ir.Value":
    """Return an operation on a date in days, or on a time in seconds."""
    if name == "add_seconds":
        return number + integer_literal(int(str(given[0])))
    if name == "date_trunc" and given[0] == "hour":
        return floor_divide(number, 3600) * integer_literal(3600)
    days = floor_divide(number, SECONDS_PER_DAY) if time else number
    if name == "hour":
        return floor_divide(number - days * integer_literal(SECONDS_PER_DAY), 3600)
    if name in ("date_trunc", "add_months"):
        return _shift_date(name, number, days, given[0], dialect)
    return days if name == "date" else PARTS[name](days)


def _shift_date(name: str, number: "ir.Value", days: "ir.Value", given: Scalar, dialect: Dialect) -> "ir.Value":
    """Return the start of a unit, or a date some months later; a time has other ``days`` than its number."""
    time = days is not number
    if name == "date_trunc":
        day = dialect.truncate_days(days, str(given))
        return day * integer_literal(SECONDS_PER_DAY) if time else day
    day = dialect.add_months(days, int(str(given)))
    return number + (day - days) * integer_literal(SECONDS_PER_DAY) if time else day


def _compile_sum(name: str, a: "ir.Value", b: "ir.Value", times: Sequence[bool]) -> "ir.Value":
    """Return a sum or difference; days become seconds where they meet a time."""
    if times[0] != times[1]:
        a, b = (
            value if time else value * integer_literal(SECONDS_PER_DAY)
            for value, time in zip((a, b), times, strict=True)
        )
    a, b = _unify(a, b)
    return a + b if name == "+" else a - b


def _compile_text(name: str, text: "ir.Value", given: Sequence[Scalar], dialect: Dialect) -> "ir.Value":
    match name:
        case "upper":
            return dialect.change_case(text, SMALL, CAPITALS)
        case "lower":
            return dialect.change_case(text, CAPITALS, SMALL)
        case "length":
            return engine_function("length", ("string",), "int32")(text).cast("int64")
        case "trim" | "ltrim" | "rtrim":
            return dialect.trim_letters(text, str(given[0]) if given else " ", name)
        case "like":
            return dialect.is_like(text, pattern_parts(*map(str, given)))
    types = tuple("string" if isinstance(one, str) else "int32" for one in given)
    return engine_function(name, ("string", *types), "string")(text, *given)


def _unify(*values: "ir.Value") -> "tuple[ir.Value, ...]":
    """Return numbers of one type: doubles if one of them is."""
    if any(value.type().is_floating() for value in values):
        return tuple(value.cast("float64") if value.type().is_integer() else value for value in values)
    return values


def _arithmetic(operation: "Callable[[Any, Any], Any]") -> "Callable[..., ir.Value]":
    return lambda a, b: operation(*_unify(a, b))


def _divide(a: "ir.Value", b: "ir.Value") -> "ir.Value":
    return a.cast("float64") / b.cast("float64").nullif(double_literal(0.0))


def _rounding(how: str) -> "Callable[[ir.Value], ir.Value]":
    return lambda a: a if a.type().is_integer() else getattr(a, how)().cast("int64")


def _extreme(which: str) -> "Callable[..., ir.Value]":
    """Return the function for least or greatest; engines skip nulls, here they propagate."""

    def function(*values: "ir.Value") -> "ir.Value":
        import ibis

        several = _unify(*values)
        return ibis.cases(
            (_any_null(several), null_literal(str(several[0].type()))), else_=getattr(ibis, which)(*several)
        )

    return function


def _any_null(values: "tuple[ir.Value, ...]") -> "ir.Value":
    import ibis

    return ibis.or_(*(value.isnull() for value in values))


def _clip(x: "ir.Value", low: "ir.Value", high: "ir.Value") -> "ir.Value":
    import ibis

    x, low, high = _unify(x, low, high)
    nothing = (_any_null((low, high)), null_literal(str(x.type())))
    return ibis.cases(nothing, (x < low, low), (x > high, high), else_=x)


def _integer(a: "ir.Value") -> "ir.Value":
    return to_bit(a) if a.type().is_boolean() else a


def _between(x: "ir.Value", low: "ir.Value", high: "ir.Value") -> "ir.Value":
    x, low, high = _unify(x, low, high)
    return (x >= low) & (x <= high)


def _in(x: "ir.Value", *choices: "ir.Value") -> "ir.Value":
    x, *several = _unify(parenthesize(x), *choices)
    return x.isin(several)


def _bucket(x: "ir.Value", edges: "Sequence[Scalar]") -> "ir.Value":
    """Return the label of a number's interval: closed on the left, the last one on both sides."""
    import ibis

    x, *ends = _unify(x, *map(_literal, edges))
    outside = (x < ends[0]) | (x > ends[-1])
    *labels, last = map(ibis.literal, bucket_labels(edges))
    below = [(x < end, label) for end, label in zip(ends[1:-1], labels, strict=True)]
    return ibis.cases((x.isnull() | outside, null_literal("string")), *below, else_=last)


def _case(*parts: "ir.Value") -> "ir.Value":
    import ibis

    conditions, results = parts[:-1:2], _unify(*parts[1:-1:2], parts[-1])
    typed = _typed_nulls(results)
    return ibis.cases(*zip(conditions, typed[:-1], strict=True), else_=typed[-1])


def _coalesce(*values: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.coalesce(*_typed_nulls(_unify(*values)))


def _typed_nulls(values: "tuple[ir.Value, ...]") -> "list[ir.Value]":
    type_ = next(str(value.type()) for value in values if not value.type().is_null())
    return [null_literal(type_) if value.type().is_null() else value for value in values]


def _and(*conditions: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.and_(*conditions)


def _or(*conditions: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.or_(*conditions)


_OPERATIONS: "Final[dict[str, Callable[..., ir.Value]]]" = {
    "*": _arithmetic(lambda a, b: a * b),
    "/": _divide,
    "%": lambda a, b: a % b,
    "neg": lambda a: -a,
    "abs": lambda a: a.abs(),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "clip": _clip,
    "integer": _integer,
    "real": lambda a: a.cast("float64"),
    "=": _arithmetic(lambda a, b: parenthesize(a) == parenthesize(b)),
    "<>": _arithmetic(lambda a, b: parenthesize(a) != parenthesize(b)),
    "<": _arithmetic(lambda a, b: a < b),
    "<=": _arithmetic(lambda a, b: a <= b),
    ">": _arithmetic(lambda a, b: a > b),
    ">=": _arithmetic(lambda a, b: a >= b),
    "between": _between,
    "in": _in,
    "and": _and,
    "or": _or,
    "not": lambda a: ~a,
    "is_null": lambda a: parenthesize(a).isnull(),
    "coalesce": _coalesce,
    "case": _case,
}
