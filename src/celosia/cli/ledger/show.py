"""Print the budgets of ``celosia ledger``, as a table or as JSON.

In the table, long numbers are rounded; in JSON a guarantee is its record, with exact numbers.
"""

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from celosia.cli.costs import cost, left, name_kind
from celosia.cli.language import say
from celosia.cli.terminal import print_line, print_whole, printable
from celosia.core import Guarantee, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.ledger import StatementLine


def format_guarantee(guarantee: Guarantee) -> str:
    """Format the numbers of a guarantee on one line."""
    if isinstance(guarantee, RenyiDP):
        return say("cli_ledger.curve", orders=len(guarantee.orders))
    return cost(guarantee)


def print_statement(lines: "Sequence[StatementLine]") -> None:
    """Print budgets as a table, with the spending by kind below each."""
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    codes = ("cli_ledger.data_set", "cli_ledger.analyst", "cli_ledger.limit", "cli_ledger.spent", "cli_ledger.left")
    for code in (*codes, "cli_ledger.accountant"):
        table.add_column(say(code))
    for line in lines:
        scope = (line.scope.dataset, line.scope.analyst)
        dataset, analyst = (printable(name or say("cli_ledger.any")) for name in scope)
        row = [
            dataset,
            analyst,
            format_guarantee(line.policy.limit),
            format_guarantee(line.spent),
            left(line.remaining),
        ]
        table.add_row(*map(Text, [*row, str(line.policy.accountant)]))
        for total in line.kinds or ():
            kind = ["", name_kind(total), "", format_guarantee(total.cost), "", ""]
            table.add_row(*(Text(text, style="dim") for text in kind))
        if line.policy.window is not None and line.window_spent and line.window_remaining and line.renews:
            span = say("cli_ledger.until", time=f"{line.renews:%Y-%m-%d %H:%M}")
            window = [
                "",
                span,
                format_guarantee(line.policy.window.limit),
                format_guarantee(line.window_spent),
                left(line.window_remaining),
            ]
            table.add_row(*(Text(text, style="dim") for text in [*window, ""]))
    print_whole(table)
    for note in {line.sum_note for line in lines if line.sum_note}:
        print_line(note, style="dim")
