"""Output of ``celosia account``: a table to read, or JSON and nothing else.

An epsilon in a table is rounded up, so that it stays a bound. In JSON it is the number itself. Where an accountant has
no theorem for an event, the table has a dash and the JSON ``null``.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from celosia.cli.account.events import PricedEvent, plain_number
from celosia.cli.terminal import print_line, print_whole
from celosia.core import Event

if TYPE_CHECKING:
    from celosia.accounting import Best

_NOTES = {
    "basic": "epsilons added up; needs no delta",
    "optimal": "optimal composition of pure mechanisms",
    "advanced": "advanced composition",
    "zcdp": "zero-concentrated privacy, rho added up",
    "renyi": "Rényi privacy, the best order",
    "gdp": "Gaussian privacy, squares of mu added up",
    "pld": "privacy-loss distribution, convolved",
}
_DIGITS = 6
_UNPRINTABLE = re.compile(r"[^ -~\n]")


def print_price(priced: PricedEvent, answer: "Best", *, as_json: bool) -> None:
    """Print the prices of an event by all accountants."""
    if as_json:
        print_json(price_object(answer) | {"priced": priced.sentence, "event": event_object(priced.event)})
        return
    console = Console(highlight=False)
    print_line(f"{priced.sentence}.")
    console.print()
    print_whole(_table(answer))
    console.print()
    best = Text(f"ε = {at_least(answer.epsilon)} at δ = {plain_number(answer.delta)}", style="bold")
    console.print(Text("Smallest bound: ") + best + Text(f" ({answer.accountant})"))
    if answer.epsilon == 0:
        console.print(Text("ε = 0: this δ alone covers all that neighbours can differ in.", style="dim"))
    if answer.accountant in ("optimal", "advanced", "pld"):
        console.print(Text("For events that were fixed beforehand; it is no rule for when to stop.", style="dim"))


def price_object(answer: "Best") -> dict[str, object]:
    """Return the JSON object of a price: the delta, every accountant's epsilon, and the accountant of the smallest."""
    return {
        "delta": float(answer.delta),
        "epsilon": {name: finite(epsilon) for name, epsilon in answer.epsilons.items()},
        "best": answer.accountant,
    }


def finite(number: float | None) -> float | None:
    """Return a number that JSON can hold, or None."""
    return number if number is not None and math.isfinite(number) else None


def event_object(event: Event) -> object:
    """Return an event as the object of its own JSON."""
    return json.loads(event.to_json())


def print_json(thing: dict[str, object]) -> None:
    """Print an object as JSON, one field a line."""
    text = json.dumps(thing, indent=2, ensure_ascii=False, allow_nan=False)
    print(_UNPRINTABLE.sub(_escape, text))  # noqa: T201 - what --json is for


def _escape(found: re.Match[str]) -> str:
    """Escape, as JSON does, characters that a terminal may obey: control characters and direction marks."""
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def _table(answer: "Best") -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column("Accountant", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column("How")
    for name, epsilon in answer.epsilons.items():
        if name == answer.accountant:
            table.add_row(f"{name} *", at_least(answer.epsilon), _NOTES.get(name, ""), style="bold green")
        elif finite(epsilon) is None:
            table.add_row(name, "–", "gives no bound here", style="dim")
        else:
            table.add_row(name, at_least(epsilon or 0.0), _NOTES.get(name, ""))
    return table


def at_least(number: float) -> str:
    """Write a number with six digits, rounded up."""
    return _digits(number, ROUND_CEILING)


def at_most(number: float) -> str:
    """Write a number with six digits, rounded down."""
    return _digits(number, ROUND_FLOOR)


def _digits(number: float, rounding: str) -> str:
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(Decimal(repr(number)))
    return f"{float(rounded):.{_DIGITS}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on a terminal during a computation; yield a function that changes its text."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda words: progress.update(task, description=words)
