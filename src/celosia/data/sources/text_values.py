"""Parse strings as numbers, booleans, dates or timestamps: one grammar for every engine.

The grammar is a set of regular expressions with one meaning in DuckDB (RE2), PostgreSQL, Java and Python: no
backslashes, no greedy choice between two readings. A string that does not match is null, never an error. Booleans are
``true``, ``t``, ``yes``, ``y``, ``1`` and their opposites, in any case, and the Spanish words: ``sí``, ``si``, ``s``,
``verdadero``, ``v`` and theirs. Dates are ``2021-12-31`` or ``2021/12/31``, timestamps have ``10:30`` or ``10:30:59.5``
behind them, and perhaps ``Z`` or ``+01:00``; without a zone they are in UTC. With a declared ``date_format`` only its
formats are read. Years have four digits.
"""

import datetime as dt
import functools
import itertools
import re
from typing import Final

from celosia.data.sources.text_format import TextFormat, split_format

_YES: Final = "[yY][eE][sS]|[yY]|[sS][iI]|[sS][iI]\u0301|[sS]í|[sS]Í|[sS]"  # no class with í, which can be two bytes
TRUE: Final = f"^[ ]*([tT][rR][uU][eE]|[tT]|[vV][eE][rR][dD][aA][dD][eE][rR][oO]|[vV]|{_YES}|1)[ ]*$"
"""Strings that mean true, in English or Spanish."""

FALSE: Final = "^[ ]*([fF][aA][lL][sS][eE]|[fF][aA][lL][sS][oO]|[fF]|[nN][oO]|[nN]|0)[ ]*$"
"""Strings that mean false, in English or Spanish."""

MAX_NUMBER_LENGTH: Final = 100
"""The most characters of a string that is parsed as a number."""

DateRewrite = tuple[str, str, str]
"""A pattern, and templates of its groups ``{1}``, ``{2}`` ...: an ISO date, and an ISO timestamp in UTC."""

_MONTH, _DAY = "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])"
_HOUR, _SIXTY = "([01]?[0-9]|2[0-3])", "([0-5][0-9])"
_LOOSE: Final = {"%d": _DAY, "%m": _MONTH, "%Y": "([1-9][0-9]{3})", "%H": _HOUR, "%M": _SIXTY, "%S": _SIXTY}
_TIGHT: Final = {"%d": "(0[1-9]|[12][0-9]|3[01])", "%m": "(0[1-9]|1[0-2])", "%H": "([01][0-9]|2[0-3])"}
_CENTURIES: Final = {"19": "(69|[7-9][0-9])", "20": "([0-5][0-9]|6[0-8])"}  # as POSIX reads two digits
_ISO_DAY: Final = f"(?:[1-9][0-9]{{3}}-{_MONTH}-{_DAY}|[1-9][0-9]{{3}}/{_MONTH}/{_DAY})"
_ISO_TIME: Final = f"[ T]{_HOUR}:{_SIXTY}(?::{_SIXTY}(?:[.][0-9]{{1,9}})?)?"
_LAST: Final = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
_ISO_ZONE: Final = "(?:Z|[+-](?:0[0-9]|1[0-4])(?::[0-5][0-9])?)"


ISO_DATE: Final = f"^[ ]*{_ISO_DAY}(?:{_ISO_TIME}{_ISO_ZONE}?)?[ ]*$"
"""ISO strings that begin with a date, with or without a time."""


def number(decimal: str) -> str:
    """Return the pattern of numbers with a decimal point or a decimal comma."""
    return f"^[ ]*[+-]?([0-9]+[{decimal}]?[0-9]*|[{decimal}][0-9]+)([eE][+-]?[0-9]{{1,3}})?[ ]*$"


def date_patterns() -> tuple[str, str, str]:
    """Return the patterns of ISO strings: a date alone, one with a time, one with a time and a zone."""
    return f"^[ ]*{_ISO_DAY}[ ]*$", f"^[ ]*{_ISO_DAY}{_ISO_TIME}[ ]*$", f"^[ ]*{_ISO_DAY}{_ISO_TIME}{_ISO_ZONE}[ ]*$"


