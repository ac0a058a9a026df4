"""``celosia account iteration``: projected noisy SGD of which only the last weights are released.

The theorems are about real-valued noise, which no computer adds: the output states this, and also gives the price of
the same run with noise on a grid and every step released.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account.events import PricedEvent, amount, plain_number
from celosia.cli.account.options import DeltaOption, JsonOption, spread
from celosia.cli.account.show import at_least, event_object, price_object, print_json, print_price, waiting
from celosia.cli.language import say, translate
from celosia.cli.terminal import print_line
from celosia.core import ZCDP, Event, GuaranteedEvent, ParameterError
from celosia.core.exact import Exact, exact
from celosia.core.iterations import PNSGDEvent
from celosia.core.messages.message import Message, Numeral, separate

if TYPE_CHECKING:
    from celosia.accounting import Best


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of projected noisy SGD, as given on the command line."""

    records: Annotated[int, typer.Option(metavar="N", help="How many records there are, one a step.")]
    step_size: Annotated[str, typer.Option(metavar="NUMBER", help="How far a step goes: at most 2 / smoothness.")]
    lipschitz: Annotated[str, typer.Option(metavar="NUMBER", help="No gradient of one record's loss is longer.")]
    smoothness: Annotated[
        str, typer.Option(metavar="NUMBER", help="The Lipschitz constant of the gradients of the convex loss.")
    ]
    sigma: Annotated[
        str, typer.Option(metavar="NUMBER", help="Standard deviation of the noise on each gradient's coordinates.")
    ]
    epochs: Annotated[int, typer.Option(metavar="N", help="How often every record is used.")] = 1
    diameter: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Of the set that weights are projected to, if it is bounded.")
    ] = None
    secret_order: Annotated[
        bool, typer.Option("--secret-order", help="The records come in a random order that nobody learns.")
    ] = False
    secret_stop: Annotated[
        bool, typer.Option("--secret-stop", help="The run stops after a random number of steps that nobody learns.")
    ] = False

    def event(self) -> PNSGDEvent:
        """Return the run as an event."""
        if self.secret_stop and self.epochs != 1:
            raise ParameterError("cli.secret_stop_needs_one_epoch", epochs=self.epochs)
        return PNSGDEvent(
            records=self.records,
            step_size=self.step_size,
            lipschitz=self.lipschitz,
            smoothness=self.smoothness,
            variance=amount(self.sigma, name="sigma") ** 2,
            epochs=self.epochs,
            diameter=self.diameter,
            order="secret permutation" if self.secret_order else "fixed",
            stop="secret uniform" if self.secret_stop else "fixed",
        )


def describe_run(event: PNSGDEvent, sigma: str) -> Message:
    """Return a description of a run with all that its price depends on."""
    ways = [
        _several(event.records, "cli_account.one_record", "cli_account.records"),
        _several(event.epochs, "cli_account.one_epoch", "cli_account.epochs"),
        *([Message("cli_account.secret_order")] if event.order != "fixed" else []),
        *([Message("cli_account.secret_stop")] if event.stop != "fixed" else []),
        Message("cli_account.step_size", number=_plain(event.step_size)),
        Message("cli_account.lipschitz", number=_plain(event.lipschitz)),
        Message("cli_account.smoothness", number=_plain(event.smoothness)),
        Message("cli_account.noise_on_gradients", sigma=_plain(sigma)),
        *([Message("cli_account.diameter", number=_plain(event.diameter))] if event.diameter is not None else []),
        "replace-one",
        Message("cli_account.real_noise"),
    ]
    return Message("cli_account.noisy_sgd", ways=separate(ways))


def _several(number: int, one: str, several: str) -> Message:
    return Message(one) if number == 1 else Message(several, number=number)


def _plain(number: Exact) -> Numeral:
    return plain_number(exact(number, name="number"))


@spread
def iteration(run: Run, delta: DeltaOption, *, as_json: JsonOption = False) -> None:
    """Print the price of projected noisy SGD of which only the last weights are released (real-valued noise)."""
    event = run.event()
    sentence = Message("cli_account.last_weights", run=describe_run(event, run.sigma))
    priced = PricedEvent(event=event, sentence=sentence)
    from celosia.accounting import best
    from celosia.accounting.iteration.contraction import release_every_step

    with waiting("cli_account.pricing"):
        answer = best(event, delta)
        grid = release_every_step(event)
        released = best(grid, delta)
        places = {} if run.secret_order or run.secret_stop else _by_place(event, delta)
    if as_json:
        words = {"priced": priced.sentence, "arithmetic": "real", "event": event_object(event)}
        by_place = [{"place": place, "epsilon": epsilon} for place, epsilon in places.items()]
        more = {"records": by_place, "every_step_released": _release_object(grid, released)}
        print_json(price_object(answer) | words | more)
        return
    print_price(priced, answer, as_json=False)
    if places:
        print_line(Message("cli_account.by_place", places=_list_places(places)))
    print_line(Message("cli_account.real_noise_not_covered"), style="yellow")
    Console(highlight=False).print(
        Text(f"{say('cli_account.every_step_released')} ")
        + Text(f"ε = {translate(at_least(released.epsilon))}", style="bold")
        + Text(f" ({released.accountant})."),
        soft_wrap=True,
    )
    if released.epsilon <= answer.epsilon and places:
        print_line(Message("cli_account.no_gain"), style="dim")


def _by_place(event: PNSGDEvent, delta: str) -> dict[int, float]:
    """Return the epsilon of the first record, of one in the middle and of the last."""
    from celosia.accounting import ZCDPAccountant
    from celosia.accounting.iteration.pnsgd import record_rhos

    places = sorted({1, (event.records + 1) // 2, event.records})
    rhos = record_rhos(event, places).tolist()
    return {
        place: ZCDPAccountant().spend(GuaranteedEvent(guarantee=ZCDP(rho=rho))).epsilon(delta)
        for place, rho in zip(places, rhos, strict=True)
    }


def _list_places(places: dict[int, float]) -> tuple[str, ...]:
    found = [
        Message("cli_account.place_pays", place=place, epsilon=at_least(epsilon)) for place, epsilon in places.items()
    ]
    return separate(found)


def _release_object(event: Event, answer: "Best") -> dict[str, object]:
    return price_object(answer) | {"arithmetic": "integer", "event": event_object(event)}
