"""Tables in HTML, as notebooks show them: everything is escaped, and nothing is loaded or run.

What is shown may be any text, such as a key that was released. Characters that cannot be printed are written out, so
that none turns the direction of a line or hides another.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Final

_MOST_ROWS: Final = 20
_LONGEST: Final = 300  # characters of a cell
_LEFT: Final = ' style="text-align: left"'
_RIGHT: Final = ' style="text-align: right"'


def draw_table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    notes: Iterable[str] = (),
    most: int = _MOST_ROWS,
) -> str:
    """Return a table with its title above and notes below; of very many rows the first ones.

    Numbers are on the right of their cells, all else is on the left.
    """
    listed = list(rows)
    names = "".join(f"<th{_LEFT}>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(listed, most))
    above = f"<p><b>{_text(title)}</b></p>" if title else ""
    rest = [f"… {len(listed) - most:,} more rows"] if len(listed) > most else []
    below = "".join(f"<p>{_text(note)}</p>" for note in [*rest, *notes])
    thead = f"<thead><tr>{names}</tr></thead>" if names else ""
    return f"{above}<table>{thead}<tbody>{body}</tbody></table>{below}"


def write_value(value: object) -> str:
    """Return a value as it is read: numbers with marks for thousands, a dash for nothing."""
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
    """Return the two ends of an interval as they are read."""
    return f"{write_value(low)} – {write_value(high)}"


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    shown = write_value(value)
    return f"<td{_RIGHT if number else _LEFT}>{_text(shown if len(shown) <= _LONGEST else f'{shown[:_LONGEST]}…')}</td>"


def _text(text: str) -> str:
    return escape(text if text.isprintable() else text.encode("unicode_escape").decode())
