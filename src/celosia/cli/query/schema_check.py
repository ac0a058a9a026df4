"""``celosia schema --check``: whether a schema fits the columns of a table, and how many cells it cannot read.

The counts are true counts, printed for the owner of the file. Categories and column names are the schema's own; no
value of a row is printed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid

from celosia.cli.account.show import waiting
from celosia.cli.language import say, translate, write_number
from celosia.cli.tables import refuse_nameless
from celosia.cli.terminal import print_line, print_whole, printable
from celosia.core.errors import SchemaError
from celosia.core.messages.message import Message, Numeral, separate

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
    with waiting("cli_query.reading_cells"):
        found = declared.table(file, name=table)
        counts = count_cells(found)
    print_whole(_grid(counts))
    print_line(_about_rows(counts))
    _refuse_unreadable(check, counts, at_most)
    print_line(_describe_fit(found, check))


def _grid(counts: "CellCounts") -> Grid:
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    titles = {"cli_query.column": False, "cli_query.kind": False, "cli_query.filled": True, "cli_query.empty": True}
    titles |= {"cli_query.unreadable": True, "cli_query.share": True, "cli_query.unused_categories": False}
    for code, number in titles.items():
        grid.add_column(say(code), justify="right" if number else "left", no_wrap=number)
    for one in counts.columns:
        row = (
            one.name,
            one.kind,
            write_number(one.filled),
            write_number(counts.rows - counts.without_person - one.filled),
            write_number(one.unreadable),
        )
        grid.add_row(*map(printable, (*row, translate(_percent(one.share)), _list_values(one.unused))))
    return grid


def _list_values(values: tuple[str | int, ...]) -> str:
    shown = ", ".join(map(str, values[:_MAX_LISTED]))
    if len(values) <= _MAX_LISTED:
        return shown
    return say("cli_query.and_more", values=shown, number=len(values) - _MAX_LISTED)


def _about_rows(counts: "CellCounts") -> Message:
    words = Message("cli_query.rows", rows=counts.rows)
    if counts.without_person:
        words = Message("cli_query.rows_without_person", words=words, number=counts.without_person)
    if counts.lost:
        words = Message("cli_query.rows_lost", words=words, number=counts.lost)
    return Message("cli_query.counts_without_noise", words=words)


def _refuse_unreadable(check: Path, counts: "CellCounts", at_most: float) -> None:
    shares = [(one.share, one.name) for one in counts.columns if one.share > at_most]
    wrong = [Message("cli.share_of_column", share=_percent(share), column=name) for share, name in shares]
    if counts.lost_share > at_most:
        wrong.insert(0, Message("cli.share_of_rows", share=_percent(counts.lost_share)))
    if wrong:
        raise SchemaError("cli.schema_does_not_fit", path=check, unreadable=separate(wrong))


def _percent(share: float) -> Numeral:
    return Numeral(f"{100 * share:.2g} %" if share < 1 else "100 %")


def _describe_fit(table: "Table", check: Path) -> Message:
    number = len(table.schema)
    return Message(
        "cli_query.schema_fits",
        path=str(check),
        columns=Message("cli_query.one_column") if number == 1 else Message("cli_query.some_columns", number=number),
        table=table.name,
        names=", ".join(table.schema),
        whom=_describe_unit(table),
    )


def _describe_unit(table: "Table") -> Message:
    if table.person is None:
        return Message("cli_query.one_row_each")
    limits = {"rows": table.max_rows_per_group, "groups": table.max_groups_per_person}
    return Message("cli_query.rows_by_person", person=table.person, **limits)
