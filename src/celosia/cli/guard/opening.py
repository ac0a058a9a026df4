"""What the commands of ``celosia guard`` share: which guard is meant, and where their words go.

Words are for people and go to standard error; what can be piped onwards (a key, JSON, a table) goes to standard output.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from celosia.cli.terminal import print_line, print_whole, printable

if TYPE_CHECKING:
    from celosia.guard.service import Guard

ConfigOption: TypeAlias = Annotated[
    Path, typer.Option("--config", metavar="FILE", envvar="CELOSIA_GUARD", help="The guard's configuration.")
]
"""Which guard is meant."""


@contextmanager
def open_guard(config: Path) -> "Iterator[Guard]":
    """Open the guard that a configuration describes."""
    from celosia.guard.config.settings import Config
    from celosia.guard.service import Guard

    with Guard.open(Config.read(config), create=False) as guard:
        yield guard


def print_message(words: str) -> None:
    """Tell something on standard error."""
    print_line(words, style="dim", stderr=True)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; what comes from users is shown as it is, whatever brackets it has, and never cut."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for title in titles:
        table.add_column(Text(title))
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    print_whole(table)
