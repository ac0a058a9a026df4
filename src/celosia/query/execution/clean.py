"""Cleans raw columns inside the engine, as their kinds declare.

Missing and invalid values follow the null rule and numbers are clipped before anything is computed or cast, so no
content can raise an error. A clean value is an integer where possible: an integer itself, days, seconds, or steps of a
Real's grid, found as ``floor(x / grid + 1/2)`` in IEEE doubles. That is monotone in ``x``, so its values at the two
bounds, computed here, bound it everywhere: the sensitivity of one row is exact to the last bit.
"""

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.execution.dialect import Dialect, double_literal, floor_divide, integer_literal, null_literal

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.sources.text_format import TextFormat

_SECONDS_PER_DAY = 86_400
_EPOCH_DAY = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def clean(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return the clean value of a raw column; dates are days, and times seconds, since 1970."""
    if isinstance(kind, Category | Text):
        return impute(_known_category(read_column(raw, kind, dialect), kind, dialect), kind)
    if isinstance(kind, Boolean):
        return impute(_boolean(read_column(raw, kind, dialect), dialect), kind)
    number = clean_integer(raw, kind, dialect)
    return step_to_double(number, kind) if isinstance(kind, Real) else number


def read_column(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return a text column parsed as its kind; any other column unchanged."""
    if not raw.type().is_string() or isinstance(kind, Text):
        return raw
    if isinstance(kind, Category) and isinstance(kind.values[0], str):
        return raw
    wanted = {Boolean: "boolean", Date: "date", Timestamp: "timestamp"}.get(type(kind), "float64")
    return dialect.from_text(raw, wanted)


def nullify(text: "ir.Value", form: "TextFormat") -> "ir.Value":
    """Return a text column in which the declared null values are null."""
    import ibis

    if not form.null_values:
        return text
    return ibis.cases((text.isin(tuple(form.null_values)), ibis.literal(None, type="string")), else_=text)


def impute(value: "ir.Value", kind: Kind) -> "ir.Value":
    """Return a value, or the replacement that the null rule declares."""
    import ibis

    if kind.nullable:
        return value
    if isinstance(kind, Boolean | Category | Text):
        return value.coalesce(integer_literal(kind.null) if type(kind.null) is int else ibis.literal(kind.null))
    number = integer_literal(int(encode_value(kind.null, kind)))
    return value.coalesce(step_to_double(number, kind) if isinstance(kind, Real) else number)


def clean_integer(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return the clean value of a raw numeric column as int64: the step of a Real, 0 or 1 of a Boolean."""
    raw = read_column(raw, kind, dialect)
    if isinstance(kind, Boolean):
        found = to_bit(_boolean(raw, dialect))
    else:
        found = _clip_to_bounds(raw_number(raw, kind, dialect), kind, dialect)
    return found if kind.nullable else found.coalesce(integer_literal(int(encode_value(kind.null, kind))))


def clip_integer(value: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return a clean or derived value as int64, clipped again: bounds must not rest on a proof alone."""
    return to_bit(value) if isinstance(kind, Boolean) else _clip_to_bounds(value, kind, dialect)


def step_to_double(step: "ir.Value", kind: Real) -> "ir.Value":
    """Return the double of a Real's step."""
    return step.cast("float64") * double_literal(float(kind.axis.grid))


def step_on_axis(number: "ir.Value", kind: Kind) -> "ir.Value":
    """Return the step of a clean integer value on its kind's axis, counted from the lower end."""
    axis = kind.axis
    if axis is None:
        raise QueryError("query.kind_not_numeric", kind=type(kind).__name__)
    if not isinstance(kind, Real) and axis.grid != 1:
        number = _round_to_step(number.cast("float64"), axis)
    return number - integer_literal(axis.lowest) if axis.lowest else number


def coarsen_step(step: "ir.Value", fine: Axis, axis: Axis) -> "ir.Value":
    """Return a step of ``fine`` on an axis whose grid is a power of two times as large.

    Both are counted from the low end.
    """
    factor = axis.grid / fine.grid
    if factor.denominator != 1 or factor.numerator & (factor.numerator - 1):
        raise QueryError("query.measure_off_axis")
    if factor == 1 and axis.lowest == fine.lowest:
        return step
    absolute = step + integer_literal(fine.lowest)
    if factor > 1:  # a power of two: the quotient is exact
        absolute = (
            (absolute.cast("float64") / double_literal(float(factor)) + double_literal(0.5)).floor().cast("int64")
        )
    return absolute - integer_literal(axis.lowest)


def encode_value(value: Any, kind: Kind) -> int | str:
    """Return a public value as its integer code in the engine; a text unchanged."""
    match kind:
        case Real():
            return _clip_step(_nearest_step(float(Fraction(value)), kind.axis), kind.axis)
        case Date():
            return int((value - _EPOCH_DAY).days)
        case Timestamp():
            moment = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
            return int((moment - _EPOCH) // dt.timedelta(seconds=1))
        case Text() | Category():
            return value  # type: ignore[no-any-return]
        case _:
            return int(value)


# ------------------------------------------------------------------------------------------------- from raw columns


def raw_number(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return the raw column as int64, float64, or an integer that may exceed 64 bits; nothing is clipped yet."""
    if isinstance(kind, Date | Timestamp):
        return _days_or_seconds(raw, kind, dialect)
    type_ = raw.type()
    if type_.is_boolean():
        return to_bit(raw)
    if type_.is_decimal():
        return dialect.finite_decimal(raw) if type_.scale == 0 else dialect.from_decimal(raw)
    if type_.is_floating():
        return raw.cast("float64")
    return raw if type_.is_unsigned_integer() and type_.nbytes == 8 else raw.cast("int64")


def _days_or_seconds(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    if raw.type().is_date():
        days = dialect.days(raw)
        return days if isinstance(kind, Date) else days * integer_literal(_SECONDS_PER_DAY)
    seconds = dialect.seconds(raw)
    return floor_divide(seconds, _SECONDS_PER_DAY) if isinstance(kind, Date) else seconds


def _boolean(raw: "ir.Value", dialect: Dialect) -> "ir.Value":
    """Return 0 and 1 of any type as booleans, and null otherwise."""
    import ibis

    type_ = raw.type()
    if type_.is_boolean():
        return raw
    number = raw if type_.is_integer() else dialect.from_decimal(raw) if type_.is_decimal() else raw.cast("float64")
    number_literal = integer_literal if type_.is_integer() else double_literal
    true, false = ibis.literal(True), ibis.literal(False)  # noqa: FBT003 - literals
    return ibis.cases(
        (number == number_literal(0), false), (number == number_literal(1), true), else_=null_literal("boolean")
    )


def _known_category(raw: "ir.Value", kind: Category | Text, dialect: Dialect) -> "ir.Value":
    """Return the raw text or code if the category has it, else null."""
    import ibis

    if isinstance(kind, Text):
        return raw.cast("string")
    if isinstance(kind.values[0], str):
        raw = raw if raw.type().is_string() else raw.cast("string")
        return ibis.cases((raw.isin(kind.values), raw), else_=null_literal("string"))
    if raw.type().is_decimal() and raw.type().scale != 0:
        raw = dialect.from_decimal(raw)
    listed = (
        [double_literal(float(v)) for v in kind.values]
        if raw.type().is_floating()
        else [integer_literal(int(v)) for v in kind.values]
    )
    return ibis.cases((raw.isin(listed), raw.cast("int64")), else_=null_literal("int64"))


# ------------------------------------------------------------------------------------------------------- into bounds


class _IntegerAxis(NamedTuple):
    """Integers between any two ends; an ``Axis`` bounds its number of steps."""

    lowest: int
    highest: int
    grid: Fraction = Fraction(1)


def _clip_to_bounds(number: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Clip a number to the bounds of its kind and return it as int64; null, NaN and infinities become null."""
    import ibis

    if isinstance(kind, Real):
        return _clip_to_grid(number.cast("float64"), kind.low, kind.high, kind.axis, dialect)
    low, high = (int(encode_value(end, kind)) for end in _bounds(kind))
    if number.type().is_floating():
        return _clip_to_grid(number, Fraction(low), Fraction(high), _IntegerAxis(low, high), dialect)
    below = (
        []
        if number.type().is_unsigned_integer() and low <= 0
        else [(number < integer_literal(low), integer_literal(low))]
    )
    return ibis.cases(*below, (number > integer_literal(high), integer_literal(high)), else_=number.cast("int64"))


def _bounds(kind: Kind) -> tuple[Any, Any]:
    return kind.low, kind.high  # type: ignore[attr-defined] # every kind that is a number has both


def _clip_to_grid(
    x: "ir.Value", low: Fraction, high: Fraction, axis: "Axis | _IntegerAxis", dialect: Dialect
) -> "ir.Value":
    """Return the nearest step of a double, clipped. NaN is the largest number on every engine: the second case."""
    import ibis

    first, last = float(low), float(high)
    at_first, at_last = (_clip_step(_nearest_step(end, axis), axis) for end in (first, last))
    step = _round_to_step(dialect.flush_tiny(x) if axis.grid > 1 else x, axis)
    if (
        _nearest_step(first, axis) < axis.lowest or _nearest_step(last, axis) > axis.highest
    ):  # doubles are coarse at large magnitudes
        step = ibis.cases(
            (step < integer_literal(axis.lowest), integer_literal(axis.lowest)),
            (step > integer_literal(axis.highest), integer_literal(axis.highest)),
            else_=step,
        )
    return ibis.cases(
        (
            x < double_literal(first),
            ibis.cases((x > double_literal(-math.inf), integer_literal(at_first)), else_=null_literal("int64")),
        ),
        (
            x > double_literal(last),
            ibis.cases((x < double_literal(math.inf), integer_literal(at_last)), else_=null_literal("int64")),
        ),
        else_=step,
    )


def _round_to_step(x: "ir.Value", axis: "Axis | _IntegerAxis") -> "ir.Value":
    scaled = x if axis.grid == 1 else x / double_literal(float(axis.grid))
    return (scaled + double_literal(0.5)).floor().cast("int64")


def _nearest_step(x: float, axis: "Axis | _IntegerAxis") -> int:
    """Return the same in Python: division, sum and floor of doubles are the same everywhere."""
    return math.floor(x / float(axis.grid) + 0.5)


def _clip_step(step: int, axis: "Axis | _IntegerAxis") -> int:
    return max(axis.lowest, min(axis.highest, step))


def clean_double(x: float, kind: Integer | Real) -> float:
    """Return the clean value of a finite raw double, with the operations of the engine."""
    low, high = float(kind.low), float(kind.high)
    axis = kind.axis if isinstance(kind, Real) else _IntegerAxis(int(kind.low), int(kind.high))
    step = _clip_step(_nearest_step(max(low, min(high, x)), axis), axis)
    return float(step) * float(axis.grid) if isinstance(kind, Real) else step


def to_bit(condition: "ir.Value") -> "ir.Value":
    """Return 1 for true, 0 for false, and null for null."""
    import ibis

    return ibis.cases((condition, integer_literal(1)), (~condition, integer_literal(0)), else_=null_literal("int64"))
