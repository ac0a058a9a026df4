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
from celosia.cli.language import say
from celosia.cli.terminal import print_line, print_whole
from celosia.core import Event
from celosia.core.messages.message import Message, Numeral

if TYPE_CHECKING:
    from celosia.accounting import Best

_NOTES = {
    "basic": "cli_account.by_basic",
    "optimal": "cli_account.by_optimal",
    "advanced": "cli_account.by_advanced",
    "zcdp": "cli_account.by_zcdp",
    "renyi": "cli_account.by_renyi",
    "gdp": "cli_account.by_gdp",
    "pld": "cli_account.by_pld",
}
_DIGITS = 6
_UNPRINTABLE = re.compile(r"[^ -~\n]")


def print_price(priced: PricedEvent, answer: "Best", *, as_json: bool) -> None:
    """Print the prices of an event by all accountants."""
    if as_json:
        print_json(price_object(answer) | {"priced": priced.sentence, "event": event_object(priced.event)})
        return
    console = Console(highlight=False)
    print_line(Message("cli.sentence", words=priced.sentence))
    console.print()
    print_whole(_table(answer))
    console.print()
    best = say("cli_account.epsilon_at_delta", epsilon=at_least(answer.epsilon), delta=plain_number(answer.delta))
    title = Text(f"{say('cli_account.smallest_bound')} ")
    console.print(title + Text(best, style="bold") + Text(f" ({answer.accountant})"))
    if answer.epsilon == 0:
        console.print(Text(say("cli_account.delta_covers_all"), style="dim"))
    if answer.accountant in ("optimal", "advanced", "pld"):
        console.print(Text(say("cli_account.fixed_beforehand"), style="dim"))


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
    table.add_column(say("cli_account.accountant"), no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column(say("cli_account.how"))
    for name, epsilon in answer.epsilons.items():
        if name == answer.accountant:
            table.add_row(f"{name} *", at_least(answer.epsilon), _describe(name), style="bold green")
        elif finite(epsilon) is None:
            table.add_row(name, "–", Message("cli_account.no_bound"), style="dim")
        else:
            table.add_row(name, at_least(epsilon or 0.0), _describe(name))
    return table


def _describe(accountant: str) -> str:
    return Message(_NOTES[accountant]) if accountant in _NOTES else ""


def at_least(number: float) -> Numeral:
    """Write a number with six digits, rounded up."""
    return _digits(number, ROUND_CEILING)


def at_most(number: float) -> Numeral:
    """Write a number with six digits, rounded down."""
    return _digits(number, ROUND_FLOOR)


def _digits(number: float, rounding: str) -> Numeral:
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(Decimal(repr(number)))
    text = f"{float(rounded):.{_DIGITS}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return Numeral(text)


@contextmanager
def waiting(code: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar with a message during a computation; yield a function that shows another message."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(say(code) if console.is_terminal else "", total=None)

        def show(code: str, **fields: object) -> None:
            progress.update(task, description=say(code, **fields) if console.is_terminal else "")

        yield show
