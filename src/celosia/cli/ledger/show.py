"""How ``celosia ledger`` shows budgets: a table to read, or JSON and nothing else.

In the table, numbers that are long are rounded; in JSON a guarantee is its record, with exact numbers.
"""

import json
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from celosia.cli.costs import cost, left
from celosia.cli.terminal import print_whole, printable
from celosia.core import Guarantee, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.ledger import Line


def shown(guarantee: Guarantee) -> str:
    """Write a guarantee's numbers on one line."""
    if isinstance(guarantee, RenyiDP):
        return f"a curve of {len(guarantee.orders)} orders"
    return cost(guarantee)


def line_object(line: "Line") -> dict[str, Any]:
    """Return a line of a statement for JSON."""
    window = line.policy.window
    return {
        "dataset": line.scope.dataset,
        "analyst": line.scope.analyst,
        "accountant": line.policy.accountant,
        "allow_real": line.policy.allow_real,
        "limit": _record(line.policy.limit),
        "spent": _record(line.spent),
        "remaining": _record(line.remaining),
        "window": None
        if window is None
        else {
            "seconds": window.seconds,
            "limit": _record(window.limit),
            "spent": _record(line.window_spent),
            "remaining": _record(line.window_remaining),
            "renews": None if line.renews is None else line.renews.isoformat(),
        },
    }


def _record(guarantee: Guarantee | None) -> Any:
    return None if guarantee is None else json.loads(guarantee.to_json())


def print_statement(lines: "Sequence[Line]") -> None:
    """Print budgets as a table."""
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for name in ("data set", "analyst", "limit", "spent", "left", "accountant"):
        table.add_column(name)
    for line in lines:
        dataset, analyst = (printable(name or "any") for name in (line.scope.dataset, line.scope.analyst))
        row = [dataset, analyst, shown(line.policy.limit), shown(line.spent), left(line.remaining)]
        table.add_row(*map(Text, [*row, str(line.policy.accountant)]))
        if line.policy.window is not None and line.window_spent and line.window_remaining and line.renews:
            span = f"until {line.renews:%Y-%m-%d %H:%M} UTC"
            window = ["", span, shown(line.policy.window.limit), shown(line.window_spent), left(line.window_remaining)]
            table.add_row(*(Text(text, style="dim") for text in [*window, ""]))
    print_whole(table)
