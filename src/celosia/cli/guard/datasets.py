"""``celosia guard dataset``: add, list, check, share, update and retire data sets.

A data set is added with its schema file; the command reads the names and types of its columns, and no row. It prints
the card that analysts will see. Passwords of a database come from the environment (``${NAME}``) and are never shown.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from celosia.cli.account.options import commands, spread
from celosia.cli.account.show import waiting
from celosia.cli.guard.opening import ConfigOption, YesOption, confirm, open_guard, print_message, print_table
from celosia.cli.tables import DatabaseTableOption, pair_keys
from celosia.cli.terminal import print_line
from celosia.core.errors import CelosiaError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.guard.datasets.dataset import PublicTable
    from celosia.guard.schema.replies import ColumnCard, DatasetCard, TableCard

dataset = commands("dataset", "Add, list, check, update and retire data sets.")
"""The sub-command."""

_DatasetName: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="A data set.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOptions:
    """Command-line options of a data set."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, also in SQL, such as deaths.")]
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A path or glob of Parquet or CSV files, a postgresql:// URL, or spark:PATH."
        ),
    ]
    schema: Annotated[Path, typer.Option(metavar="SCHEMA", help="The schema file; celosia schema SOURCE drafts one.")]
    table: DatabaseTableOption = None
    title: Annotated[str, typer.Option(metavar="TEXT", help="A line for people.")] = ""
    public: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A table without personal data, to join. May be repeated.")
    ] = None
    key: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="For each --public the join column, or columns a,b.")
    ] = None
    analyst: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only for these analysts; else for all. May be repeated.")
    ] = None

    def tables(self) -> "list[PublicTable]":
        """Return the public tables with their keys."""
        from celosia.guard.datasets.dataset import PublicTable

        return [PublicTable(source=file, key=tuple(key)) for file, key in pair_keys(self.public, self.key)]


@dataset.command("add")
@spread
def _add(options: DatasetOptions, config: ConfigOption = Path("guard.toml")) -> None:
    """Add a data set, and print its card for analysts."""
    from celosia.guard.auth.identity import Identity

    text, public = _read(options.schema), options.tables()
    with open_guard(config) as guard, waiting("cli_guard.looking_at_columns"):
        card = guard.add_dataset(
            Identity.local(),
            options.name,
            options.source,
            text,
            table=options.table,
            title=options.title,
            public=public,
            analysts=options.analyst,
        )
    print_card(card)
    print_message(Message("cli_guard.next_budget", name=options.name))


@dataset.command("list")
def _list(config: ConfigOption = Path("guard.toml")) -> None:
    """List the data sets, their sources, and their analysts."""
    from celosia.serving.addresses import hide_secrets

    with open_guard(config) as guard:
        found = guard.catalogue.all()
    rows = [
        [
            one.name,
            Message("cli_guard.version_retired", version=str(one.version)) if one.retired else str(one.version),
            hide_secrets(one.source) + ("" if one.relation is None else f" ({one.relation})"),
            ", ".join(table.name for table in one.public) or "–",
            Message("cli_guard.all") if one.analysts is None else ", ".join(one.analysts) or Message("cli_guard.none"),
        ]
        for one in found
    ]
    codes = ("cli_guard.data_set", "cli_guard.version", "cli_guard.source", "cli_guard.public_tables")
    print_table([Message(code) for code in (*codes, "cli_guard.analysts")], rows)


@dataset.command("show")
def _show(name: _DatasetName, config: ConfigOption = Path("guard.toml")) -> None:
    """Show the card of a data set."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        print_card(guard.dataset(Identity.local(), name))


@dataset.command("check")
def _check(config: ConfigOption = Path("guard.toml")) -> None:
    """Open every data set as a query would, and print errors."""
    with open_guard(config) as guard, waiting("cli_guard.opening"):
        rows, failed = [], False
        for one in guard.catalogue.all():
            if one.retired:
                continue
            try:
                guard.catalogue.check(one.name)
            except CelosiaError as error:
                rows.append([one.name, error.message])
                failed = True
            else:
                rows.append([one.name, Message("cli_guard.can_be_opened")])
    print_table([Message("cli_guard.data_set"), Message("cli_guard.state")], rows)
    if failed:
        raise typer.Exit(1)


@dataset.command("version")
def _version(name: _DatasetName, yes: YesOption = False, config: ConfigOption = Path("guard.toml")) -> None:
    """Declare that the rows have changed, so that stored answers are not reused."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        confirm(Message("cli.act_new_version", name=name), yes=yes)
        card = guard.new_version(Identity.local(), name)
    print_message(Message("cli_guard.new_version", name=name, version=card.version))


