"""``celosia schema --check``: whether a schema fits the columns of a table, and how many cells it cannot read.

The counts are true counts, printed for the owner of the file. Categories and column names are the schema's own; no
value of a row is printed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid

from celosia.cli.account.show import waiting
from celosia.cli.tables import refuse_nameless
from celosia.cli.terminal import print_line, print_whole, printable
from celosia.core.errors import SchemaError
from celosia.core.messages.message import Message, separate

if TYPE_CHECKING:
    from celosia.data import Table
    from celosia.query.engines.readability import CellCounts

_MAX_LISTED = 10


def check_schema(check: Path, file: str, table: str | None, at_most: float) -> None:
    """Print how many cells of ``file`` the schema file ``check`` can read; refuse too many unreadable ones."""
    from celosia.data.schema_file import read_schema_file
    from celosia.query.engines.readability import count_cells

    declared = read_schema_file(check)
    if table is None and declared.name is None:
        refuse_nameless(file)
    with waiting("Reading every cell"):
        found = declared.table(file, name=table)
        counts = count_cells(found)
    print_whole(_grid(counts))
    print_line(_about_rows(counts))
    _refuse_unreadable(check, counts, at_most)
    print_line(_describe_fit(found, check))


def _grid(counts: "CellCounts") -> Grid:
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for name in ("column", "kind", "filled", "empty", "unreadable", "share", "categories that never occur"):
        number = name in ("filled", "empty", "unreadable", "share")
        grid.add_column(name, justify="right" if number else "left", no_wrap=number)
    for one in counts.columns:
        row = (
            one.name,
            one.kind,
            f"{one.filled:,}",
            f"{counts.rows - counts.without_person - one.filled:,}",
            f"{one.unreadable:,}",
        )
        grid.add_row(*map(printable, (*row, _percent(one.share), _list_values(one.unused))))
    return grid


def _list_values(values: tuple[str | int, ...]) -> str:
    shown = ", ".join(map(str, values[:_MAX_LISTED]))
    return shown if len(values) <= _MAX_LISTED else f"{shown} and {len(values) - _MAX_LISTED} more"


def _about_rows(counts: "CellCounts") -> str:
    words = f"{counts.rows:,} rows"
    if counts.without_person:
        words += f", {counts.without_person:,} of them without a person, which are left out"
    if counts.lost:
        words += f", {counts.lost:,} of them not in the declared encoding, which are left out where such a cell is read"
    return f"{words}. These counts have no noise: they are for the owner of the data, and not to be passed on."


def _refuse_unreadable(check: Path, counts: "CellCounts", at_most: float) -> None:
    shares = [(one.share, one.name) for one in counts.columns if one.share > at_most]
    wrong = [Message("cli.share_of_column", share=_percent(share), column=name) for share, name in shares]
    if counts.lost_share > at_most:
        wrong.insert(0, Message("cli.share_of_rows", share=_percent(counts.lost_share)))
    if wrong:
        raise SchemaError("cli.schema_does_not_fit", path=check, unreadable=separate(wrong))


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else "100 %"


def _describe_fit(table: "Table", check: Path) -> str:
    columns = f"{len(table.schema)} column{'s' if len(table.schema) != 1 else ''}"
    whom = (
        "every row is one person's only row"
        if table.person is None
        else f"rows are told apart by {table.person}: at most {table.max_rows_per_group} of one person in each of "
        f"{table.max_groups_per_person} groups"
    )
    return f"{check} fits: {columns} of {table.name} can be asked about ({', '.join(table.schema)}); {whom}."
