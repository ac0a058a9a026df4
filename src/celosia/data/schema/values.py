"""Convert the values of a schema to plain Python values: integers, booleans, categories, dates, times.

NumPy's and pandas' scalars, enumerations and other subclasses become Python's own types, so that equal schemas look and
compare alike, and so that no engine and no file gets a value that it cannot hold: integers beyond 2^62, half a
surrogate pair, a NUL, a time outside the years 1 to 9999.
"""

import datetime as dt
from collections.abc import Iterable
from itertools import islice
from typing import Final

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, is_unicode, safe_repr
from celosia.core.messages.message import Message

_MAX_INTEGER = 2**62
_MAX_CATEGORIES: Final = 1_000_000
_MAX_TEXT_LENGTH: Final = 1_000


def as_integer(value: object, *, name: str) -> int:
    """Return an integer of at most 2^62 in magnitude; a float, even 2.0, and a boolean are refused."""
    number = int(exact_integer(value, name=name, least=-_MAX_INTEGER))  # type: ignore[arg-type] # looks at the type itself
    if number > _MAX_INTEGER:
        raise ParameterError("data.integer_beyond_limit", name=name, value=safe_repr(value))
    return number


def as_boolean(value: object, *, name: str) -> bool:
    """Return a boolean, also from NumPy's."""
    plain = _to_plain(value)
    if not isinstance(plain, bool):
        raise ParameterError("core.not_a_boolean", name=name, value=safe_repr(value))
    return plain


def as_text(value: object, *, name: str) -> str:
    """Return a string that every engine can hold."""
    if not isinstance(value, str):
        raise ParameterError("core.not_a_string", name=name, value=safe_repr(value))
    text = str.__str__(value)  # of an enumeration the value, not its name
    if len(text) > _MAX_TEXT_LENGTH or "\0" in text or not is_unicode(text):
        raise ParameterError("data.text_too_long", name=name, most=_MAX_TEXT_LENGTH, value=safe_repr(text))
    return text


def as_category(value: object, *, name: str) -> str | int:
    """Return a value of a category: a string or an integer."""
    if isinstance(value, str):
        return as_text(value, name=name)
    try:
        return as_integer(value, name=name)
    except ParameterError:
        raise ParameterError("data.not_a_category_value", name=name, value=safe_repr(value)) from None


def as_categories(given: tuple[object, ...]) -> tuple[str | int, ...]:
    """Return the values of a category, given one by one or as one list: all strings or all integers, all different.

    One string is one value, not its letters.
    """
    try:
        values = tuple(as_category(value, name="Category") for value in _flatten_values(given))
    except ParameterError as error:
        raise ParameterError(error.code, **{**error.fields, "name": Message("data.value_of_category")}) from None
    if not values:
        raise ParameterError("data.empty_category")
    if len(values) > _MAX_CATEGORIES:
        raise ParameterError("data.too_many_categories", most=_MAX_CATEGORIES)
    if len(set(map(type, values))) > 1:
        raise ParameterError("data.mixed_category_types", values=safe_repr(values))
    if len(set(values)) < len(values):
        seen: set[str | int] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise ParameterError("data.category_value_twice", value=safe_repr(twice))
    return values


def as_date(value: object, *, name: str) -> dt.date:
    """Return a date, given as one or as a string; a time of day is refused."""
    plain = _to_plain(value)
    if isinstance(plain, str):
        try:
            plain = dt.date.fromisoformat(plain)
        except ValueError:
            plain = None
    if isinstance(plain, dt.date) and not isinstance(plain, dt.datetime):
        return dt.date(plain.year, plain.month, plain.day)
    raise ParameterError("data.not_a_date", name=name, value=safe_repr(value))


def as_timestamp(value: object, *, name: str) -> dt.datetime:
    """Return a time in UTC, truncated to the second; without a zone it is in UTC, and a date is its first second."""
    plain = _to_plain(value)
    try:
        if isinstance(plain, str):
            plain = dt.datetime.fromisoformat(plain)
        if isinstance(plain, dt.datetime):
            return _to_utc(plain)
        if isinstance(plain, dt.date):
            return dt.datetime(plain.year, plain.month, plain.day, tzinfo=dt.UTC)
    except (ValueError, TypeError, OverflowError):  # no time, pandas' "not a time", outside the years 1 to 9999
        pass
    raise ParameterError("data.not_a_timestamp", name=name, value=safe_repr(value))


def _to_utc(moment: dt.datetime) -> dt.datetime:
    # Member by member: pandas has a subclass with nanoseconds.
    second = dt.datetime(
        moment.year,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
        tzinfo=moment.tzinfo,
        fold=moment.fold,
    )
    # A zone may have no offset; Python would then take the computer's own.
    return second.replace(tzinfo=dt.UTC, fold=0) if second.utcoffset() is None else second.astimezone(dt.UTC)


def _flatten_values(given: tuple[object, ...]) -> Iterable[object]:
    if len(given) != 1 or isinstance(given[0], str | bytes) or not isinstance(given[0], Iterable):
        return given
    if isinstance(given[0], set | frozenset):
        raise ParameterError("data.category_values_unordered")
    try:
        return tuple(islice(given[0], _MAX_CATEGORIES + 1))  # a generator may have no end
    except TypeError:  # an array without dimensions
        return given


def _to_plain(value: object) -> object:
    """Convert a NumPy scalar to Python's own type."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
