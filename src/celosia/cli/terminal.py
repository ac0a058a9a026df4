r"""Safe output to a terminal: nothing is cut off, and data cannot send control sequences.

Keys, names of files and answers of servers may hold any character. Unprintable ones (control characters, escape
sequences, marks that turn the direction of writing) are written as escapes such as ``\x1b``. A table that is too wide
for the terminal becomes one line for each cell; where output is no terminal, it is as wide as it needs to be, unless
``COLUMNS`` is set. Messages are written in the language of the command line.
"""

import os
import sys

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from celosia.cli.language import say, translate
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

_JOINER = "\u200d"  # not printable alone, but within an emoji
_MAX_WIDTH = 100_000
_ANSWERS = {"y": True, "yes": True, "s": True, "si": True, "sí": True, "n": False, "no": False}


def printable(text: str) -> str:
    """Return a text of one line with unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(x if x.isprintable() or x == _JOINER else x.encode("unicode_escape").decode() for x in text)


def print_line(words: str, *, style: str = "", stderr: bool = False) -> None:
    """Print one or several lines, which the terminal wraps; a message is in the language of the command line."""
    Console(stderr=stderr, highlight=False).print(Text(_lines(translate(words)), style=style), soft_wrap=True)


def print_file(text: str) -> None:
    """Print the content of a file, such as CSV: on a terminal escaped, into a pipe unchanged."""
    sys.stdout.write(_lines(text) if sys.stdout.isatty() else text)
    if not text.endswith("\n"):
        sys.stdout.write("\n")


def ask_yes_or_no(question: str, *, default: bool, stderr: bool = False) -> bool:
    """Ask until the answer is yes or no, in any language; an empty one is the default."""
    marks = say("cli.yes_or_no" if default else "cli.no_or_yes")
    while True:
        answer = click.prompt(f"{printable(translate(question))} [{marks}]", "", show_default=False, err=stderr).strip()
        if answer.casefold() in _ANSWERS:
            return _ANSWERS[answer.casefold()]
        if not answer:
            return default
        print_line(Message("cli.not_yes_or_no", value=safe_repr(answer)), style="red", stderr=stderr)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def print_whole(table: Table, console: Console | None = None) -> None:
    r"""Print a table with all of its cells, each in full.

    Cells are strings: a ``Text`` of rich has lost some control characters already, others are escaped here as well.
    Columns are wrapped between words where the terminal is narrow. Where that is not enough, every row is printed as
    lines of ``title: cell``.
    """
    console = console or Console(highlight=False)
    for column in table.columns:
        column.header = _clean(column.header)
        column.overflow = "fold"
        column._cells = [_clean(cell) for cell in column.cells]  # noqa: SLF001 - rich has no other way to change a cell
    natural = Console(width=_MAX_WIDTH, file=console.file)
    whole = Measurement.get(natural, natural.options, table).maximum
    width = console.width
    if not has_width(console):
        console.width = max(width, whole)
        console.print(table)
        console.width = width
    elif _narrowest(table, natural, whole) <= width:
        console.print(table)
    else:
        _print_down(table, console)


def has_width(console: Console) -> bool:
    """Return whether lines have a width: on a terminal, or if ``COLUMNS`` is set."""
    return console.is_terminal or bool(os.environ.get("COLUMNS"))


def _clean(cell: object) -> Text:
    if not isinstance(cell, Text):
        return Text(_lines(translate(cell) if isinstance(cell, str) else str(cell)))
    clean = _lines(cell.plain)
    return cell if clean == cell.plain else Text(clean, style=cell.style)


def _narrowest(table: Table, console: Console, whole: int) -> int:
    """Return the least width of the table without a break inside of a word."""
    spared = 0
    for column in table.columns:
        sizes = [Measurement.get(console, console.options, cell) for cell in (column.header, *column.cells)]
        widest = max(size.maximum for size in sizes)
        spared += 0 if column.no_wrap else widest - max(size.minimum for size in sizes)
    return whole - spared


def _print_down(table: Table, console: Console) -> None:
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        if number and len(table.columns) > 2:
            console.print()
        for column, cell in zip(table.columns, row, strict=True):
            if str(cell):
                title = Text(f"{column.header}: ") if table.show_header and str(column.header) else Text()
                console.print(title + (cell if isinstance(cell, Text) else Text(str(cell))), soft_wrap=True)
