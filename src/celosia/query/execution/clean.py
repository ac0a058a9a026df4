"""From what a column holds to what its kind allows, inside the engine.

Whatever is no value follows the null rule, numbers are clipped, and only then is anything computed or cast, so that no
content can raise an error. A clean value is an integer wherever it can be: an integer itself, days, seconds, or
steps of a Real's grid, found as ``floor(x / grid + 1/2)`` in IEEE doubles. That is monotone in ``x``, so its values at
the two bounds, computed here, bound it everywhere: what one row can change holds to the last bit.
"""

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import DROP, Boolean, Category, Date, Kind, Real, Text, Timestamp
from celosia.query.execution.dialect import Dialect, double, integer_literal, no, quotient

if TYPE_CHECKING:
    from ibis.expr import types as ir

    from celosia.data.sources.text_format import TextFormat

_SECONDS_A_DAY = 86_400
_FIRST = dt.date(1970, 1, 1)
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def clean(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return the clean value of a raw column, as expressions use it; dates are days, and times seconds, since 1970."""
    if isinstance(kind, Category | Text):
        return imputed(_known(read_column(raw, kind, dialect), kind, dialect), kind)
    if isinstance(kind, Boolean):
        return imputed(_truth(read_column(raw, kind, dialect), dialect), kind)
    number = whole_of(raw, kind, dialect)
    return settled(number, kind) if isinstance(kind, Real) else number


def read_column(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return a text column as what it says, where its kind is no text; any other column as it is."""
    if not raw.type().is_string() or isinstance(kind, Text):
        return raw
    if isinstance(kind, Category) and isinstance(kind.values[0], str):
        return raw
    wanted = {Boolean: "boolean", Date: "date", Timestamp: "timestamp"}.get(type(kind), "float64")
    return dialect.from_text(raw, wanted)


def without_nulls(text: "ir.Value", form: "TextFormat") -> "ir.Value":
    """Return a text column in which the declared null values are null."""
    import ibis

    if not form.null_values:
        return text
    return ibis.cases((text.isin(tuple(form.null_values)), ibis.literal(None, type="string")), else_=text)


def imputed(value: "ir.Value", kind: Kind) -> "ir.Value":
    """Return a value, or what the null rule puts in the place of none."""
    import ibis

    if isinstance(kind.null, str) and kind.null == DROP:
        return value
    if isinstance(kind, Boolean | Category | Text):
        return value.coalesce(integer_literal(kind.null) if type(kind.null) is int else ibis.literal(kind.null))
    number = integer_literal(int(whole_number(kind.null, kind)))
    return value.coalesce(settled(number, kind) if isinstance(kind, Real) else number)


def whole_of(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return the clean value of a raw numeric column as a 64-bit integer: for a Real its step, for a Boolean 0 or 1."""
    raw = read_column(raw, kind, dialect)
    if isinstance(kind, Boolean):
        found = _bit(_truth(raw, dialect))
    else:
        found = _inside(_number(raw, kind, dialect), kind, dialect)
    drops = isinstance(kind.null, str) and kind.null == DROP
    return found if drops else found.coalesce(integer_literal(int(whole_number(kind.null, kind))))


def whole_of_value(value: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Return a clean or derived value as a 64-bit integer, clipped once more: bounds must not hang on a proof alone."""
    return _bit(value) if isinstance(kind, Boolean) else _inside(value, kind, dialect)


def settled(step: "ir.Value", kind: Real) -> "ir.Value":
    """Return the double that a step of a Real stands for."""
    return step.cast("float64") * double(float(kind.axis.grid))


def steps(number: "ir.Value", kind: Kind) -> "ir.Value":
    """Return the step on the kind's axis, counted from its lower end, of a clean value that is an integer."""
    axis = kind.axis
    if axis is None:
        raise QueryError(f"{type(kind).__name__} is no number.")
    if not isinstance(kind, Real) and axis.grid != 1:
        number = _rounded(number.cast("float64"), axis)
    return number - integer_literal(axis.lowest) if axis.lowest else number


def coarser(step: "ir.Value", fine: Axis, axis: Axis) -> "ir.Value":
    """Return a step of ``fine`` on an axis whose grid is a power of two times as large.

    Both counted from the low end.
    """
    factor = axis.grid / fine.grid
    if factor.denominator != 1 or factor.numerator & (factor.numerator - 1):
        raise QueryError(
            "A measure must be taken on the column's own axis, or on one that is coarser by a power of two."
        )
    if factor == 1 and axis.lowest == fine.lowest:
        return step
    absolute = step + integer_literal(fine.lowest)
    if factor > 1:  # a power of two: the quotient is exact
        absolute = (absolute.cast("float64") / double(float(factor)) + double(0.5)).floor().cast("int64")
    return absolute - integer_literal(axis.lowest)


def whole_number(value: Any, kind: Kind) -> int | str:
    """Return a public value as the integer that stands for it in the engine; a text as it is."""
    match kind:
        case Real():
            return _held(_nearest(float(Fraction(value)), kind.axis), kind.axis)
        case Date():
            return int((value - _FIRST).days)
        case Timestamp():
            moment = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
            return int((moment - _MIDNIGHT) // dt.timedelta(seconds=1))
        case Text() | Category():
            return value  # type: ignore[no-any-return]
        case _:
            return int(value)


# ------------------------------------------------------------------------------------------------- from raw columns


def _number(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """The raw column as int64, as float64, or as a wide integer that may be beyond 64 bits; nothing is clipped yet."""
    if isinstance(kind, Date | Timestamp):
        return _moment(raw, kind, dialect)
    type_ = raw.type()
    if type_.is_boolean():
        return _bit(raw)
    if type_.is_decimal():
        return dialect.numeric(raw) if type_.scale == 0 else dialect.from_decimal(raw)
    if type_.is_floating():
        return raw.cast("float64")
    return raw if type_.is_unsigned_integer() and type_.nbytes == 8 else raw.cast("int64")


def _moment(raw: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    if raw.type().is_date():
        days = dialect.days(raw)
        return days if isinstance(kind, Date) else days * integer_literal(_SECONDS_A_DAY)
    seconds = dialect.seconds(raw)
    return quotient(seconds, _SECONDS_A_DAY) if isinstance(kind, Date) else seconds


def _truth(raw: "ir.Value", dialect: Dialect) -> "ir.Value":
    """0 and 1 are booleans, whatever their type; nothing else is."""
    import ibis

    type_ = raw.type()
    if type_.is_boolean():
        return raw
    number = raw if type_.is_integer() else dialect.from_decimal(raw) if type_.is_decimal() else raw.cast("float64")
    zero, one = (integer_literal(0), integer_literal(1)) if type_.is_integer() else (double(0.0), double(1.0))
    return ibis.cases((number == zero, ibis.literal(False)), (number == one, ibis.literal(True)), else_=no("boolean"))  # noqa: FBT003 - literals


def _known(raw: "ir.Value", kind: Category | Text, dialect: Dialect) -> "ir.Value":
    """The raw text or code where it is one that is known, else null."""
    import ibis

    if isinstance(kind, Text):
        return raw.cast("string")
    if isinstance(kind.values[0], str):
        raw = raw if raw.type().is_string() else raw.cast("string")
        return ibis.cases((raw.isin(kind.values), raw), else_=no("string"))
    if raw.type().is_decimal() and raw.type().scale != 0:
        raw = dialect.from_decimal(raw)
    listed = (
        [double(float(v)) for v in kind.values]
        if raw.type().is_floating()
        else [integer_literal(int(v)) for v in kind.values]
    )
    return ibis.cases((raw.isin(listed), raw.cast("int64")), else_=no("int64"))


# ------------------------------------------------------------------------------------------------------- into bounds


class _Whole(NamedTuple):
    """Integers between two ends, however far apart: what an axis would be, were it not for sums."""

    lowest: int
    highest: int
    grid: Fraction = Fraction(1)


def _inside(number: "ir.Value", kind: Kind, dialect: Dialect) -> "ir.Value":
    """Clip a number to the bounds of its kind and return it as int64; null, NaN and infinities become null."""
    import ibis

    if isinstance(kind, Real):
        return _on_grid(number.cast("float64"), kind.low, kind.high, kind.axis, dialect)
    low, high = (int(whole_number(end, kind)) for end in _bounds(kind))
    if number.type().is_floating():
        return _on_grid(number, Fraction(low), Fraction(high), _Whole(low, high), dialect)
    below = (
        []
        if number.type().is_unsigned_integer() and low <= 0
        else [(number < integer_literal(low), integer_literal(low))]
    )
    return ibis.cases(*below, (number > integer_literal(high), integer_literal(high)), else_=number.cast("int64"))


def _bounds(kind: Kind) -> tuple[Any, Any]:
    return kind.low, kind.high  # type: ignore[attr-defined] # every kind that is a number has both


def _on_grid(x: "ir.Value", low: Fraction, high: Fraction, axis: "Axis | _Whole", dialect: Dialect) -> "ir.Value":
    """The nearest step of a double, clipped. NaN counts as largest on every engine, so it ends in the second case."""
    import ibis

    first, last = float(low), float(high)
    at_first, at_last = (_held(_nearest(end, axis), axis) for end in (first, last))
    step = _rounded(dialect.divisible(x) if axis.grid > 1 else x, axis)
    if _nearest(first, axis) < axis.lowest or _nearest(last, axis) > axis.highest:  # doubles are coarse out there
        step = ibis.cases(
            (step < integer_literal(axis.lowest), integer_literal(axis.lowest)),
            (step > integer_literal(axis.highest), integer_literal(axis.highest)),
            else_=step,
        )
    return ibis.cases(
        (x < double(first), ibis.cases((x > double(-math.inf), integer_literal(at_first)), else_=no("int64"))),
        (x > double(last), ibis.cases((x < double(math.inf), integer_literal(at_last)), else_=no("int64"))),
        else_=step,
    )


def _rounded(x: "ir.Value", axis: "Axis | _Whole") -> "ir.Value":
    scaled = x if axis.grid == 1 else x / double(float(axis.grid))
    return (scaled + double(0.5)).floor().cast("int64")


def _nearest(x: float, axis: "Axis | _Whole") -> int:
    """The same in Python: division, sum and floor of doubles are the same everywhere."""
    return math.floor(x / float(axis.grid) + 0.5)


def _held(step: int, axis: "Axis | _Whole") -> int:
    return max(axis.lowest, min(axis.highest, step))


def _bit(truth: "ir.Value") -> "ir.Value":
    import ibis

    return ibis.cases((truth, integer_literal(1)), (~truth, integer_literal(0)), else_=no("int64"))
