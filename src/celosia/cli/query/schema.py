"""``celosia schema``: write a schema file from the types of the columns and the answers of their owner.

In a terminal the owner answers questions (``schema_wizard``); elsewhere, and with ``--no-input``, a draft is written.
Bounds and categories are the owner's: they are never read from the rows, because the least and the greatest value of a
column are people's. Nothing is released, so nothing is spent.
"""

import shlex
import sys
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from celosia.cli.account.show import waiting
from celosia.cli.language import current_language, say
from celosia.cli.query.schema_check import check_schema
from celosia.cli.query.schema_wizard import ask_place, ask_schema
from celosia.cli.tables import FileArgument, TableOption, refuse_nameless
from celosia.cli.terminal import print_file, print_line
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.messages.message import Message, join_messages

_WIDTH = 118


def schema(
    file: FileArgument,
    table: TableOption = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the schema to this file, which must not exist.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --output if it exists.")] = False,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Ask nothing: write a draft to fill in, as outside a terminal.")
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="SCHEMA", help="Draft nothing: count the cells that this schema cannot read."),
    ] = None,
    unreadable_at_most: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="With --check: fail if a column has a larger share.")
    ] = 0.01,
) -> None:
    """Ask the owner of ``file`` about its columns, or draft a schema from their types.

    Without ``output`` a draft is printed. With ``check`` nothing is drafted: the command counts the cells that a schema
    file cannot read. The counts have no noise: they are for the owner only.
    """
    if check is not None:
        _refuse_beside_check(output, force=force)
        check_schema(check, file, table, unreadable_at_most)
        return
    if force and output is None:
        raise ParameterError("cli.force_without_output")
    if output is not None:
        check_place(output, name="output", force=force)
    if table is None:
        refuse_nameless(file)
    if not no_input and _is_terminal():
        _ask(file, table, output, force=force)
        return
    from celosia.data.drafting.draft import draft_schema

    with waiting("cli_query.looking_at_types"):
        draft = draft_schema(file, name=table, language=current_language())
    if output is None:
        print_file(draft)
    else:
        write_whole(output, draft, name="output", force=force)
        print_line(str(output))
    print_line(_describe_missing(draft), stderr=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(file: str, table: str | None, output: Path | None, *, force: bool) -> None:
    made = ask_schema(file, table)
    place = ask_place(file) if output is None else output
    head = textwrap.fill(
        say("cli_query.head_of_schema"), _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    write_whole(place, f"{head}\n{made.to_toml()}", name="output", force=force)
    named = "URL" if "://" in file else shlex.quote(file)  # a URL may hold a password
    print_line(Message("cli_query.schema_written", path=str(place)))
    print_line(f"  celosia schema {named} --check {shlex.quote(str(place))}")
    query = f'"SELECT COUNT(*) FROM {made.name}"'  # noqa: S608 - for the owner to read
    print_line(f"  celosia query {named} {query} --schema {shlex.quote(str(place))} --epsilon 0.1")


def _refuse_beside_check(output: Path | None, *, force: bool) -> None:
    if output is not None or force:
        raise ParameterError("cli.check_writes_nothing")


def _describe_missing(draft: str) -> Message:
    from celosia.data.schema_file import parse_schema_file

    try:
        parse_schema_file(draft)
    except SchemaError as error:
        return join_messages([error.message, Message("cli_query.fill_in")])
    return join_messages([Message("cli_query.nothing_missing"), Message("cli_query.fill_in")])
