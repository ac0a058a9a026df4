"""``celosia schema``: a draft of a schema file, from the types of the columns alone.

Bounds and categories are for the owner to fill in; they are never read from the rows, because the least and the
greatest value of a column are somebody's. Nothing but names and types is looked at, so nothing is spent.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account_show import waiting
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from celosia.data import Table

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
        Path | None, typer.Option(metavar="SCHEMA", help="Draft nothing: say whether this schema fits the columns.")
    ] = None,
) -> None:
    """Draft a schema for ``file`` from the types of its columns, and say what is left for its owner to fill in.

    Without ``output`` the draft is printed. With ``check`` nothing is drafted, but a schema file is looked through.

    >>> schema("nowhere.parquet")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: source: there is no file 'nowhere.parquet'.
    """
    if check is not None:
        _refuse_beside_check(output, force=force)
        with waiting("Looking at types"):
            fitting = _fitting(check, file, table)
        _say(_described(fitting, check), to_stderr=False)
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


def refuse_nameless(file: str) -> None:
    """Refuse a database of which no table was named.

    >>> refuse_nameless("postgresql://db.example/registry")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: table must be given for a database, such as --table deaths.
    """
    if "://" in file:
        message = "table must be given for a database, such as --table deaths."
        raise ParameterError(message)


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


def _fitting(check: Path, file: str, table: str | None) -> "Table":
    """Return the table that a schema makes of a source; what does not fit is refused."""
    from celosia.data.schema_file import read_schema_file

    declared = read_schema_file(check)
    if table is None and declared.name is None:
        refuse_nameless(file)
    found = declared.table(file, name=table)
    from celosia.query.summaries import open_engine

    with open_engine({found.name: found}):
        return found


def _described(table: "Table", check: Path) -> str:
    from celosia.data.files import Files

    columns = f"{len(table.schema)} column{'s' if len(table.schema) != 1 else ''}"
    whom = (
        "every row is one person's only row"
        if table.person is None
        else f"rows are told apart by {table.person}: at most {table.max_rows_per_group} of one person in each of "
        f"{table.max_groups_per_person} groups"
    )
    words = f"{check} fits: {columns} of {table.name} can be asked about ({', '.join(table.schema)}); {whom}."
    source = table.source
    if isinstance(source, Files) and source.format == "csv":
        words += (
            " A CSV file has no types, so only names were checked: it must be UTF-8, dates 2021-12-31, decimals 0.5."
        )
    return words


def _say(text: str, *, to_stderr: bool) -> None:
    Console(stderr=to_stderr, highlight=False).print(Text(text), soft_wrap=True)
