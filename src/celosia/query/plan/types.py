"""What the values of an expression can be: a family, bounds or public values, and whether there may be none.

It is what typing rules work with, between the column kinds of a schema on one side and the kind of a derived column on
the other. Dates count in days and times in seconds since 1970, as integers. Nothing here sees data: a bound that
follows from public bounds is public.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import DROP, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.intervals import Interval, constant, of_axis, whole_between

if TYPE_CHECKING:
    from collections.abc import Callable

Scalar: TypeAlias = "bool | int | float | str | dt.date | dt.datetime | None"
"""What a literal of a query can be."""

FAMILIES: Final = {
    "number": "a number",
    "truth": "true or false",
    "text": "a text",
    "code": "a category",
    "date": "a date",
    "timestamp": "a time",
    "null": "NULL",
}
"""The families of values, and what a message calls one of them. Codes are categories that are integers."""

_FAMILIES: Final[dict[type[Kind], str]] = {
    Integer: "number",
    Real: "number",
    Boolean: "truth",
    Category: "text",
    Text: "text",
    Date: "date",
    Timestamp: "timestamp",
}
_DAY = dt.timedelta(days=1)
_SECOND = dt.timedelta(seconds=1)
_FIRST = dt.date(1970, 1, 1)
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The family of an expression, its ``interval`` if it can be ordered, its public ``values`` if it is a category.

    ``label`` is what a message calls it; ``written`` is the value of a literal.
    """

    family: str
    label: str
    interval: Interval | None = None
    values: tuple[str | int, ...] | None = None
    nullable: bool = False
    written: Scalar = None

    @property
    def literal(self) -> bool:
        """Whether it stands in the query itself."""
        return self.written is not None or self.family == "null"

    @property
    def described(self) -> str:
        """The label and the family, for a message."""
        return self.label if self.family == "null" else f"{self.label} ({FAMILIES[self.family]})"

    @property
    def ends(self) -> Interval:
        """The interval of something that can be ordered."""
        if self.interval is None:
            raise QueryError(f"{self.described} cannot be ordered or computed with.")
        return self.interval


def of_kind(kind: Kind, label: str) -> Typed:
    """Return what the clean values of a column can be."""
    family = _FAMILIES.get(type(kind))
    if family is None:
        raise ParameterError(f"kind must be a column kind such as Integer(0, 120), not {safe_repr(kind)}.")
    values = kind.values if isinstance(kind, Category) else None
    if values is not None and not isinstance(values[0], str):
        family = "code"
    return Typed(family=family, label=label, interval=_interval(kind), values=values, nullable=kind.nullable)


def of_literal(value: Scalar) -> Typed:
    """Return what a literal is."""
    label = "NULL" if value is None else safe_repr(value.isoformat() if isinstance(value, dt.date) else value)
    if value is None:
        return Typed(family="null", label=label, nullable=True)
    if isinstance(value, bool):
        return Typed(family="truth", label=label, written=value)
    if isinstance(value, str):
        return Typed(family="text", label=label, values=(value,), written=value)
    if isinstance(value, int | float):
        return Typed(family="number", label=label, interval=constant(value), written=value)
    family, number = ("timestamp", _seconds(value)) if isinstance(value, dt.datetime) else ("date", _days(value))
    return Typed(family=family, label=label, interval=constant(number), written=value)


def to_kind(typed: Typed) -> Kind:
    """Return the kind of a derived column; where it can be null, rows without a value are dropped."""
    if typed.interval is not None and not typed.interval.bounded:
        raise QueryError(
            f"{typed.label} has no bounds that follow from the schema: wrap it in CLIP(…, low, high), "
            "or in LEAST and GREATEST, with numbers that you choose."
        )
    try:
        return _MAKERS[typed.family](typed)
    except ParameterError as error:
        why = str(error)
        if typed.interval is not None:  # in the words of the query: its bounds are nobody's parameters
            low, high = float(typed.interval.low), float(typed.interval.high)
            why = f"its bounds, {low:.6g} and {high:.6g}, are too large or too close together. Wrap it in CLIP."
        raise QueryError(f"{typed.label} cannot be a column of a query: {why}") from None


def _interval(kind: Kind) -> Interval | None:
    match kind:
        case Integer(low=low, high=high):
            return whole_between(low, high)
        case Real():
            return of_axis(kind.axis)
        case Date(low=first, high=last):
            return whole_between(_days(first), _days(last))
        case Timestamp(low=start, high=end):
            return whole_between(_seconds(start), _seconds(end))
        case _:
            return None


def _number(typed: Typed) -> Kind:
    low, high = typed.ends.low, typed.ends.high
    inside = max(low, min(high, Fraction(0)))  # never used: it only says that there is always a value
    if typed.ends.is_integer:
        return Integer(int(low), int(high), null=DROP if typed.nullable else int(inside))
    if low == high:  # a constant: an axis needs two ends, and zero adds nothing to what one row can change
        low, high = (min(low, Fraction(0)), max(high, Fraction(0))) if low else (low, Fraction(1))
    return Real(low, high, null=DROP if typed.nullable else inside)


def _truth(typed: Typed) -> Kind:
    return Boolean(null=DROP if typed.nullable else False)


def _category(typed: Typed) -> Kind:
    if typed.values is None:
        return Text(null=DROP if typed.nullable else "")
    return Category(typed.values, null=DROP if typed.nullable else typed.values[0])


def _date(typed: Typed) -> Kind:
    low, high = (_FIRST + int(end) * _DAY for end in (typed.ends.low, typed.ends.high))
    return Date(low, high, null=DROP if typed.nullable else low)


def _timestamp(typed: Typed) -> Kind:
    low, high = (_MIDNIGHT + int(end) * _SECOND for end in (typed.ends.low, typed.ends.high))
    return Timestamp(low, high, null=DROP if typed.nullable else low)


def _nothing(typed: Typed) -> Kind:
    raise QueryError(
        f"{typed.label} alone has no type: give a value beside it, as in CASE WHEN … THEN 1 ELSE NULL END."
    )


def _days(date: dt.date) -> int:
    return (date - _FIRST).days


def _seconds(moment: dt.datetime) -> int:
    return (moment - _MIDNIGHT) // _SECOND


_MAKERS: Final[dict[str, Callable[[Typed], Kind]]] = {
    "number": _number,
    "truth": _truth,
    "text": _category,
    "code": _category,
    "date": _date,
    "timestamp": _timestamp,
    "null": _nothing,
}
