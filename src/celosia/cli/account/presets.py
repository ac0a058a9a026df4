"""``celosia account presets``: three budgets to start from, and an adversary's success against each."""

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from celosia.cli.account.events import plain_number
from celosia.cli.account.options import JsonOption
from celosia.cli.account.show import at_least, print_json
from celosia.cli.terminal import print_line, print_whole


def presets(
    persons: Annotated[
        int, typer.Option(metavar="N", help="How many persons the data are about: a public number, or a guess.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Print three budgets to start from, with a delta for a number of persons, and their meaning."""
    from celosia.accounting.game import game
    from celosia.accounting.presets import PRESETS, suggest_budget

    rows = []
    for name, preset in PRESETS.items():
        budget = suggest_budget(name, persons=persons)
        rows.append((preset, budget, game(budget).success))
    if as_json:
        lines = [
            {
                "preset": preset.name,
                "epsilon": float(budget.epsilon),
                "delta": float(budget.delta),
                "success": success,
                "when": preset.when,
            }
            for preset, budget, success in rows
        ]
        print_json({"presets": lines})
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for title in ("Preset", "Budget", "Best guess is right", "When"):
        table.add_column(title)
    for preset, budget, success in rows:
        numbers = f"ε = {plain_number(budget.epsilon)}, δ = {plain_number(budget.delta)}"
        table.add_row(preset.name, numbers, f"at most {at_least(success)}", preset.when)
    print_whole(table)
    print_line(
        "The best guess is that of an adversary who knows everybody else and asks whether one person is in the data;"
        " a coin is right half of the time."
    )
