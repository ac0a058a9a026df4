"""Expressions over clean columns as Ibis expressions, operation by operation.

Every operation is total and means the same on every engine: integers are 64 bits, whatever else is computed is an IEEE
double (an integer that meets a real becomes one first), nulls pass through, a quotient by zero is null. Bounds were
checked when the expression was typed, so nothing overflows.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Date, Kind, Timestamp
from celosia.query.execution.calendar import PARTS, SECONDS_A_DAY
from celosia.query.execution.clean import whole_number
from celosia.query.execution.dialect import Dialect, closed, double, function, integer_literal, no, quotient
from celosia.query.plan.calendar_rules import CALENDAR
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import Call, Column, Expression, Literal, family_of
from celosia.query.plan.text_functions import CAPITALS, SMALL, TEXT_FUNCTIONS, pattern_parts
from celosia.query.plan.types import Scalar

if TYPE_CHECKING:
    from ibis.expr import types as ir

_DAY = Date(dt.date.min, dt.date.max)
_TIME = Timestamp(dt.datetime.min, dt.datetime.max)  # noqa: DTZ901 - taken as UTC


def compiled(  # noqa: PLR0911 - one for each form
    expression: Expression, column: "Callable[[str], ir.Value]", kinds: Mapping[str, Kind], dialect: Dialect
) -> "ir.Value":
    """Return an expression as an Ibis value; ``column`` gives the clean columns, and ``kinds`` what they are."""

    def made(argument: Expression) -> "ir.Value":
        return compiled(argument, column, kinds, dialect)

    match expression:
        case Column(name=name):
            return column(name)
        case Literal(value=value):
            return _literal(value)
        case Call(name=name, arguments=(first, *others)) if name in CALENDAR:
            time = family_of(first, kinds) == "timestamp"
            return _calendar(name, made(first), [_written(other) for other in others], dialect, time=time)
        case Call(name="+" | "-" as name, arguments=(a, b)):
            return _sum(name, made(a), made(b), [family_of(one, kinds) == "timestamp" for one in (a, b)])
        case Call(name="bucket", arguments=(argument, *edges)):
            return _bucket(made(argument), [_written(edge) for edge in edges])
        case Call(name=name, arguments=(first, *others)) if name in TEXT_FUNCTIONS:
            return _text(name, made(first), [_written(other) for other in others], dialect)
        case Call(name=name, arguments=arguments):
            return _OPERATIONS[name](*map(made, arguments))
    raise QueryError("An expression is a column, a literal or an operation.")


def _written(argument: Expression) -> Scalar:
    if not isinstance(argument, Literal):
        raise QueryError("The edges of a bucket, and what a function of texts or dates needs, are written out.")
    return argument.value


def _literal(value: object) -> "ir.Value":
    import ibis

    match value:
        case None:
            return ibis.null()
        case bool() | str():
            return ibis.literal(value)
        case int():
            return integer_literal(value)
        case float():
            return double(value)
        case dt.datetime():
            return integer_literal(int(whole_number(value, _TIME)))
        case dt.date():
            return integer_literal(int(whole_number(value, _DAY)))
    raise QueryError("A literal is a number, a text, a boolean, a date or a time.")


# --------------------------------------------------------------------------------------------------- dates and texts


def _calendar(name: str, number: "ir.Value", given: Sequence[Scalar], dialect: Dialect, *, time: bool) -> "ir.Value":
    """An operation on a date in days, or on a time in seconds."""
    if name == "add_seconds":
        return number + integer_literal(int(str(given[0])))
    if name == "date_trunc" and given[0] == "hour":
        return quotient(number, 3600) * integer_literal(3600)
    days = quotient(number, SECONDS_A_DAY) if time else number
    if name == "hour":
        return quotient(number - days * integer_literal(SECONDS_A_DAY), 3600)
    if name in ("date_trunc", "add_months"):
        return _moved(name, number, days, given[0], dialect)
    return days if name == "date" else PARTS[name](days)


def _moved(name: str, number: "ir.Value", days: "ir.Value", given: Scalar, dialect: Dialect) -> "ir.Value":
    """The beginning of a unit, or some months later; the days of a time are not its number itself."""
    time = days is not number
    if name == "date_trunc":
        day = dialect.truncated(days, str(given))
        return day * integer_literal(SECONDS_A_DAY) if time else day
    day = dialect.months_later(days, int(str(given)))
    return number + (day - days) * integer_literal(SECONDS_A_DAY) if time else day


def _sum(name: str, a: "ir.Value", b: "ir.Value", times: Sequence[bool]) -> "ir.Value":
    """A sum or difference; whole days are seconds where they meet a time."""
    if times[0] != times[1]:
        a, b = (
            value if time else value * integer_literal(SECONDS_A_DAY) for value, time in zip((a, b), times, strict=True)
        )
    a, b = _alike(a, b)
    return a + b if name == "+" else a - b


def _text(name: str, text: "ir.Value", given: Sequence[Scalar], dialect: Dialect) -> "ir.Value":
    match name:
        case "upper":
            return dialect.cased(text, SMALL, CAPITALS)
        case "lower":
            return dialect.cased(text, CAPITALS, SMALL)
        case "length":
            return function("length", ("string",), "int32")(text).cast("int64")
        case "trim" | "ltrim" | "rtrim":
            return dialect.trimmed(text, str(given[0]) if given else " ", name)
        case "like":
            return dialect.is_like(text, pattern_parts(*map(str, given)))
    types = tuple("string" if isinstance(one, str) else "int32" for one in given)
    return function(name, ("string", *types), "string")(text, *given)


def _alike(*values: "ir.Value") -> "tuple[ir.Value, ...]":
    """Numbers of one type: doubles as soon as one of them is."""
    if any(value.type().is_floating() for value in values):
        return tuple(value.cast("float64") if value.type().is_integer() else value for value in values)
    return values


def _arithmetic(operation: "Callable[[Any, Any], Any]") -> "Callable[..., ir.Value]":
    return lambda a, b: operation(*_alike(a, b))


def _divide(a: "ir.Value", b: "ir.Value") -> "ir.Value":
    return a.cast("float64") / b.cast("float64").nullif(double(0.0))


def _rounded(how: str) -> "Callable[[ir.Value], ir.Value]":
    return lambda a: a if a.type().is_integer() else getattr(a, how)().cast("int64")


def _extreme(which: str) -> "Callable[..., ir.Value]":
    """The least or greatest; engines skip nulls, here they count."""

    def function(*values: "ir.Value") -> "ir.Value":
        import ibis

        several = _alike(*values)
        return ibis.cases((_any_null(several), no(str(several[0].type()))), else_=getattr(ibis, which)(*several))

    return function


def _any_null(values: "tuple[ir.Value, ...]") -> "ir.Value":
    import ibis

    return ibis.or_(*(value.isnull() for value in values))


def _clip(x: "ir.Value", low: "ir.Value", high: "ir.Value") -> "ir.Value":
    import ibis

    x, low, high = _alike(x, low, high)
    nothing = (_any_null((low, high)), no(str(x.type())))
    return ibis.cases(nothing, (x < low, low), (x > high, high), else_=x)


def _integer(a: "ir.Value") -> "ir.Value":
    import ibis

    return (
        ibis.cases((a, integer_literal(1)), (~a, integer_literal(0)), else_=no("int64")) if a.type().is_boolean() else a
    )


def _between(x: "ir.Value", low: "ir.Value", high: "ir.Value") -> "ir.Value":
    x, low, high = _alike(x, low, high)
    return (x >= low) & (x <= high)


def _in(x: "ir.Value", *choices: "ir.Value") -> "ir.Value":
    x, *several = _alike(closed(x), *choices)
    return x.isin(several)


def _bucket(x: "ir.Value", edges: "Sequence[Scalar]") -> "ir.Value":
    """The label of the interval that a number lies in: closed on the left, and the last one on both sides."""
    import ibis

    x, *ends = _alike(x, *map(_literal, edges))
    outside = (x < ends[0]) | (x > ends[-1])
    *labels, last = map(ibis.literal, bucket_labels(edges))
    below = [(x < end, label) for end, label in zip(ends[1:-1], labels, strict=True)]
    return ibis.cases((x.isnull() | outside, no("string")), *below, else_=last)


def _case(*parts: "ir.Value") -> "ir.Value":
    import ibis

    conditions, results = parts[:-1:2], _alike(*parts[1:-1:2], parts[-1])
    typed = _typed_nulls(results)
    return ibis.cases(*zip(conditions, typed[:-1], strict=True), else_=typed[-1])


def _coalesce(*values: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.coalesce(*_typed_nulls(_alike(*values)))


def _typed_nulls(values: "tuple[ir.Value, ...]") -> "list[ir.Value]":
    type_ = next(str(value.type()) for value in values if not value.type().is_null())
    return [no(type_) if value.type().is_null() else value for value in values]


def _all(*conditions: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.and_(*conditions)


def _some(*conditions: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.or_(*conditions)


_OPERATIONS: "Final[dict[str, Callable[..., ir.Value]]]" = {
    "*": _arithmetic(lambda a, b: a * b),
    "/": _divide,
    "%": lambda a, b: a % b,
    "neg": lambda a: -a,
    "abs": lambda a: a.abs(),
    "floor": _rounded("floor"),
    "ceil": _rounded("ceil"),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "clip": _clip,
    "integer": _integer,
    "real": lambda a: a.cast("float64"),
    "=": _arithmetic(lambda a, b: closed(a) == closed(b)),
    "<>": _arithmetic(lambda a, b: closed(a) != closed(b)),
    "<": _arithmetic(lambda a, b: a < b),
    "<=": _arithmetic(lambda a, b: a <= b),
    ">": _arithmetic(lambda a, b: a > b),
    ">=": _arithmetic(lambda a, b: a >= b),
    "between": _between,
    "in": _in,
    "and": _all,
    "or": _some,
    "not": lambda a: ~a,
    "is_null": lambda a: closed(a).isnull(),
    "coalesce": _coalesce,
    "case": _case,
}
