"""Convert pandas columns of Python objects to typed Arrow arrays.

The kind that the schema declares decides the type: booleans with gaps are booleans, ``datetime.date`` objects are
dates, strings are parsed (``text_values``), and a value of another type is null. Everything else is a string. Person
ids must all be of one type, because ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are equal but have different strings:
one person would count as four.
"""

import datetime as dt
import numbers
import uuid
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import InputError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Timestamp
from celosia.data.sources.strings import UNREADABLE
from celosia.data.sources.text_format import TextFormat
from celosia.data.sources.text_values import parse_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import pyarrow as pa

_INT64_END: Final = 2**63
_PLAIN: Final = TextFormat()


def read_objects(
    column: "pd.Series[Any]", kind: Kind | None, *, infer: bool = False, text: TextFormat = _PLAIN
) -> "pa.Array":
    """Return objects as booleans, dates or timestamps if that is their ``kind``, else as strings.

    With ``infer`` the values decide the kind, for public columns only. ``text`` declares how strings are written.
    """
    import pyarrow as pa

    wanted = _infer(column) if infer else type(kind)
    if wanted in _PARSERS:
        word, parse = _PARSERS[wanted]
        values = [parse_text(one, word, text) if isinstance(one, str) else parse(one) for one in _list_values(column)]
        return pa.array(values, type=_arrow_type(wanted))
    if text.decimal != "." and isinstance(kind, Integer | Real | Category):
        column = column.map(lambda one: _format_decimal(one, text.decimal), na_action="ignore")
    return read_strings(column)


def read_strings(column: "pd.Series[Any]", *, person: bool = False) -> "pa.Array":
    """Return objects as strings; half a surrogate pair, which UTF-8 cannot hold, is treated as in ``strings``."""
    import pyarrow as pa

    instead = None if person else UNREADABLE
    return pa.array(
        [None if value is None else _to_string(value, instead) for value in _list_values(column)], pa.string()
    )


def read_ids(column: "pd.Series[Any]", name: str) -> "pa.Array":
    """Return person ids that are all integers, all floats, all strings or all UUIDs; refuse any other column."""
    import pyarrow as pa

    values = _list_values(column)
    types = {_id_type(value) for value in values if value is not None}
    if len(types) > 1 or None in types:
        raise InputError("data.mixed_person_types", name=safe_repr(name))
    if types == {"real"}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if types == {"integer"}:
        whole = [None if value is None else int(value) for value in values]
        if all(value is None or -_INT64_END <= value < _INT64_END for value in whole):
            return pa.array(whole, pa.int64())
    return read_strings(column, person=True)


def _id_type(value: object) -> str | None:
    match value:
        case bool():
            return None
        case str():
            return "string"
        case numbers.Integral():
            return "integer"
        case numbers.Real() if not isinstance(value, numbers.Rational):
            return "real"
        case uuid.UUID():
            return "uuid"
        case _:
            return None


def _list_values(column: "pd.Series[Any]") -> list[Any]:
    """Return the objects, with None for missing ones."""
    return [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]


def _to_string(value: object, instead: str | None) -> str | None:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return instead
    return text


def _format_decimal(value: object, decimal: str) -> object:
    """Format a number with the decimal sign of the column's strings."""
    return str(value).replace(".", decimal) if isinstance(value, numbers.Number) else value


def _to_boolean(value: object) -> bool | None:
    """Return 0 and 1 of any type as booleans, as in the other columns."""
    return bool(value) if isinstance(value, numbers.Number | np.bool_) and value in (0, 1) else None


def _to_date(value: object) -> dt.date | None:
    found = _to_timestamp(value)
    return None if found is None else found.date()


def _to_timestamp(value: object) -> dt.datetime | None:
    """Return a time in UTC; without a zone it is in UTC, and a date is its midnight."""
    if isinstance(value, dt.datetime):
        try:
            return value.replace(tzinfo=dt.UTC) if value.utcoffset() is None else value.astimezone(dt.UTC)
        except OverflowError:  # of a zone, on the first or the last day
            return None
    return dt.datetime.combine(value, dt.time(), dt.UTC) if isinstance(value, dt.date) else None


_PARSERS: "Final[dict[object, tuple[str, Callable[[Any], Any]]]]" = {
    Boolean: ("boolean", _to_boolean),
    Date: ("date", _to_date),
    Timestamp: ("timestamp", _to_timestamp),
}


def _arrow_type(kind: object) -> "pa.DataType":
    import pyarrow as pa

    return pa.bool_() if kind is Boolean else pa.date32() if kind is Date else pa.timestamp("us", tz="UTC")


def _infer(column: "pd.Series[Any]") -> type[Kind] | None:
    values = [value for value in _list_values(column) if value is not None]
    if values and all(isinstance(value, bool) for value in values):
        return Boolean
    if values and all(isinstance(value, dt.date) and not isinstance(value, dt.datetime) for value in values):
        return Date
    return None
