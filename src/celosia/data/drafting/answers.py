"""Parse an owner's answers about a column or a file into parts of a schema.

``celosia schema`` puts the questions in a terminal; this module serves any form that puts them. An answer that cannot
be parsed raises an error with an example.
"""

import csv
import re
from collections.abc import Mapping
from typing import Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import exact, safe_repr
from celosia.data.drafting.inspection import InspectedColumn
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import KINDS
from celosia.data.sources.text_format import TextFormat

LIMITS: Final[Mapping[str, tuple[int | None, str]]] = {
    "max_groups_per_person": (4, "data.how_many_groups"),
    "max_rows_per_group": (8, "data.how_many_rows"),
    "max_rows_per_person": (None, "data.most_rows"),
}
"""The limits on persons: a default, or None for an optional fact, and the code of the question."""

_BOUNDED: Final[dict[str, type[Integer | Real | Date | Timestamp]]] = {
    "integer": Integer,
    "real": Real,
    "date": Date,
    "timestamp": Timestamp,
}
_LETTERS: Final = re.compile("yyyy|aaaa|yy|aa|dd?|hh?|mm?|ss?", re.IGNORECASE)
_GROUPED: Final = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3}|,\d{3})+")  # 20.000 is 20 or 20000, depending on the country
_ISO: Final = "iso"
_NO_NULL_VALUES: Final = "none"


def has_bounds(kind: str) -> bool:
    """Whether a kind of column needs public bounds."""
    return kind in _BOUNDED


def suggest_kind(column: InspectedColumn) -> Kind | None:
    """Return the kind that a column's name and type suggest, or None if its owner has to declare more."""
    domain = column.domain
    if column.kind in _BOUNDED:
        complete = domain is not None and domain.high is not None
        return parse_bounds(column.kind, f"{domain.low}..{domain.high}") if domain and complete else None
    return Boolean() if column.kind == "boolean" else Text()


def parse_kind(text: str) -> str:
    """Return the name of a kind, also from its first letters."""
    wanted = text.strip().lower()
    found = [kind for kind in KINDS if wanted and kind.startswith(wanted)]
    if wanted in KINDS or len(found) == 1:
        return wanted if wanted in KINDS else found[0]
    raise ParameterError("core.unknown_kind", known=", ".join(KINDS), value=safe_repr(text))


def parse_bounds(kind: str, text: str) -> Kind:
    """Return a column of a kind between the bounds of a text, ``LOW..HIGH``; a number alone is ``0..HIGH``."""
    low, dots, high = (part.strip() for part in text.partition(".."))
    numeric = kind in ("integer", "real")
    if not dots and numeric:
        low, high = "0", low
    if not low or not high:
        example = "0..120" if numeric else "2021-01-01..2021-12-31"
        raise ParameterError("data.bound_missing", example=example, value=safe_repr(text))
    made = _BOUNDED[kind]
    return made(_parse_bound(kind, low, "low"), _parse_bound(kind, high, "high"))


def _parse_bound(kind: str, text: str, name: str) -> Any:
    if kind not in ("integer", "real"):
        return text
    if _GROUPED.fullmatch(text):
        raise ParameterError("data.ambiguous_number", name=name, value=safe_repr(text))
    number = exact(text.replace(",", ".") if text.count(",") == 1 else text, name=name)
    if kind == "real":
        return number
    if number.denominator != 1:
        raise ParameterError("data.bound_not_an_integer", name=name, value=safe_repr(text))
    return number.numerator


def parse_list(text: str) -> list[str]:
    """Return the strings between commas; quotes keep a comma inside of one."""
    try:
        [row] = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise ParameterError("data.values_not_separated_texts", value=safe_repr(text)) from None
    return [part.strip() for part in row if part.strip()]


def parse_values(text: str, *, whole: bool = False) -> Category:
    """Return a category of the values between commas; ``whole`` makes them integers, for a column of integers."""
    values = parse_list(text)
    if whole and not all(re.fullmatch("[+-]?[0-9]{1,18}", value) for value in values):
        raise ParameterError("data.values_not_integers", value=safe_repr(text))
    return Category([int(value) for value in values] if whole else values)


def change_format(form: TextFormat, name: str, text: str) -> TextFormat:
    """Return a format with one option changed to the owner's answer: ``tab``, ``dd/mm/yyyy``, ``NA, -``."""
    value: Any = text.strip()
    match name:
        case "delimiter":
            value = {"tab": "\t", r"\t": "\t", "": None, "space": " "}.get(value.lower(), value)
        case "date_format":
            value = [_parse_date_format(one) for one in parse_list(text) if one.lower() != _ISO]
        case "null_values":
            value = [] if value == _NO_NULL_VALUES else parse_list(text)
    given = {"delimiter": form.delimiter, **form.to_dict(), name: value}
    return TextFormat(**given)


def _parse_date_format(text: str) -> str:
    """Translate ``dd/mm/yyyy hh:mm`` into directives; a text with directives stays."""
    if "%" in text:
        return text
    hours = re.search("h", text, re.IGNORECASE)

    def directive(found: re.Match[str]) -> str:
        letter = found[0][0].lower()
        if letter in "ya":
            return "%Y" if len(found[0]) > 2 else "%y"
        minutes = letter == "m" and hours is not None and found.start() > hours.start()
        return "%M" if minutes else {"d": "%d", "h": "%H", "m": "%m", "s": "%S"}[letter]

    return _LETTERS.sub(directive, text)
