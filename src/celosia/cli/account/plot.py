"""``celosia account plot``: charts of accounting, as SVG, PNG or an HTML page.

The file's suffix decides the format. Nothing is written unless all is computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track

from celosia.cli.account.events import PricedEvent, Sampling, amount, gaussian, laplace, one_epsilon, read
from celosia.cli.account.game import guarantee_of
from celosia.cli.account.iteration import Run, describe_run
from celosia.cli.account.options import (
    AdjacencyOption,
    DeltaOption,
    GridOption,
    NoiseOptions,
    TimesOption,
    commands,
    spread,
)
from celosia.cli.account.show import waiting
from celosia.cli.language import current_language, say, translate
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_chart
from celosia.core import Guarantee, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import altair as alt

    from celosia.accounting import Accountant

plot = commands("plot", "Draw what things cost, into a file.")
"""The sub-command."""

_PER_DECADE = 4
_MAX_GROWTH = 10**9
_GRID = NoiseOptions().grid


class _Mechanism(StrEnum):
    """The mechanisms that can be drawn by name; others are drawn from their event."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    PURE = "pure"
    RANDOMIZED_RESPONSE = "randomized-response"
    EVENT = "event"


class _Budget(StrEnum):
    """The mechanisms of the budget curves."""

    RANDOMIZED_RESPONSE = "randomized-response"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


_Chart = Annotated[Path, typer.Option("--chart", metavar="FILE", help="Where the chart goes: .svg, .png or .html.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReleaseOptions:
    """The release, as given on the command line."""

    mechanism: Annotated[_Mechanism, typer.Argument(metavar="MECHANISM")]
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The epsilon of one release.")] = None
    sigma: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Noise multiplier: sigma divided by the L2 sensitivity.")
    ] = None
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="The event as JSON, or - for standard input.")] = (
        None
    )
    grid: GridOption = _GRID
    adjacency: AdjacencyOption = None


@plot.command("budget")
def _budget(
    mechanism: Annotated[_Budget, typer.Argument(metavar="MECHANISM")],
    out: _Chart,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="A line each: probability of the truth, scale, or sigma. May be repeated."),
    ] = None,
) -> None:
    """Draw the Rényi divergence of one release by order: randomized-response, laplace or gaussian."""
    check_chart(out, name="chart")
    from celosia.accounting.charts import renyi_budget

    _save(renyi_budget(mechanism.value.replace("-", " "), parameter or None, language=current_language()), out)


@plot.command("profile")
@spread
def _profile(released: _ReleaseOptions, out: _Chart, times: TimesOption = 1, *, sampling: Sampling) -> None:
    """Draw epsilon against delta, one line for every accountant whose epsilon depends on delta.

    MECHANISM is gaussian, laplace, exponential, pure, randomized-response, or event with --file.
    """
    check_chart(out, name="chart")
    priced = _price_release(released, sampling, times)
    from celosia.accounting.charts import privacy_profile

    with waiting("cli.drawing"):
        chart = privacy_profile(priced.event, about=translate(priced.sentence), language=current_language())
    _save(chart, out)


@plot.command("growth")
@spread
def _growth(
    *, released: _ReleaseOptions, delta: DeltaOption, out: _Chart, times: TimesOption = 1000, sampling: Sampling
) -> None:
    """Draw epsilon against the number of releases, up to --times of them, all accountants side by side.

    MECHANISM is gaussian, laplace, exponential, pure, randomized-response, or event with --file.
    """
    check_chart(out, name="chart")
    if not 2 <= exact_integer(times, name="times") <= _MAX_GROWTH:
        raise ParameterError("cli.growth_times_out_of_range", most=_MAX_GROWTH, times=safe_repr(times))
    priced = _price_release(released, sampling, 1)
    from celosia.accounting.charts import composition_growth

    said = priced.sentence
    about = say(said.code, **{**said.fields, "often": Message("cli_account.each_time")})
    growth = _track(_numbers(times))
    _save(composition_growth(priced.event, delta=delta, times=growth, about=about, language=current_language()), out)


@plot.command("trade-off")
def _trade_off(
    out: _Chart,
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A line for a pure guarantee.")] = None,
    approximate: Annotated[
        list[str] | None, typer.Option(metavar="EPSILON,DELTA", help="One for an approximate.")
    ] = None,
    mu: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="One for a Gaussian.")] = None,
    rho: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="One for a zero-concentrated.")] = None,
    file: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="One for an event as JSON, or - for stdin.")
    ] = None,
) -> None:
    """Draw false alarms against misses. Every option is a line and may be repeated; without any, an example of each."""
    check_chart(out, name="chart")
    from celosia.accounting import PLDAccountant

    lines: dict[str, Guarantee | Accountant] = dict(_guarantees(epsilon, approximate, mu, rho))
    for path in file or []:
        name = path.name if path.name not in lines else str(path)
        lines[say("cli_account.standard_input") if name == "-" else name] = PLDAccountant().spend(read(path).event)
    if not lines:
        lines = dict(_guarantees(["1"], ["1,0.05"], ["1"], None))
        composed = laplace(amount("10", name="scale"), NoiseOptions(times=100))
        lines[say("cli_account.composed_laplace", times=100, epsilon=0.1)] = PLDAccountant().spend(composed.event)
    from celosia.accounting.charts import trade_off

    with waiting("cli.drawing"):
        chart = trade_off(lines, language=current_language())
    _save(chart, out)


