"""The commands, their options and their errors.

An error is one line, ``Error: …``, on standard error, and an exit code of ``exit_codes``; no traceback is printed
unless ``CELOSIA_TRACEBACK`` is set, and never with local variables, which may hold private data. A command's module is
imported when the command runs. ``--lang`` may stand anywhere, so it is taken out before click reads the rest.
"""

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any, Final, NoReturn, TextIO, cast

import click
import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

import celosia
from celosia.cli.completion import offer
from celosia.cli.examples import EXAMPLES, add_examples
from celosia.cli.exit_codes import EXIT_CODES, FAILED, INTERRUPTED, USAGE, exit_code_of
from celosia.cli.help.translation import translate_click, translate_command
from celosia.cli.language import choose_language, current_language, find_language, say, split_language, use_language
from celosia.cli.startup import start_quickly
from celosia.cli.terminal import print_line, printable
from celosia.core.errors import CelosiaError
from celosia.core.messages.message import LANGUAGES, Message
from celosia.core.messages.system_errors import describe_os_error

_DEMO = "Query 200,000 synthetic deaths until the budget is used up, and attack them with and without privacy."
_SCHEMA = (
    "Ask the owner of FILE about its columns and write a schema; with --no-input, or outside a terminal, a draft.\n\n"
    "FILE is a path or glob of Parquet or CSV files, or a postgresql:// URL with --table. Bounds are suggested by "
    "names and kinds of columns, and never read from the data."
)
_QUERY = (
    "Query FILE in SQL and print the private answer with its intervals.\n\n"
    "FILE is a path or glob of Parquet or CSV files, or a postgresql:// URL with --table. SQL is a SELECT of "
    "aggregates FROM the table, whose name is that of the schema, of --table, or the stem of the file.\n\n"
    "Without --ledger nothing is stored between calls: every call spends again, and their costs add up."
)
_LIMITS = (
    "Suggest contribution limits for a table of persons: in how many groups one person should count, and with how many "
    "rows in each.\n\n"
    "The numbers of groups and rows of persons are measured with noise, which costs --epsilon. Small limits cut off "
    "rows, large ones need more noise: both are printed for each choice."
)
_HELP: Final = {"demo": _DEMO, "schema": _SCHEMA, "query": _QUERY, "limits": _LIMITS}
_COMMANDS: Final = {
    "demo": "celosia.cli.demo.commands",
    "schema": "celosia.cli.query.schema",
    "query": "celosia.cli.query.commands",
    "limits": "celosia.cli.query.limits",
    "account": "celosia.cli.account.commands",
    "ledger": "celosia.cli.ledger.commands",
    "guard": "celosia.cli.guard.commands",
    "learn": "celosia.cli.learn.commands",
    "federated": "celosia.cli.federated.commands",
    "anonymity": "celosia.cli.anonymity.commands",
    "collect": "celosia.cli.collect.commands",
    "data": "celosia.cli.data",
}


class _Commands(TyperGroup):
    """Commands that are imported when they run, and whose errors are one line."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, with its examples."""
        if cmd_name in _COMMANDS:
            self.commands[cmd_name] = load_command(cmd_name, current_language())
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a name; for an unknown name, suggest similar ones."""
        if args and args[0] not in _COMMANDS:
            for name in _COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; its error is one line and an exit code."""
        wanted, rest = split_language(sys.argv[1:] if args is None else args)
        try:
            language = choose_language(wanted)
        except CelosiaError as error:
            with use_language(find_language(os.environ)):
                _fail(error.message, exit_code_of(error))
        with use_language(language), translate_click(language):
            run = partial(
                TyperGroup.main,
                cast("TyperGroup", translate_command(self, language)),
                *(rest, prog_name, complete_var, False, windows_expand_args),
                **extra,
            )
            return run() if not standalone_mode else _run_or_fail(run)


def _run_or_fail(run: Callable[[], Any]) -> NoReturn:
    try:
        code = run()
        sys.stdout.flush()  # raises here if the disk is full, not when Python ends
    except click.ClickException as error:
        _fail(error.format_message(), USAGE)
    except CelosiaError as error:
        _fail(error.message, exit_code_of(error))
    except OSError as error:
        _flush_or_discard()
        _fail(_describe_os_error(error), exit_code_of(error))
    except click.Abort:
        _fail(Message("cli.interrupted"), INTERRUPTED)
    except Exception as error:
        if os.environ.get("CELOSIA_TRACEBACK"):
            raise
        _fail(Message("cli.defect", kind=type(error).__name__), FAILED)  # its own words may quote the data
    sys.exit(code if isinstance(code, int) else 0)


def _describe_os_error(error: OSError) -> str:
    reason = describe_os_error(error)
    if isinstance(error.filename, str | bytes):
        return Message("cli.system_error_of_file", reason=reason, path=os.fsdecode(error.filename))
    return Message("cli.system_error", reason=reason)


@cache
def load_command(name: str, language: str) -> click.Command:
    """Return a command with its help in a language; it is built once, also where a process runs it many times."""
    return translate_command(_load(name), language)


@cache
def _load(name: str) -> click.Command:
    """Return a command with its examples."""
    found = getattr(import_module(_COMMANDS[name]), name)
    if isinstance(found, typer.Typer):
        return add_examples(typer.main.get_group(found), name)
    single = typer.Typer(add_completion=False)
    single.command(name, help=_HELP[name])(found)
    return add_examples(typer.main.get_command(single), name)


def _flush_or_discard() -> None:
    """Write what standard output still holds, or discard it: Python would try once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):  # a stream of a test has no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    line = printable(" ".join(say("cli.error", message=message).split()))
    Console(stderr=True).print(Text(line, style="red"), soft_wrap=True)
    sys.exit(code)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001 - these are Python's
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Print a warning as one line; it may quote the data, and so control characters."""
    words = message.args[0] if isinstance(message, Warning) and message.args else str(message)
    said = words if isinstance(words, str) and words else category.__name__
    print_line(Message("cli.warning", message=said), style="yellow", stderr=True)


app = typer.Typer(
    cls=_Commands,
    name="celosia",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n\n".join([f"Example: {EXAMPLES['demo'][0]}", EXIT_CODES]),
)
"""The command line as an object, for tests and for documentation."""


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
    _lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="LANGUAGE",
            help="The language of messages and help: en or es; by default that of the locale. It may also follow a "
            "command.",
            autocompletion=offer(LANGUAGES),
        ),
    ] = None,
) -> None:
    """Learn from data about people without exposing anyone."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    warnings.showwarning = _show_warning
    start_quickly(split_language(sys.argv[1:])[1])
    app(prog_name="celosia")