@functools.cache
def date_rewrites(formats: tuple[str, ...]) -> tuple[DateRewrite, ...]:
    """Return the patterns of declared formats, each with its ISO templates."""
    return tuple(
        _rewrite(signs, century)
        for signs in map(split_format, formats)
        for century in (_CENTURIES if "%y" in signs else ("",))
    )


def _rewrite(signs: list[str], century: str) -> DateRewrite:
    beside = [*itertools.pairwise(["", *signs]), (signs[-1], "")]
    parts: list[str] = []
    places: dict[str, str] = {}
    for place, sign in enumerate(signs):
        if len(sign) == 1:
            parts.append(f"[{sign}]")
            continue
        # Without a separator between them, numbers need exactly two digits.
        tight = len(beside[place][0]) > 1 or len(beside[place + 1][1]) > 1
        loose = _CENTURIES[century] if sign == "%y" else _LOOSE[sign]
        parts.append(_TIGHT.get(sign, loose) if tight else loose)
        places["%Y" if sign == "%y" else sign] = f"{{{len(places) + 1}}}"
    day = f"{century}{places['%Y']}-{places['%m']}-{places['%d']}"
    time = ":".join(places.get(sign, "00") for sign in ("%H", "%M", "%S"))
    return f"^[ ]*{''.join(parts)}[ ]*$", day, f"{day} {time}Z"


# ------------------------------------------------------------------------------------------------------- in Python


def parse_text(text: str, wanted: str, form: TextFormat) -> float | bool | dt.date | dt.datetime | None:
    """Parse a string as ``float64``, ``boolean``, ``date`` or ``timestamp``, or return None, as every engine does."""
    if text in form.null_values:
        return None
    match wanted:
        case "float64":
            if len(text) > MAX_NUMBER_LENGTH or not _match(number(form.decimal), text):
                return None
            return float(text.replace(",", "."))
        case "boolean":
            return True if _match(TRUE, text) else False if _match(FALSE, text) else None
        case _:
            return _parse_time(text, wanted, form)


def _parse_time(text: str, wanted: str, form: TextFormat) -> dt.date | None:
    day, moment = _to_iso(text, form)
    try:
        if wanted == "date":
            return None if day is None else dt.date(*map(int, day.split("-")))
        return None if moment is None else _parse_iso(moment)
    except ValueError:  # there is no 30th of February
        return None


def _to_iso(text: str, form: TextFormat) -> tuple[str | None, str | None]:
    """Return the ISO date and timestamp of a string."""
    if form.date_format:
        for pattern, day, moment in date_rewrites(tuple(form.date_format)):
            found = _match(pattern, text)
            if found:
                groups = ("", *found.groups())
                return day.format(*groups), moment.format(*groups)
        return None, None
    plain = text.strip(" ").replace("/", "-")
    ends = (" 00:00:00Z", "Z", "")
    fitting = [end for pattern, end in zip(date_patterns(), ends, strict=True) if _match(pattern, text)]
    return (re.split("[ T]", plain)[0], plain + fitting[0]) if fitting else (None, None)


def _parse_iso(iso: str) -> dt.datetime:
    day, clock, zone = re.fullmatch(r"([0-9-]+)[ T]([0-9:]+)(?:[.][0-9]+)?(Z|[+-].*)", iso).groups()  # type: ignore[union-attr] # it was made so
    hours, minutes, seconds = map(int, f"{clock}:00".split(":")[:3])
    date = dt.date(*map(int, day.split("-")))
    found = dt.datetime.combine(date, dt.time(hours, minutes, seconds), dt.UTC)
    if zone == "Z":
        return found
    ahead, _, rest = zone[1:].partition(":")
    offset = dt.timedelta(hours=int(ahead), minutes=int(rest or 0))
    try:
        return found + offset if zone[0] == "-" else found - offset
    except OverflowError:  # on the last day; engines know later years, and clip them
        return _LAST


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern[:-1] + r"\Z", text)  # "$" would let a line break pass
