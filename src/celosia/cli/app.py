"""The commands, their options, and how their errors are shown.

A wrong option or a parameter without meaning ends with exit code 2 and one line, ``Error: …``, on standard error; a
traceback means a defect of ours. Local variables are never printed in one: they may hold what is not yet private.
"""

import io
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import click
import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

import celosia
from celosia.cli.account import account
from celosia.cli.collect import collect
from celosia.cli.data import data
from celosia.cli.demo import demo
from celosia.cli.guard import guard
from celosia.cli.learn import learn
from celosia.cli.ledger import ledger
from celosia.cli.limits import limits
from celosia.cli.query import query
from celosia.cli.schema import schema
from celosia.core.errors import CelosiaError

__all__ = ["app", "main"]

_SCHEMA = (
    "Ask the owner of FILE about its columns and write a schema; with --no-input, or outside a terminal, a draft.\n\n"
    "FILE is a path or glob of Parquet or CSV files, or a postgresql:// URL with --table. Bounds are suggested by "
    "names and kinds of columns, and never read from the data."
)
_QUERY = (
    "Ask FILE a question in SQL and print the private answer with its intervals.\n\n"
    "FILE is a path or glob of Parquet or CSV files, or a postgresql:// URL with --table. SQL is a SELECT of "
    "aggregates FROM the table, which goes by the name in the schema, by --table, or by the stem of the file.\n\n"
    "Without --ledger nothing is remembered between calls: every call spends anew, and what they spend adds up."
)
_LIMITS = (
    "Suggest contribution limits for a table of persons: in how many groups one person should count, and with how many "
    "rows in each.\n\n"
    "The numbers of groups and rows of persons are measured with noise, which costs --epsilon. Small limits cut off "
    "rows, large ones need more noise: both are printed for each choice."
)
_WRONG = 2
_INTERRUPTED = 130


class _Commands(TyperGroup):
    """Commands whose errors are one line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> Any:  # noqa: ANN401 - click's signature
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
            sys.stdout.flush()  # a full disk is found here, not when Python ends
        except click.ClickException as error:
            _fail(error.format_message(), _WRONG)
        except CelosiaError as error:
            _fail(str(error), _WRONG)
        except OSError as error:
            _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", _WRONG)
        except click.Abort:
            _fail("interrupted.", _INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    line = Text(f"Error: {' '.join(message.split())}", style="red")
    Console(stderr=True).print(line, soft_wrap=True)
    sys.exit(code)


app = typer.Typer(
    cls=_Commands,
    name="celosia",
    add_completion=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The command line as an object, for tests and for documentation."""


app.add_typer(account)
app.add_typer(ledger)
app.add_typer(guard)
app.add_typer(data)
app.add_typer(collect)
app.add_typer(learn)
app.command("schema", help=_SCHEMA)(schema)
app.command("query", help=_QUERY)(query)
app.command("limits", help=_LIMITS)(limits)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"celosia {celosia.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _celosia(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Learn from data about people without exposing anyone."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("demo")
def _demo(
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="What each answer may cost: 1, 0.1 or 1/3. Smaller is more private.")
    ] = "1",
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where the charts and the report go.")] = Path(
        "celosia-demo"
    ),
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Repeat the same noise every time. For teaching: protects nobody.")
    ] = None,
    charts: Annotated[
        bool, typer.Option("--charts/--no-charts", help="Whether to draw charts and write a report.")
    ] = True,
) -> None:
    """Ask about 200,000 synthetic deaths until the budget is used up, and attack them with and without privacy."""
    demo(epsilon=epsilon, output=output if charts else None, seed=seed)


def main() -> None:
    """Run the command line on ``sys.argv`` and exit.

    >>> import sys
    >>> sys.argv = ["celosia", "--version"]
    >>> main()
    Traceback (most recent call last):
    ...
    SystemExit: 0
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no epsilon shows a question mark
    app(prog_name="celosia")
