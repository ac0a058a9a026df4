"""``celosia account``: the cost of mechanisms, before anything is run.

It prices the mechanisms of Celosía, and any event in a file, with all accountants side by side. It reads no data and
spends nothing. Numbers are read as text, so that 0.1 is one tenth.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from celosia.cli.account.calibrate import calibrate
from celosia.cli.account.events import PricedEvent, Sampling, amount, gaussian, laplace, one_epsilon, read, shuffle
from celosia.cli.account.game import game
from celosia.cli.account.iteration import iteration
from celosia.cli.account.options import (
    AdjacencyOption,
    CategoriesOption,
    DeltaOption,
    EpsilonOption,
    JsonOption,
    NoiseOptions,
    SigmaOption,
    TimesOption,
    commands,
    spread,
)
from celosia.cli.account.plot import plot
from celosia.cli.account.presets import presets
from celosia.cli.account.show import print_price, waiting

account = commands("account", "Price mechanisms: what would they cost?")
"""The sub-command."""


def _price(priced: PricedEvent, delta: str, *, as_json: bool) -> None:
    from celosia.accounting import best

    with waiting("cli_account.pricing"):
        answer = best(priced.event, delta)
    print_price(priced, answer, as_json=as_json)


@account.command("gaussian")
@spread
def _gaussian(
    *, sigma: SigmaOption, delta: DeltaOption, noise: NoiseOptions, sampling: Sampling, as_json: JsonOption = False
) -> None:
    """Price Gaussian noise, on a sample if one is drawn: the steps of DP-SGD, for example."""
    _price(gaussian(amount(sigma, name="sigma"), noise, sampling), delta, as_json=as_json)


@account.command("laplace")
@spread
def _laplace(epsilon: EpsilonOption, delta: DeltaOption, noise: NoiseOptions, *, as_json: JsonOption = False) -> None:
    """Price Laplace noise of scale 1/epsilon (times the L1 sensitivity): noisy counts and sums."""
    _price(laplace(1 / amount(epsilon, name="epsilon"), noise), delta, as_json=as_json)


@account.command("randomized-response")
def _randomized_response(
    epsilon: EpsilonOption,
    delta: DeltaOption,
    times: TimesOption = 1,
    categories: CategoriesOption = 2,
    as_json: JsonOption = False,
) -> None:
    """Price randomized response over two or more answers."""
    priced = one_epsilon("randomized-response", epsilon=epsilon, times=times, categories=categories)
    _price(priced, delta, as_json=as_json)


def _by_epsilon(kind: str) -> Callable[..., None]:
    """Return the command for a mechanism whose privacy has one parameter."""

    def price(
        epsilon: EpsilonOption,
        delta: DeltaOption,
        times: TimesOption = 1,
        adjacency: AdjacencyOption = None,
        as_json: JsonOption = False,
    ) -> None:
        _price(one_epsilon(kind, epsilon=epsilon, times=times, adjacency=adjacency), delta, as_json=as_json)

    return price


account.command("exponential", help="Price the exponential mechanism, whose privacy losses span no more than epsilon.")(
    _by_epsilon("exponential")
)
account.command("pure", help="Price any mechanism of which only its pure epsilon is known.")(_by_epsilon("pure"))


@account.command("shuffle")
def _shuffle(
    epsilon: EpsilonOption,
    reports: Annotated[int, typer.Option(metavar="N", help="How many people report.")],
    delta: DeltaOption,
    times: TimesOption = 1,
    categories: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="The reports are randomized response over K answers; else they may be anything."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Price the shuffled reports of a local randomizer."""
    _price(shuffle(epsilon=epsilon, reports=reports, times=times, categories=categories), delta, as_json=as_json)


@account.command("event")
def _event(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An event as JSON (Event.to_json), or - for stdin.")],
    delta: DeltaOption,
    times: TimesOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Price any event that was written to FILE as JSON, by Event.to_json; with - it is read from standard input."""
    _price(read(file, times=times), delta, as_json=as_json)


account.command("game", help="Say what an adversary learns who knows two neighbours and sees the release.")(game)
account.command("presets", help="Show three budgets to start from, and what each means.")(presets)
account.command("iteration", help="Price projected noisy SGD of which only the last weights are released.")(iteration)
account.add_typer(calibrate)
account.add_typer(plot)
