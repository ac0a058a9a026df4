"""``celosia schema``: write a schema file from the types of the columns and the answers of their owner.

In a terminal the owner answers questions (``schema_wizard``); elsewhere, and with ``--no-input``, a draft is written.
Bounds and categories are the owner's: they are never read from the rows, because the least and the greatest value of a
column are people's. Nothing is released, so nothing is spent.
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from celosia.cli.account.show import waiting
from celosia.cli.query.schema_check import check_schema
from celosia.cli.query.schema_wizard import ask_place, ask_schema
from celosia.cli.tables import FileArgument, TableOption, refuse_nameless
from celosia.cli.terminal import print_file, print_line
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError, SchemaError

_HEAD = """\
# Bounds and categories are public. Values outside the bounds are clipped to them; invalid values are left out, unless
# the column has a line such as null = 0.
"""
_FILL_IN = "Write what is publicly known of each column; bounds are never read from the data."


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

    with waiting("Looking at types"):
        draft = draft_schema(file, name=table)
    if output is None:
        print_file(draft)
    else:
        write_whole(output, draft, name="output", force=force)
        _say(str(output), to_stderr=False)
    _say(_describe_missing(draft), to_stderr=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(file: str, table: str | None, output: Path | None, *, force: bool) -> None:
    made = ask_schema(file, table)
    place = ask_place(file) if output is None else output
    write_whole(place, _HEAD + made.to_toml(), name="output", force=force)
    named = "URL" if "://" in file else shlex.quote(file)  # a URL may hold a password
    _say(f"{place} is written. Next, count the cells that cannot be read, and ask:", to_stderr=False)
    _say(f"  celosia schema {named} --check {shlex.quote(str(place))}", to_stderr=False)
    query = f'"SELECT COUNT(*) FROM {made.name}"'  # noqa: S608 - for the owner to read
    _say(f"  celosia query {named} {query} --schema {shlex.quote(str(place))} --epsilon 0.1", to_stderr=False)


def _refuse_beside_check(output: Path | None, *, force: bool) -> None:
    if output is not None or force:
        raise ParameterError("cli.check_writes_nothing")


def _describe_missing(draft: str) -> str:
    from celosia.data.schema_file import parse_schema_file

    try:
        parse_schema_file(draft)
    except SchemaError as error:
        return f"{error} {_FILL_IN}"
    return f"Nothing is missing, but look through it: which columns should be asked about? {_FILL_IN}"


def _say(text: str, *, to_stderr: bool) -> None:
    print_line(text, stderr=to_stderr)