@plot.command("iteration")
@spread
def _iteration(run: Run, delta: DeltaOption, out: _Chart) -> None:
    """Draw what projected noisy SGD costs each record, by its place in the epoch (real-valued noise)."""
    check_chart(out, name="chart")
    event = run.event()
    from celosia.accounting.charts import iteration

    known = replace(event, order="fixed", stop="fixed")  # the lines name the secrets
    with waiting("cli.drawing"):
        about = translate(describe_run(known, run.sigma))
        chart = iteration(event, delta=delta, about=about, language=current_language())
    _save(chart, out)


def _price_release(released: _ReleaseOptions, sampling: Sampling, times: int) -> PricedEvent:
    _check_unused_options(released, sampling)
    kind, epsilon = released.mechanism, released.epsilon or ""
    noise = NoiseOptions(times=times, grid=released.grid, adjacency=released.adjacency)
    if released.file is not None:
        return read(released.file, times=times)
    if kind is _Mechanism.GAUSSIAN:
        return gaussian(amount(released.sigma or "", name="sigma"), noise, sampling)
    if kind is _Mechanism.LAPLACE:
        return laplace(1 / amount(epsilon, name="epsilon"), noise)
    return one_epsilon(kind.value, epsilon=epsilon, times=times, adjacency=released.adjacency)


def _check_unused_options(released: _ReleaseOptions, sampling: Sampling) -> None:
    """Refuse an option that would have no effect on the chart."""
    kind = released.mechanism
    needed = {_Mechanism.GAUSSIAN: "sigma", _Mechanism.EVENT: "file"}.get(kind, "epsilon")
    amounts = {"epsilon": released.epsilon, "sigma": released.sigma, "file": released.file}
    extra = [name for name, given in amounts.items() if given is not None and name != needed]
    if amounts[needed] is None or extra:
        if extra:
            raise ParameterError("cli.wrong_chart_option", kind=kind.value, wanted=needed, given=extra[0])
        raise ParameterError("cli.missing_chart_option", kind=kind.value, wanted=needed)
    unused = {
        "sampling": sampling != Sampling() and kind is not _Mechanism.GAUSSIAN,
        "grid": released.grid != _GRID and kind not in (_Mechanism.GAUSSIAN, _Mechanism.LAPLACE),
        "adjacency": released.adjacency is not None and kind in (_Mechanism.RANDOMIZED_RESPONSE, _Mechanism.EVENT),
    }
    for name, is_unused in unused.items():
        if is_unused:
            raise ParameterError("cli.option_without_effect", name=name, mechanism=kind.value)


def _guarantees(
    epsilon: list[str] | None, approximate: list[str] | None, mu: list[str] | None, rho: list[str] | None
) -> Iterator[tuple[str, Guarantee]]:
    options = [{"epsilon": value} for value in epsilon or []]
    for value in approximate or []:
        rate, comma, delta = value.partition(",")
        if not comma:
            raise ParameterError("cli.approximate_not_a_pair", value=safe_repr(value))
        options.append({"epsilon": rate, "delta": delta})
    options += [{"mu": value} for value in mu or []] + [{"rho": value} for value in rho or []]
    nothing: dict[str, str | None] = {"epsilon": None, "delta": None, "mu": None, "rho": None}
    for option in options:
        guarantee, words = guarantee_of(**nothing | option)
        yield translate(words), guarantee


def _numbers(most: int) -> list[int]:
    """Return numbers of releases from 1 to ``most``, evenly spread on a logarithmic axis."""
    ratio = 10 ** (1 / _PER_DECADE)
    found = {1, most}
    at = 1.0
    while at < most:
        found.add(round(at))
        at *= ratio
    return sorted(found)


def _track(numbers: list[int]) -> Iterator[int]:
    console = Console(stderr=True)
    yield from track(
        numbers, say("cli_account.pricing"), console=console, transient=True, disable=not console.is_terminal
    )


def _save(chart: "alt.TopLevelMixin", out: Path) -> None:
    from celosia.plots import save

    with waiting("cli.drawing"):
        save(chart, out)
    print_line(str(out))
