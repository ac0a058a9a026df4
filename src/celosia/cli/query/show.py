"""Print the answer of ``celosia query``: a table, CSV or JSON.

Released keys may be any string: a table escapes unprintable characters. Numbers are rounded there to what their
intervals allow; in CSV and JSON they are complete.
"""

import csv
import io
import json
import math
from dataclasses import asdict
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from celosia.cli.account.show import event_object
from celosia.cli.costs import spent
from celosia.cli.language import join_values, translate, write_number
from celosia.cli.terminal import print_whole, printable
from celosia.core.exact import exact_level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.query import Query
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease

    Interval = Callable[[float], tuple[Any, Any]]

_MAX_DECIMALS = 9


def print_table(release: "TableRelease", level: str) -> None:
    """Print an answer as a table, each number with its interval."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    columns: list[list[str]] = []
    for name in release.value.column_names:
        values = release.value[name].to_pylist()
        number = name in release.intervals or any(isinstance(value, int | float) for value in values)
        table.add_column(printable(name), justify="right" if number else "left", style="bold" if number else "")
        if name not in release.intervals:
            # A key is a name, also if it is a number: no year is written 2,021.
            columns.append([printable(str(v)) if name in release.keys else _value(v) for v in values])
            continue
        table.add_column(translate(release.name_interval(level)), justify="right")
        columns += _with_interval(values, release.intervals[name](exact_level(level)))
        true = release.true_intervals or {}
        if name in true:
            table.add_column(translate(release.name_interval(level, true=True)), justify="right")
            columns.append(_with_interval(values, true[name](exact_level(level)))[1])
    for row in zip(*columns, strict=True):
        table.add_row(*map(Text, row))
    print_whole(table)


def _with_interval(values: list[Any], ends: tuple[Any, Any]) -> tuple[list[str], list[str]]:
    """Return the values of a column and their intervals, rounded to what the intervals allow."""
    low, high = (end.tolist() for end in ends)
    if not all(isinstance(value, int | float) for value in values):  # dates and categories
        return list(map(_value, values)), [f"{_value(a)} – {_value(b)}" for a, b in zip(low, high, strict=True)]
    if all(isinstance(value, int) for value in values):  # integers, so the interval is widened to some
        low, high = list(map(math.floor, low)), list(map(math.ceil, high))
    digits = 0 if all(isinstance(number, int) for number in (*values, *low, *high)) else _decimals(low, high)
    around = [f"{_number(a, digits)} – {_number(b, digits)}" for a, b in zip(low, high, strict=True)]
    return [_number(value, digits) for value in values], around


def csv_text(release: "TableRelease", level: str) -> str:
    """Return an answer as CSV; ``count`` has ``count_low`` and ``count_high`` beside it."""
    table = release.to_arrow(level)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def answer_object(question: "Query", release: "TableRelease", level: str) -> dict[str, object]:
    """Return an answer for JSON: the rows, the intervals of each number, the guarantee and the event."""
    certain = exact_level(level)
    return {
        "question": _render_sql(question),
        "notes": list(release.notes),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in release.value.to_pylist()],
        "level": certain,
        "intervals": _intervals_object(release.intervals, certain),
        "true_intervals": _intervals_object(
            release.intervals if release.true_intervals is None else release.true_intervals, certain
        ),
        "cut_off": None if release.cut_off is None else asdict(release.cut_off),
        "spent": spent(release.guarantee),
        "guarantee": json.loads(release.guarantee.to_json()),
        "event": event_object(release.event),
    }


def _intervals_object(intervals: "Mapping[str, Interval]", level: float) -> dict[str, object]:
    ends = {name: interval(level) for name, interval in intervals.items()}
    return {
        name: [[_plain(a), _plain(b)] for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        for name, (low, high) in ends.items()
    }


def preview_object(question: "Query", preview: "Preview") -> dict[str, object]:
    """Return a preview for JSON."""
    guarantee = {"spends": spent(preview.cost), "guarantee": json.loads(preview.cost.to_json())}
    return {"question": _render_sql(question), **preview.to_dict(), **guarantee}


def _render_sql(question: "Query") -> str:
    from celosia.query.plan.to_sql import render

    return render(question.plan)


# ------------------------------------------------------------------------------------------------------------- values


def _decimals(low: list[float], high: list[float]) -> int:
    """Return the number of significant decimals: two digits of half of the narrowest interval."""
    widths = [b - a for a, b in zip(low, high, strict=True) if b > a]
    if not widths:
        return _MAX_DECIMALS
    return max(0, min(_MAX_DECIMALS, 1 - math.floor(math.log10(min(widths) / 2))))


def _number(value: float, decimals: int) -> str:
    return write_number(value, f",.{decimals}f")


def _value(value: Any) -> str:
    match value:
        case bool() | None:
            return {True: "true", False: "false", None: "–"}[value]
        case int():
            return write_number(value)
        case float():
            return write_number(value, ",.6g")
        case list():
            return join_values(map(_value, value))
        case _:
            return printable(str(value))


def _plain(value: Any) -> Any:
    match value:
        case date() | datetime():
            return value.isoformat()
        case Fraction():
            return float(value)
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return _plain(value)
