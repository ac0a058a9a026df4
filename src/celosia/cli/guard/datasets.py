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
from celosia.cli.tables import pair_keys
from celosia.cli.terminal import print_line
from celosia.core.errors import CelosiaError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.guard.datasets.cards import ColumnCard, DatasetCard, TableCard
    from celosia.guard.datasets.dataset import PublicTable

dataset = commands("dataset", "Add, list, check, update and retire data sets.")
"""The sub-command."""

_DatasetName: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="A data set.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOptions:
    """Command-line options of a data set."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, also in SQL, such as deaths.")]
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A path or glob of Parquet or CSV files, or a postgresql:// URL.")
    ]
    schema: Annotated[Path, typer.Option(metavar="SCHEMA", help="The schema file; celosia schema SOURCE drafts one.")]
    table: Annotated[str | None, typer.Option(metavar="NAME", help="The table of a database.")] = None
    title: Annotated[str, typer.Option(metavar="TEXT", help="A line for people.")] = ""
    public: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A table without personal data, to join. May be repeated.")
    ] = None
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="For each --public the join column, or columns a,b."),
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
    with open_guard(config) as guard, waiting("Looking at the columns"):
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
    print_message(
        f"Next: celosia guard budget set --dataset {options.name} --epsilon … : without one nothing can be asked."
    )


@dataset.command("list")
def _list(config: ConfigOption = Path("guard.toml")) -> None:
    """List the data sets, their sources, and their analysts."""
    from celosia.guard.addresses import hide_secrets

    with open_guard(config) as guard:
        found = guard.catalogue.all()
    rows = [
        [
            one.name,
            f"{one.version} (retired)" if one.retired else str(one.version),
            hide_secrets(one.source) + ("" if one.relation is None else f" ({one.relation})"),
            ", ".join(table.name for table in one.public) or "–",
            "all" if one.analysts is None else ", ".join(one.analysts) or "none",
        ]
        for one in found
    ]
    print_table(["Data set", "Version", "Source", "Public tables", "Analysts"], rows)


@dataset.command("show")
def _show(name: _DatasetName, config: ConfigOption = Path("guard.toml")) -> None:
    """Show the card of a data set."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        print_card(guard.dataset(Identity.local(), name))


@dataset.command("check")
def _check(config: ConfigOption = Path("guard.toml")) -> None:
    """Open every data set as a query would, and print errors."""
    with open_guard(config) as guard, waiting("Opening"):
        rows = []
        for one in guard.catalogue.all():
            if one.retired:
                continue
            try:
                guard.catalogue.check(one.name)
            except CelosiaError as error:
                rows.append([one.name, str(error)])
            else:
                rows.append([one.name, "can be opened"])
    print_table(["Data set", "State"], rows)
    if any(state != "can be opened" for _, state in rows):
        raise typer.Exit(1)


@dataset.command("version")
def _version(name: _DatasetName, yes: YesOption = False, config: ConfigOption = Path("guard.toml")) -> None:
    """Declare that the rows have changed, so that stored answers are not reused."""
    from celosia.guard.auth.identity import Identity

    with open_guard(config) as guard:
        confirm(Message("cli.act_new_version", name=name), yes=yes)
        card = guard.new_version(Identity.local(), name)
    print_message(f"{name} is now version {card.version}.")


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

    with open_guard(config) as guard, waiting("Looking at the columns"):
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
    print_message(f"{name} can be seen by {'all analysts' if analyst is None else ', '.join(analyst)}.")


def print_card(card: "DatasetCard") -> None:
    """Print the card of a data set."""
    for table in card.tables:
        print_line(f"{table.name}: {_protects(table)}", style="bold")
        rows = [[column.name, column.kind, _fields(column), _null(column)] for column in table.columns]
        print_table(["Column", "Kind", "May hold", "Without a value"], rows)
        print_line("")


def _protects(table: "TableCard") -> str:
    if table.public:
        return f"public, joined by {', '.join(table.key)}"
    if table.person is None:
        return f"one row is protected ({table.adjacency})"
    return (
        f"one person ({table.person}) is protected ({table.adjacency}), with at most {table.max_rows_per_group} rows "
        f"in each of {table.max_groups_per_person} groups"
        + ("" if table.max_rows_per_person is None else f"; no person has more than {table.max_rows_per_person} rows")
    )


def _fields(column: "ColumnCard") -> str:
    fields = dict(column.fields)
    if "values" in fields:
        return ", ".join(map(str, fields["values"]))
    if "low" not in fields:
        return "–"
    grid = f" in steps of {fields['grid']}" if "grid" in fields else ""
    return f"{fields['low']} to {fields['high']}{grid}"


def _null(column: "ColumnCard") -> str:
    return "left out" if column.null == "drop" else f"taken as {column.null}"


def _read(schema: Path) -> str:
    try:
        return schema.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError("cli.no_schema_file", path=safe_repr(str(schema))) from None
    except (OSError, UnicodeDecodeError):
        raise SchemaError("core.schema_file_not_text", path=safe_repr(str(schema))) from None
