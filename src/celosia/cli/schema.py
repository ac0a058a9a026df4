"""``celosia schema``: a draft of a schema file, from the types of the columns.

Bounds and categories are for the owner to fill in; they are never read from the rows, because the least and the
greatest value of a column are somebody's. A CSV file has no types: what its first rows seem to hold is suggested to the
owner as comments. Nothing is answered, so nothing is spent.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account_show import waiting
from celosia.cli.schema_check import check_schema, refuse_nameless
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError, SchemaError

__all__ = ["refuse_nameless", "schema"]

_FILL_IN = "Write what is publicly known of each column; bounds are never read from the data."


def schema(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A path or glob of Parquet or CSV files, or a postgresql:// URL.")
    ],
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="The table of a database, or what SQL calls a file.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the draft there; it must not be there yet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --output if it is there.")] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="SCHEMA", help="Draft nothing: count the cells that cannot be read as this schema says."),
    ] = None,
    unreadable_at_most: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="With --check: fail if a column has a larger share.")
    ] = 0.01,
) -> None:
    """Draft a schema for ``file`` from the types of its columns, and say what is left for its owner to fill in.

    Without ``output`` the draft is printed. With ``check`` nothing is drafted: the cells of the columns are read as a
    schema file says, and those that cannot be are counted. The counts have no noise: they are for the owner alone.

    >>> schema("nowhere.parquet")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: source: there is no file 'nowhere.parquet'.
    """
    if check is not None:
        _refuse_beside_check(output, force=force)
        check_schema(check, file, table, unreadable_at_most)
        return
    if force and output is None:
        message = "force goes with --output: without it nothing is written."
        raise ParameterError(message)
    if output is not None:
        check_place(output, name="output", force=force)
    if table is None:
        refuse_nameless(file)
    from celosia.data.draft import draft_schema

    with waiting("Looking at types"):
        draft = draft_schema(file, name=table)
    if output is None:
        print(draft, end="")  # noqa: T201 - the draft itself, for a pipe
    else:
        write_whole(output, draft, name="output", force=force)
        _say(str(output), to_stderr=False)
    _say(_what_is_missing(draft), to_stderr=True)


def _refuse_beside_check(output: Path | None, *, force: bool) -> None:
    if output is not None or force:
        message = "check only looks: leave out --output and --force."
        raise ParameterError(message)


def _what_is_missing(draft: str) -> str:
    from celosia.data.schema_file import parse_schema_file

    try:
        parse_schema_file(draft)
    except SchemaError as error:
        return f"{error} {_FILL_IN}"
    return f"Nothing is missing, but look through it: which columns should be asked about? {_FILL_IN}"


def _say(text: str, *, to_stderr: bool) -> None:
    Console(stderr=to_stderr, highlight=False).print(Text(text), soft_wrap=True)
