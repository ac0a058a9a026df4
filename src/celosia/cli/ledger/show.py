"""Print the budgets of ``celosia ledger``, as a table or as JSON.

In the table, long numbers are rounded; in JSON a guarantee is its record, with exact numbers.
"""

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from celosia.cli.costs import cost, left
from celosia.cli.terminal import print_whole, printable
from celosia.core import Guarantee, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.ledger import StatementLine


def format_guarantee(guarantee: Guarantee) -> str:
    """Format the numbers of a guarantee on one line."""
    if isinstance(guarantee, RenyiDP):
        return f"a curve of {len(guarantee.orders)} orders"
    return cost(guarantee)


def print_statement(lines: "Sequence[StatementLine]") -> None:
    """Print budgets as a table."""
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for name in ("data set", "analyst", "limit", "spent", "left", "accountant"):
        table.add_column(name)
    for line in lines:
        dataset, analyst = (printable(name or "any") for name in (line.scope.dataset, line.scope.analyst))
        row = [
            dataset,
            analyst,
            format_guarantee(line.policy.limit),
            format_guarantee(line.spent),
            left(line.remaining),
        ]
        table.add_row(*map(Text, [*row, str(line.policy.accountant)]))
        if line.policy.window is not None and line.window_spent and line.window_remaining and line.renews:
            span = f"until {line.renews:%Y-%m-%d %H:%M} UTC"
            window = [
                "",
                span,
                format_guarantee(line.policy.window.limit),
                format_guarantee(line.window_spent),
                left(line.window_remaining),
            ]
            table.add_row(*(Text(text, style="dim") for text in [*window, ""]))
    print_whole(table)
