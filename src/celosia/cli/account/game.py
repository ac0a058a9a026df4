"""``celosia account game``: the success of an adversary who knows two neighbouring data sets and sees the release.

It puts a guarantee in plain terms: how sure the adversary may become, how often the best guess is right, and how false
alarms trade against misses. All numbers are bounds in the adversary's favour.
"""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from celosia.cli.account.events import plain_number
from celosia.cli.account.options import JsonOption
from celosia.cli.account.show import at_least, at_most, print_json
from celosia.cli.language import say, write_number
from celosia.cli.terminal import print_line, print_whole
from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, ParameterError, PureDP
from celosia.core.exact import exact_non_negative, exact_probability, safe_repr
from celosia.core.messages.message import Message, Numeral, join_names

if TYPE_CHECKING:
    from celosia.accounting.game import Game

_FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def guarantee_of(
    *, epsilon: str | None, delta: str | None, mu: str | None, rho: str | None
) -> tuple[Guarantee, Message]:
    """Return the guarantee that the options describe, and its description."""
    given = {"epsilon": epsilon, "mu": mu, "rho": rho}
    chosen = [name for name, value in given.items() if value is not None]
    if not chosen:
        raise ParameterError("cli.no_guarantee")
    if len(chosen) > 1:
        raise ParameterError("cli.several_guarantees", given=join_names([f"--{name}" for name in chosen]))
    if delta is not None and epsilon is None:
        raise ParameterError("cli.delta_with_other_option", option=chosen[0])
    if mu is not None:
        value = exact_non_negative(mu, name="mu")
        return GaussianDP(mu=value), Message("cli_account.gaussian_guarantee", mu=plain_number(value))
    if rho is not None:
        value = exact_non_negative(rho, name="rho")
        return ZCDP(rho=value), Message("cli_account.concentrated_guarantee", rho=plain_number(value))
    value = exact_non_negative(epsilon or "", name="epsilon")
    if delta is None:
        return PureDP(epsilon=value), Message("cli_account.pure_guarantee", epsilon=plain_number(value))
    allowed = exact_probability(delta, name="delta")
    if allowed == 1:
        raise ParameterError("core.delta_too_large", delta=safe_repr(delta))
    words = Message("cli_account.approximate_guarantee", epsilon=plain_number(value), delta=plain_number(allowed))
    return ApproxDP(epsilon=value, delta=allowed), words


def game(
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Pure privacy or, with --delta, approximate.")
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="Beside --epsilon: approximate privacy.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="Gaussian differential privacy.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="Zero-concentrated differential privacy.")] = None,
    prior: Annotated[
        str, typer.Option(metavar="NUMBER", help="The probability given to one of the two before the release.")
    ] = "1/2",
    as_json: JsonOption = False,
) -> None:
    """Print how much an adversary learns who knows two neighbouring data sets and sees the release."""
    guarantee, words = guarantee_of(epsilon=epsilon, delta=delta, mu=mu, rho=rho)
    belief = exact_probability(prior, name="prior")
    from celosia.accounting.game import game as play

    played = play(guarantee)
    posterior = played.posterior(belief) if isinstance(guarantee, PureDP) else None
    misses = played.trade_off(list(_FALSE_ALARMS)).tolist()
    if as_json:
        print_json(
            {
                "guarantee": words,
                "prior": float(belief),
                "posterior": None if posterior is None else {"low": posterior[0], "high": posterior[1]},
                "success": played.success,
                "advantage": played.advantage,
                "trade_off": [
                    {"false_alarm": alarm, "miss": miss} for alarm, miss in zip(_FALSE_ALARMS, misses, strict=True)
                ],
            }
        )
        return
    _print(played, words, plain_number(belief), posterior, misses)


def _print(
    played: "Game", words: Message, prior: Numeral, posterior: tuple[float, float] | None, misses: list[float]
) -> None:
    print_line(Message("cli_account.adversary_sees_release", guarantee=words))
    print_line("")
    print_whole(_belief(played, prior, posterior))
    if posterior is None:
        Console(highlight=False).print(Text(say("cli_account.beliefs_not_bounded"), style="dim"))
    print_line("")
    print_whole(_trade_off(misses))


def _belief(played: "Game", prior: Numeral, posterior: tuple[float, float] | None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column()
    table.add_column(justify="right", style="bold")
    belief = Message("cli_account.belief_after_release", prior=prior)
    if posterior is None:
        table.add_row(belief, Message("cli_account.not_bounded"))
    else:
        table.add_row(belief, Message("cli_account.range", low=at_most(posterior[0]), high=at_least(posterior[1])))
    # Whatever the prior was above: a guess that may lean on an uneven one is right more often, without any release.
    table.add_row(Message("cli_account.best_guess_at_most"), at_least(played.success))
    table.add_row(Message("cli_account.advantage_at_most"), at_least(played.advantage))
    return table


def _trade_off(misses: list[float]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column(say("cli_account.false_alarms"), justify="right")
    table.add_column(say("cli_account.misses_at_least"), justify="right")
    for alarm, miss in zip(_FALSE_ALARMS, misses, strict=True):
        table.add_row(write_number(alarm, "g"), at_most(miss))
    return table
