"""The tables of a command: a private table with its schema, and the keys of public tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from celosia.data import Table

FileArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A path or glob of Parquet or CSV files, a postgresql:// URL, or spark:PATH."),
]
"""The rows of a table."""

SchemaOption: TypeAlias = Annotated[
    Path, typer.Option(metavar="SCHEMA", help="The schema file of the table; celosia schema FILE drafts one.")
]
"""The schema file of a table."""

TableOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table of a database, or the name of a file in SQL.")
]
"""The name of a table."""

DatabaseTableOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table of a database, or of Spark's catalogue (spark:).")
]
"""The name of a table in a source that has several."""


def refuse_nameless(file: str) -> None:
    """Refuse a database, or Spark's catalogue, without the name of a table."""
    from celosia.data.sources.classify import has_tables

    if has_tables(file):
        raise ParameterError("cli.missing_database_table")


def open_table(file: str, schema: Path, name: str | None) -> "Table":
    """Return a private table; nothing of it is read."""
    from celosia.data.schema_file import read_schema_file

    declared = read_schema_file(schema)
    if name is None and declared.name is None:
        refuse_nameless(file)
    return declared.table(file, name=name)


def pair_keys(public: Sequence[str] | None, keys: Sequence[str] | None) -> list[tuple[str, list[str]]]:
    """Return public tables, each with the columns of its key."""
    files, given = public or [], keys or []
    if len(files) != len(given):
        raise ParameterError("cli.keys_unlike_public_tables", tables=len(files), keys=len(given))
    return [(file, key.split(",")) for file, key in zip(files, given, strict=True)]
