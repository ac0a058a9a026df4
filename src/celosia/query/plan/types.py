"""Types of expressions: a family of values, bounds or public values, and whether null is possible.

Typing rules work on them, between the column kinds of a schema and the kind of a derived column. Dates count in days
and times in seconds since 1970, as integers. Nothing here sees data: a bound that follows from public bounds is public.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.data.schema.columns import DROP, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.intervals import Interval, constant, integers_between, of_axis

if TYPE_CHECKING:
    from collections.abc import Callable

Scalar: TypeAlias = "bool | int | float | str | dt.date | dt.datetime | None"
"""The value of a literal."""

FAMILIES: Final = {
    "number": "query.family_number",
    "truth": "query.family_boolean",
    "text": "query.family_text",
    "code": "query.family_category",
    "date": "query.family_date",
    "timestamp": "query.family_time",
}
"""The families of values with the codes of their names; NULL has none. Codes are categories that are integers."""

_FAMILIES: Final[dict[type[Kind], str]] = {
    Integer: "number",
    Real: "number",
    Boolean: "truth",
    Category: "text",
    Text: "text",
    Date: "date",
    Timestamp: "timestamp",
}
_PREFIXES: Final = frozenset({"query.label_function_of", "query.label_date_of"})
_DAY = dt.timedelta(days=1)
_SECOND = dt.timedelta(seconds=1)
_EPOCH_DAY = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Derivation:
    """Source of a computed value: the code of its label, the operation, and what it is computed from."""

    code: str
    name: str = ""
    operand: str | Derivation = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueType:
    """Type of an expression: its family, an ``interval`` if it can be ordered, ``values`` if it is a category.

    ``source`` is the expression as written, or its derivation; ``literal_value`` is the value of a literal.
    """

    family: str
    source: str | Derivation
    interval: Interval | None = None
    values: tuple[str | int, ...] | None = None
    nullable: bool = False
    literal_value: Scalar = None

    @property
    def is_literal(self) -> bool:
        """Whether the expression is a literal."""
        return self.literal_value is not None or self.family == "null"

    @property
    def label(self) -> str:
        """The name of the expression in messages; built only when an error needs it."""
        return _write_label(self.source)

    @property
    def description(self) -> str:
        """The label and the family, for a message."""
        if self.family == "null":
            return self.label
        return Message("query.described", label=self.label, family=Message(FAMILIES[self.family]))

    @property
    def ends(self) -> Interval:
        """The interval; raises if the family has no order."""
        if self.interval is None:
            raise QueryError("query.operand_not_ordered", found=self.description)
        return self.interval


def _write_label(source: str | Derivation) -> str:
    """Return the label of a source; functions of functions make one message, not messages inside one another."""
    functions = []
    while isinstance(source, Derivation) and source.code in _PREFIXES:
        functions.append(_name_derivation(source.code, name=source.name))
        source = source.operand
    if isinstance(source, Derivation):
        source = _name_derivation(source.code, name=source.name, operand=_write_label(source.operand))
    return Message("query.label_with_functions", functions=functions, operand=source) if functions else source


def _name_derivation(code: str, **parts: str) -> Message:
    return Message(code, **{name: text for name, text in parts.items() if text})


def type_of_kind(kind: Kind, label: str) -> ValueType:
    """Return the type of a column's clean values."""
    family = _FAMILIES.get(type(kind))
    if family is None:
        raise ParameterError("query.not_a_column_kind", value=safe_repr(kind))
    values = kind.values if isinstance(kind, Category) else None
    if values is not None and not isinstance(values[0], str):
        family = "code"
    return ValueType(family=family, source=label, interval=_interval(kind), values=values, nullable=kind.nullable)


def type_of_literal(value: Scalar) -> ValueType:
    """Return the type of a literal."""
    label = "NULL" if value is None else safe_repr(value.isoformat() if isinstance(value, dt.date) else value)
    if value is None:
        return ValueType(family="null", source=label, nullable=True)
    if isinstance(value, bool):
        return ValueType(family="truth", source=label, literal_value=value)
    if isinstance(value, str):
        return ValueType(family="text", source=label, values=(value,), literal_value=value)
    if isinstance(value, int | float):
        return ValueType(family="number", source=label, interval=constant(value), literal_value=value)
    family, number = ("timestamp", _seconds(value)) if isinstance(value, dt.datetime) else ("date", _days(value))
    return ValueType(family=family, source=label, interval=constant(number), literal_value=value)


def to_kind(typed: ValueType) -> Kind:
    """Return the kind of a derived column; where it can be null, rows without a value are dropped."""
    if typed.interval is not None and not typed.interval.is_bounded:
        raise QueryError("query.bounds_not_derivable", operand=typed.label)
    try:
        return _KIND_MAKERS[typed.family](typed)
    except ParameterError as error:
        why = error.message
        if typed.interval is not None:  # the caller did not pass these bounds, so the message names the query's
            low, high = float(typed.interval.low), float(typed.interval.high)
            why = Message("query.derived_bounds_unfit", low=low, high=high)
        raise QueryError("query.not_a_query_column", operand=typed.label, reason=why) from None


def _interval(kind: Kind) -> Interval | None:
    match kind:
        case Integer(low=low, high=high):
            return integers_between(low, high)
        case Real():
            return of_axis(kind.axis)
        case Date(low=first, high=last):
            return integers_between(_days(first), _days(last))
        case Timestamp(low=start, high=end):
            return integers_between(_seconds(start), _seconds(end))
        case _:
            return None


def _number(typed: ValueType) -> Kind:
    low, high = typed.ends.low, typed.ends.high
    inside = max(low, min(high, Fraction(0)))  # never used: it only declares that there is always a value
    if typed.ends.is_integer:
        return Integer(int(low), int(high), null=DROP if typed.nullable else int(inside))
    if low == high:  # a constant: an axis needs two ends, and zero adds no sensitivity
        low, high = (min(low, Fraction(0)), max(high, Fraction(0))) if low else (low, Fraction(1))
    return Real(low, high, null=DROP if typed.nullable else inside)


def _boolean(typed: ValueType) -> Kind:
    return Boolean(null=DROP if typed.nullable else False)


def _category(typed: ValueType) -> Kind:
    if typed.values is None:
        return Text(null=DROP if typed.nullable else "")
    return Category(typed.values, null=DROP if typed.nullable else typed.values[0])


def _date(typed: ValueType) -> Kind:
    low, high = (_EPOCH_DAY + int(end) * _DAY for end in (typed.ends.low, typed.ends.high))
    return Date(low, high, null=DROP if typed.nullable else low)


def _timestamp(typed: ValueType) -> Kind:
    low, high = (_EPOCH + int(end) * _SECOND for end in (typed.ends.low, typed.ends.high))
    return Timestamp(low, high, null=DROP if typed.nullable else low)


def _refuse_null(typed: ValueType) -> Kind:
    raise QueryError("query.null_has_no_type", operand=typed.label)


def _days(date: dt.date) -> int:
    return (date - _EPOCH_DAY).days


def _seconds(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // _SECOND


_KIND_MAKERS: Final[dict[str, Callable[[ValueType], Kind]]] = {
    "number": _number,
    "truth": _boolean,
    "text": _category,
    "code": _category,
    "date": _date,
    "timestamp": _timestamp,
    "null": _refuse_null,
}