@dataset.command("update")
def _update(
    name: _DatasetName,
    source: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Other files, or another database, with rows of the same kind.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Another table of the database.")] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="SCHEMA", help="A schema file with the same person and adjacency.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="A line for people.")] = None,
    yes: YesOption = False,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Change the schema, the rows or the title of a data set, under the same budget."""
    text = None if schema is None else _read(schema)
    changes = {"source": source, "table": table, "schema": text}
    if any(value is not None for value in changes.values()):
        confirm(Message("cli.act_update", name=name), yes=yes)
    _change(name, config, title=title, **changes)


@dataset.command("retire")
def _retire(name: _DatasetName, yes: YesOption = False, config: ConfigOption = Path("guard.toml")) -> None:
    """Take no more questions about a data set. Its budget, log and answers stay."""
    confirm(Message("cli.act_retire", name=name), yes=yes)
    _change(name, config, retired=True)


@dataset.command("restore")
def _restore(name: _DatasetName, config: ConfigOption = Path("guard.toml")) -> None:
    """Let a retired data set take questions again, with what is left of its budget."""
    _change(name, config, retired=False)


def _change(name: str, config: Path, **changes: Any) -> None:
    """Change a data set as its curator, and print what the change means."""
    from celosia.guard.auth.identity import Identity
    from celosia.guard.roles import Role

    with open_guard(config) as guard, waiting("cli_guard.looking_at_columns"):
        card, notes = guard.update_dataset(Identity(name="local", role=Role.CURATOR), name, **changes)
    print_card(card)
    for note in notes:
        print_message(note)


@dataset.command("share")
def _share(
    name: _DatasetName,
    analyst: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who may see it. May be repeated; by default all analysts.")
    ] = None,
    config: ConfigOption = Path("guard.toml"),
) -> None:
    """Set which analysts may see a data set."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        guard.share_dataset(Identity.local(), name, analyst)
    whom = Message("cli_guard.all_analysts") if analyst is None else ", ".join(analyst)
    print_message(Message("cli_guard.seen_by", name=name, whom=whom))


def print_card(card: "DatasetCard") -> None:
    """Print the card of a data set."""
    for table in card.tables:
        print_line(Message("cli_guard.table_protects", table=table.name, whom=_protects(table)), style="bold")
        rows = [[column.name, column.kind, _fields(column), _null(column)] for column in table.columns]
        codes = ("cli_guard.column", "cli_guard.kind", "cli_guard.may_hold", "cli_guard.without_value")
        print_table([Message(code) for code in codes], rows)
        print_line("")


def _protects(table: "TableCard") -> Message:
    if table.public:
        return Message("cli_guard.public_table", key=", ".join(table.key))
    if table.person is None:
        return Message("cli_guard.row_protected", adjacency=table.adjacency)
    limits = {"rows": table.max_rows_per_group, "groups": table.max_groups_per_person}
    words = Message("cli_guard.person_protected", person=table.person, adjacency=table.adjacency, **limits)
    if table.max_rows_per_person is None:
        return words
    return Message("cli_guard.rows_known", words=words, rows=table.max_rows_per_person)


def _fields(column: "ColumnCard") -> str:
    fields = dict(column.fields)
    if "values" in fields:
        return ", ".join(map(str, fields["values"]))
    if "low" not in fields:
        return "–"
    ends = {"low": str(fields["low"]), "high": str(fields["high"])}
    if "grid" in fields:
        return Message("cli_guard.range_in_steps", **ends, grid=str(fields["grid"]))
    return Message("cli_guard.range", **ends)


def _null(column: "ColumnCard") -> str:
    return Message("cli_guard.left_out") if column.null == "drop" else Message("cli_guard.taken_as", null=column.null)


def _read(schema: Path) -> str:
    try:
        return schema.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError("cli.no_schema_file", path=safe_repr(str(schema))) from None
    except (OSError, UnicodeDecodeError):
        raise SchemaError("core.schema_file_not_text", path=safe_repr(str(schema))) from None
