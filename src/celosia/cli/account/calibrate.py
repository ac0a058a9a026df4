"""``celosia account calibrate``: the smallest noise for a target, with its certificate.

The answer is certified from both sides: the noise that is printed was priced and meets the target, and a slightly
smaller one was priced and does not. Both are rounded to short numbers, and priced after the rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from celosia.cli.account.events import PricedEvent, Sampling, gaussian, laplace, plain_number
from celosia.cli.account.options import JsonOption, NoiseOptions, commands, spread
from celosia.cli.account.show import at_least, at_most, event_object, print_json, waiting
from celosia.cli.language import say, translate, write_number
from celosia.cli.terminal import print_line
from celosia.core import ApproxDP, Event, ParameterError
from celosia.core.exact import exact_positive, exact_probability, safe_repr
from celosia.core.messages.message import Numeral

if TYPE_CHECKING:
    from celosia.accounting import Best

calibrate = commands("calibrate", "Find the smallest noise for a target.")
"""The sub-command."""

_Tolerance = Annotated[
    str,
    typer.Option("--tolerance", metavar="NUMBER", help="How much smaller, relatively, the noise that fails may be."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """The target, as given on the command line."""

    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="NUMBER", help="The epsilon that all releases together may cost.")
    ]
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="The delta that all releases together may have.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """An amount of noise that is enough, one that is not, and the prices of both."""

    noise: str
    target: ApproxDP
    enough: Fraction
    too_small: Fraction
    price: "Best"
    failing: "Best"
    priced: PricedEvent

    @property
    def certain(self) -> bool:
        """Whether the first amount meets the target and the second does not."""
        return self.price.epsilon <= self.target.epsilon < self.failing.epsilon


@calibrate.command("gaussian")
@spread
def _gaussian(
    *,
    limits: _Limits,
    noise: NoiseOptions,
    sampling: Sampling,
    tolerance: _Tolerance = "1e-4",
    as_json: JsonOption = False,
) -> None:
    """Find the smallest sigma (times the L2 sensitivity) of Gaussian noise, on a sample if one is drawn."""
    _tell(_search("sigma", lambda sigma: gaussian(sigma, noise, sampling), limits, tolerance), as_json=as_json)


@calibrate.command("laplace")
@spread
def _laplace(
    *,
    limits: _Limits,
    noise: NoiseOptions,
    tolerance: _Tolerance = "1e-4",
    as_json: JsonOption = False,
) -> None:
    """Find the smallest scale (times the L1 sensitivity) of Laplace noise."""
    found = _search("scale", lambda scale: laplace(scale, noise, by_scale=True), limits, tolerance)
    _tell(found, as_json=as_json)


def _search(noise: str, make: Callable[[Fraction], PricedEvent], limits: _Limits, tolerance: str) -> _Result:
    allowed = exact_probability(limits.delta, name="delta")
    if allowed in (0, 1):
        raise ParameterError("core.delta_not_a_fraction", delta=safe_repr(limits.delta))
    scope = make(Fraction(1)).event  # refuses bad options before anything is computed
    target = ApproxDP(
        epsilon=exact_positive(limits.epsilon, name="epsilon"),
        delta=allowed,
        adjacency=scope.adjacency,
        unit=scope.unit,
    )
    allowance = exact_positive(tolerance, name="tolerance")
    from celosia.accounting import calibrate as search

    with waiting("cli_account.searching") as show:

        def make_event(amount: float) -> Event:
            show("cli_account.trying", noise=noise, amount=write_number(amount, ".6g"))
            return make(Fraction(amount)).event

        answer = search(make_event, target, tolerance=tolerance)
        # Short numbers, as long as they still certify the answer.
        found = _found(noise, make, target, Fraction(at_least(answer.noise)), Fraction(at_most(answer.too_small)))
        if found.enough > found.too_small * (1 + 2 * allowance) or not found.certain:
            found = _found(noise, make, target, Fraction(answer.noise), Fraction(answer.too_small))
    return found


def _found(
    noise: str, make: Callable[[Fraction], PricedEvent], target: ApproxDP, enough: Fraction, too_small: Fraction
) -> _Result:
    from celosia.accounting import best

    priced = make(enough)
    return _Result(
        noise=noise,
        target=target,
        enough=enough,
        too_small=too_small,
        price=best(priced.event, target.delta),
        failing=best(make(too_small).event, target.delta),
        priced=priced,
    )


def _tell(found: _Result, *, as_json: bool) -> None:
    target, price, failing = found.target, found.price, found.failing
    if as_json:
        print_json(
            {
                "target": {"epsilon": float(target.epsilon), "delta": float(target.delta)},
                found.noise: float(found.enough),
                "epsilon": price.epsilon,
                "best": price.accountant,
                "too_small": {found.noise: float(found.too_small), "epsilon": failing.epsilon},
                "priced": found.priced.sentence,
                "event": event_object(found.priced.event),
            }
        )
        return
    print_line(say("cli.sentence", words=found.priced.sentence))
    print_line("")
    enough, too_small = (
        translate(Numeral(repr(float(amount)).removesuffix(".0"))) for amount in (found.enough, found.too_small)
    )
    limit = {"epsilon": plain_number(target.epsilon), "delta": plain_number(target.delta)}
    console = Console(highlight=False)
    console.print(Text(f"{found.noise} = {enough}", style="bold") + Text(" " + say("cli_account.is_enough", **limit)))
    epsilon = translate(at_least(price.epsilon))
    print_line("  " + say("cli_account.smallest_bound_is", epsilon=epsilon, accountant=price.accountant))
    other = {"noise": found.noise, "amount": too_small, "epsilon": at_least(failing.epsilon)}
    print_line("  " + say("cli_account.with_too_small", **other, accountant=failing.accountant))
