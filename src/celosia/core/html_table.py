"""HTML tables for notebooks: all text is escaped, and nothing is loaded or run.

A cell may hold any text, such as a released key. Unprintable characters are written as escapes, so that none turns the
direction of a line or hides another.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Final

_MAX_ROWS: Final = 20
_MAX_CELL_LENGTH: Final = 300  # characters of a cell
_LEFT: Final = ' style="text-align: left"'
_RIGHT: Final = ' style="text-align: right"'


def draw_table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    notes: Iterable[str] = (),
    most: int = _MAX_ROWS,
) -> str:
    """Return a table with its title above and its notes below; rows beyond ``most`` are only counted.

    Numbers are aligned to the right, everything else to the left.
    """
    listed = list(rows)
    names = "".join(f"<th{_LEFT}>{_escape_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_format_cell, row))}</tr>" for row in islice(listed, most))
    above = f"<p><b>{_escape_text(title)}</b></p>" if title else ""
    rest = [f"… {len(listed) - most:,} more rows"] if len(listed) > most else []
    below = "".join(f"<p>{_escape_text(note)}</p>" for note in [*rest, *notes])
    thead = f"<thead><tr>{names}</tr></thead>" if names else ""
    return f"{above}<table>{thead}<tbody>{body}</tbody></table>{below}"


def write_value(value: object) -> str:
    """Format a value for readers: numbers with thousands separators, a dash for None."""
    match value:
        case None:
            return "–"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.6g}"
        case list() | tuple():
            return ", ".join(map(write_value, value))
        case _:
            return str(value)


def write_interval(low: object, high: object) -> str:
    """Format the two ends of an interval."""
    return f"{write_value(low)} – {write_value(high)}"


def _format_cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = write_value(value)
    if len(text) > _MAX_CELL_LENGTH:
        text = f"{text[:_MAX_CELL_LENGTH]}…"
    return f"<td{_RIGHT if number else _LEFT}>{_escape_text(text)}</td>"


def _escape_text(text: str) -> str:
    return escape(text if text.isprintable() else text.encode("unicode_escape").decode())
