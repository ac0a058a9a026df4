"""Output of ``celosia collect choose``: the protocol, the reason, its error, and the alternatives.

Variances are those of a count of an absent value, per person; the error for a crowd is beside them.
"""

import json
import math
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from celosia.cli.collect.show import brief, print_sentence
from celosia.cli.language import say, write_number
from celosia.cli.terminal import print_whole
from celosia.core.exact import format_exact
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.local.base.protocol import Protocol
    from celosia.local.choose import Choice

_CROWD = 10_000
_MAX_DOMAIN_LENGTH = 40  # characters of a domain in a command


def print_choice(choice: "Choice") -> None:
    """Print the chosen protocol, the reason, and the alternatives."""
    console = Console(highlight=False)
    print_sentence(console, repr(choice.protocol), "bold")
    print_sentence(console, choice.reason)
    console.print()
    kept = any(one.lifetime is not None for one in choice.alternatives)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column(say("cli_collect.protocol"))
    histories = ("cli_collect.same_changes", "cli_collect.any_histories") if kept else ()
    for code in ("cli_collect.variance", "cli_collect.bits", *histories):
        table.add_column(say(code), justify="right")
    table.add_column("", justify="right")
    for one in choice.alternatives:
        style = "bold green" if one.protocol == choice.protocol else "" if one.fits else "dim"
        lived = (one.lifetime, one.plain_lifetime)
        life = ["–" if one is None else "ε = ∞" if math.isinf(one) else f"ε = {brief(one)}" for one in lived if kept]
        fits = "" if one.fits else Message("cli_collect.too_long")
        table.add_row(one.name, brief(one.variance), write_number(one.bits), *life, fits, style=style)
    print_whole(table)
    console.print()
    chosen = next(one for one in choice.alternatives if one.protocol == choice.protocol)
    off = math.sqrt(chosen.variance * _CROWD)
    print_sentence(console, Message("cli_collect.off_by", people=_CROWD, error=brief(off)))
    command = _command(choice.protocol)
    if command:
        print_sentence(console, Message("cli_collect.to_try", command=command))


def _command(protocol: "Protocol[Any]") -> str | None:
    """Return the command that simulates a protocol, or None if the command cannot build it."""
    from celosia.local.catalogue import build, load_catalogue

    domain = getattr(protocol, "domain", getattr(protocol, "buckets", None))
    shown = str(domain) if isinstance(domain, int) else ",".join(map(str, domain or ()))
    if len(shown) > _MAX_DOMAIN_LENGTH or not shown.replace(",", "").isalnum():
        return None
    epsilon = format_exact(protocol.epsilon).strip("'")
    for name, entry in load_catalogue().items():
        known = entry.kind is type(protocol) and entry.requires == "domain"
        if known and build(name, epsilon=epsilon, domain=domain) == protocol:
            options = f"--protocol {name} --domain {shown} --epsilon {epsilon}"
            return f"celosia collect simulate {options} --data FILE --column NAME"
    return None


def choice_object(choice: "Choice") -> dict[str, object]:
    """Return a choice for JSON."""
    return {
        "protocol": json.loads(choice.protocol.to_json()),
        "reason": choice.reason,
        "alternatives": [
            {
                "name": one.name,
                "variance": one.variance,
                "bits": one.bits,
                "fits": one.fits,
                "lifetime": one.lifetime,
                "plain_lifetime": None if one.plain_lifetime == math.inf else one.plain_lifetime,
                "life": one.life,
                "protocol": json.loads(one.protocol.to_json()),
            }
            for one in choice.alternatives
        ],
    }
