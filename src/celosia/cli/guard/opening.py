"""Common parts of the ``celosia guard`` commands: the configuration option and output.

Messages go to standard error; output for pipes (a key, JSON, a table) goes to standard output.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from celosia.cli.language import translate
from celosia.cli.terminal import ask_yes_or_no, print_line, print_whole
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message, join_messages

if TYPE_CHECKING:
    from celosia.guard.service import Guard

ConfigOption: TypeAlias = Annotated[
    Path, typer.Option("--config", metavar="FILE", envvar="CELOSIA_GUARD", help="The guard's configuration.")
]
"""The option that names the configuration."""

YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", help="Go on without a question.")]
"""The option that confirms what cannot be undone."""


@contextmanager
def open_guard(config: Path) -> "Iterator[Guard]":
    """Open the guard of a configuration."""
    from celosia.guard.config.settings import Config
    from celosia.guard.service import Guard

    with Guard.open(Config.read(config), create=False) as guard:
        yield guard


def has_terminal() -> bool:
    """Whether there is a terminal to ask on."""
    return sys.stdin.isatty()


def confirm(act: Message, *, yes: bool) -> None:
    """Ask on the terminal whether an act is meant; without a terminal ``--yes`` must say so."""
    if yes:
        return
    if not has_terminal():
        raise ParameterError("cli.not_confirmed", act=act)
    if not ask_yes_or_no(join_messages([act, Message("cli.confirm")]), default=False, stderr=True):
        raise typer.Exit(1)


def print_message(words: str) -> None:
    """Print a message on standard error, in the language of the command line."""
    print_line(words, style="dim", stderr=True)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; cells are printed literally, without markup, and never truncated."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for title in titles:
        table.add_column(translate(title))
    for row in rows:
        table.add_row(*row)
    print_whole(table)
