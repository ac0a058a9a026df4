"""``celosia account presets``: three budgets to start from, and an adversary's success against each."""

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from celosia.cli.account.events import plain_number
from celosia.cli.account.options import JsonOption
from celosia.cli.account.show import at_least, print_json
from celosia.cli.language import say
from celosia.cli.terminal import print_line, print_whole
from celosia.core.messages.message import Message


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
    for code in ("cli_account.preset", "cli_account.budget", "cli_account.best_guess", "cli_account.when"):
        table.add_column(say(code))
    for preset, budget, success in rows:
        most = Message("cli_account.at_most", number=at_least(success))
        numbers = {"epsilon": plain_number(budget.epsilon), "delta": plain_number(budget.delta)}
        table.add_row(preset.name, Message("cli_account.epsilon_and_delta", **numbers), most, preset.when)
    print_whole(table)
    print_line(Message("cli_account.best_guess_is"))
