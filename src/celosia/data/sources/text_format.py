"""The text format of a source: delimiter, encoding, decimal sign, dates and nulls.

The owner declares it, like bounds and categories; queries guess nothing from the rows. ``delimiter`` and ``encoding``
are of CSV files. The other options define how strings are parsed as numbers, dates and nulls in every source: a column
of strings in a Parquet file, a frame or a database is read like the cells of a CSV file.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import is_unicode, safe_repr

ENCODINGS: Final = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "iso-8859-15"),
    *("windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "cp437", "cp850", "mac-roman"),
)
"""The encodings that a CSV file can be declared to have."""

DIRECTIVES: Final = ("%d", "%m", "%Y", "%y", "%H", "%M", "%S")
"""The parts of a ``date_format`` besides separators: day, month, year, two-digit year, hour, minute, second."""

_SEPARATORS: Final = frozenset(" /-.:,_")
_MAX_ITEMS = 100  # of date_format and of null_values
_MAX_ITEM_LENGTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """A declared text format; by default UTF-8, a decimal point and ISO dates.

    ``delimiter`` of None is the one that splits the header of a CSV file into most names. Dates are parsed by the first
    of the formats in ``date_format`` that fits. Empty cells of a CSV file are null besides the ``null_values``.

    >>> TextFormat(decimal=",", date_format="%d/%m/%Y", null_values=["NA"]).date_format
    ('%d/%m/%Y',)
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    date_format: str | Sequence[str] = ()
    null_values: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_delimiter(self.delimiter)
        if self.decimal not in (".", ","):
            raise ParameterError("data.invalid_decimal_sign", decimal=safe_repr(self.decimal))
        formats = _check_strings(self.date_format, "date_format")
        for one in formats:
            _check_date_format(one)
        nulls = _check_strings(self.null_values, "null_values")
        values = {"encoding": _normalize_encoding(self.encoding), "date_format": formats, "null_values": nulls}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, as plain values.

        >>> TextFormat(decimal=",", encoding="Latin1").to_dict()
        {'encoding': 'latin-1', 'decimal': ','}
        """
        found = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


_BY_CODEC: Final = {codecs.lookup(name).name: name for name in ENCODINGS}


def _normalize_encoding(value: object) -> str:
    try:
        found = _BY_CODEC.get(codecs.lookup(str(value)).name) if isinstance(value, str) else None
    except (LookupError, ValueError):
        found = None
    if found is None:
        raise ParameterError("data.unknown_encoding", known=", ".join(ENCODINGS), value=safe_repr(value))
    return found


def _check_delimiter(value: object) -> None:
    if value is None:
        return
    sign = value if isinstance(value, str) and len(value) == 1 else '"'
    if not sign.isascii() or sign.isalnum() or sign in "\"'\\\r\n\0.+-":
        raise ParameterError("data.invalid_delimiter", value=safe_repr(value))


def _check_strings(value: object, name: str) -> tuple[str, ...]:
    items = (value,) if isinstance(value, str) else value
    if (
        not isinstance(items, Sequence)
        or len(items) > _MAX_ITEMS
        or not all(isinstance(item, str) and len(item) <= _MAX_ITEM_LENGTH and _is_storable(item) for item in items)
    ):
        raise ParameterError("data.not_a_text_list", name=name, most=_MAX_ITEMS, value=safe_repr(value))
    return tuple(items)


def _is_storable(text: str) -> bool:
    return "\0" not in text and is_unicode(text)


def _check_date_format(text: str) -> None:
    signs = split_format(text)
    named = [sign for sign in signs if len(sign) > 1]
    once = len(named) == len(set(named)) and ("%Y" in named) != ("%y" in named)
    known = all(sign in DIRECTIVES or sign in _SEPARATORS or (sign.isascii() and sign.isalpha()) for sign in signs)
    if not known or not once or not {"%d", "%m"} <= set(named) or ("%M" in named) != ("%H" in named):
        raise ParameterError("data.invalid_date_format", known=", ".join(DIRECTIVES), value=safe_repr(text))
    if "%S" in named and "%M" not in named:
        raise ParameterError("data.seconds_without_minutes", value=safe_repr(text))


def split_format(text: str) -> list[str]:
    """Return the directives and the separators of a date format, in order."""
    found, place = [], 0
    while place < len(text):
        size = 2 if text[place] == "%" else 1
        found.append(text[place : place + size])
        place += size
    return found
