"""An answer as a table: each number with its interval, and no more digits than the interval justifies.

Downloaded files have all digits. In CSV, a string that a spreadsheet would read as a formula begins with an apostrophe:
released keys may be any string.
"""

import csv
import datetime as dt
import io
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.messages.numerals import decimals_for, format_number
from celosia.guard.log.export import escape_formula

if TYPE_CHECKING:
    from celosia.query.release import TableRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The heading of a column: a key, a number with or without an interval, or the interval of a true value."""

    name: str
    key: bool = False
    number: bool = False
    interval: bool = False
    true: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """Headings, and rows of pairs: the text of a cell, and its interval or an empty string."""

    headings: tuple[Heading, ...]
    rows: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def is_stacked(self) -> bool:
        """Whether intervals go below their numbers, because they do not fit beside them."""
        return sum(heading.interval for heading in self.headings) > 1


def answer_table(release: "TableRelease", code: str, level: float) -> AnswerTable:
    """Return the table of an answer, with intervals of a level and numbers in a language's format."""
    headings, columns = [], []
    for name in release.value.column_names:
        values = release.value[name].to_pylist()
        key = name in release.keys
        number = not key and any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        headings.append(Heading(name=name, key=key, number=number, interval=name in release.intervals))
        if name in release.intervals:
            columns.append(_with_interval(values, release.intervals[name](level), code))
            true = (release.true_intervals or {}).get(name)
            if true is not None:
                headings.append(Heading(name=name, number=number, true=True))
                columns.append([(interval, "") for _, interval in _with_interval(values, true(level), code)])
        else:
            columns.append([(_format_value(value, code, key=key), "") for value in values])
    return AnswerTable(headings=tuple(headings), rows=tuple(zip(*columns, strict=True)))


def _with_interval(values: list[Any], ends: "tuple[Any, Any]", code: str) -> list[tuple[str, str]]:
    low, high = (end.tolist() for end in ends)
    if any(not isinstance(value, int | float | None) for value in values):  # dates and categories
        around = [
            f"{_format_value(a, code, key=True)} – {_format_value(b, code, key=True)}"
            for a, b in zip(low, high, strict=True)
        ]
        return [(_format_value(value, code, key=True), text) for value, text in zip(values, around, strict=True)]
    whole = all(isinstance(value, int) for value in values)
    if whole:  # widen the interval to integers
        low = [math.floor(end) if math.isfinite(end) else end for end in low]
        high = [math.ceil(end) if math.isfinite(end) else end for end in high]
    widths = [b - a for a, b in zip(low, high, strict=True) if math.isfinite(b - a) and b > a]
    decimals = 0 if whole else decimals_for(min(widths, default=0.0) / 2)
    long = any(abs(end) >= 10_000 for end in [*low, *high])

    def format_end(number: Any, rounded: str) -> str:
        if number is None:
            return "–"
        return format_number(number, code, decimals=decimals, rounded=rounded, grouped=long)

    return [
        (format_end(value, "near"), f"{format_end(a, 'down')} – {format_end(b, 'up')}")
        for value, a, b in zip(values, low, high, strict=True)
    ]


def _format_value(value: object, code: str, *, key: bool) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "true" if value else "false"
        case int() | float() if not key:  # a key is a name, also a numeric one: the year 2021 is not 2,021
            return format_number(value, code, digits=6)
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case list() | tuple():
            return ", ".join(_format_value(item, code, key=key) for item in value)
    return str(value)


def answer_csv(release: "TableRelease", level: float) -> str:
    """Return an answer as CSV; ``count`` has ``count_low`` and ``count_high`` beside it."""
    table = release.to_arrow(level)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([escape_formula(name) for name in table.column_names])
    columns = [[_csv_cell(value) for value in column.to_pylist()] for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _csv_cell(value: object) -> object:
    match value:
        case None:
            return ""
        case Fraction():
            return float(value)
        case str():
            return escape_formula(value)
        case bool():
            return "true" if value else "false"
    return value
