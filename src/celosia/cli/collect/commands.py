"""``celosia collect``: evaluate local protocols before deployment.

``simulate`` runs a collection on known data: every row is a person whose report is drawn as on a device. ``choose``
names the protocol with the least variance, ``protocols`` lists them all. Nothing here collects from people.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from celosia.cli.account.options import JsonOption, commands, spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.collect.options import Parameters, SimulatedData, complete_options, read_values
from celosia.cli.completion import offer, protocols
from celosia.cli.guard.opening import print_table
from celosia.cli.language import say
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_chart, check_place, write_whole
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_epsilon, exact_integer, exact_level, safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from fractions import Fraction

    from celosia.local.simulation import Simulation

collect = commands("collect", "Collect in the local model: simulate protocols, and choose one.")
"""The sub-command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Output options of a simulation."""

    top: Annotated[int, typer.Option(metavar="N", help="The number of largest values to show.")] = 20
    confidence: Annotated[str, typer.Option(metavar="LEVEL", help="The probability of each interval.")] = "0.95"
    postprocess: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Of counts: clip or norm-sub; unbiased by default.",
            autocompletion=offer(["clip", "norm-sub"]),
        ),
    ] = None
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all rows to this file.")] = None
    chart: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a chart: .svg, .png or .html.")] = None

    def check(self, data: str = "") -> None:
        """Check the options before any draw; ``data`` is the input file."""
        exact_integer(self.top, name="top")
        try:
            exact_level(self.confidence)
        except ParameterError:
            raise ParameterError("cli.confidence_out_of_range", confidence=safe_repr(self.confidence)) from None
        if self.csv is not None:
            check_place(self.csv, name="csv")
            if data and self.csv.resolve() == Path(data).resolve():
                raise ParameterError("cli.csv_overwrites_data", path=safe_repr(data))
        if self.chart is not None:
            check_chart(self.chart, name="chart")


@collect.command("simulate")
@spread
def _simulate(
    protocol: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="A protocol, such as hcms; see collect protocols.", autocompletion=offer(protocols)
        ),
    ],
    data: SimulatedData,
    parameters: Parameters,
    output: Output,
    *,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Epsilon of a report: 2, or several: 0.5,1,2,4.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report the values of a file with a protocol, estimate them, and compare with the truth."""
    from celosia.local.catalogue import build, find
    from celosia.local.simulation import simulate

    entry, spent = find(protocol), _epsilons(epsilon)
    output.check(data.data)
    given, source = parameters.to_options(), data.source()
    with waiting("cli_collect.reading_values"):
        values = read_values(data.data, data.column)
    known = complete_options(entry, values, given)
    built = [build(protocol, epsilon=one, **known.options) for one in spent]
    settings: dict[str, Any] = {
        "task": entry.task,
        "source": source,
        "level": output.confidence,
        "postprocess": output.postprocess,
    }
    with _show_progress(len(built) * len(values), wanted=not as_json) as watch:
        runs = [
            simulate(one, values, watch=partial(_add, watch, index * len(values)), **settings)
            for index, one in enumerate(built)
        ]
    _write(runs, output)
    _print_result(runs, known.remarks, data, output, as_json=as_json)


def _add(watch: Callable[[int], None], before: int, done: int) -> None:
    watch(before + done)


def _epsilons(text: str | None) -> "list[Fraction | None]":
    if text is None:
        return [None]
    spent = [exact_epsilon(part.strip()) for part in text.split(",")]
    if len(set(spent)) < len(spent):
        raise ParameterError("cli.epsilons_not_distinct_numbers", value=safe_repr(text))
    return list(spent)


@contextmanager
def _show_progress(total: int, *, wanted: bool) -> Iterator[Callable[[int], None]]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not (wanted and console.is_terminal)) as progress:
        words = say("cli_collect.reporting"), say("cli_collect.estimating")  # takes a while with many values
        task = progress.add_task(words[0], total=total)
        yield lambda done: progress.update(task, completed=done, description=words[done >= total])


def _write(runs: "list[Simulation]", output: Output) -> None:
    from celosia.cli.collect.show import csv_text

    if output.csv is not None:
        write_whole(output.csv, csv_text(runs), name="csv")
    if output.chart is not None:
        with waiting("cli.drawing"):
            from celosia.cli.collect.charts import chart
            from celosia.plots import save

            save(chart(runs, top=output.top), output.chart)


def _print_result(
    runs: "list[Simulation]", remarks: tuple[Message, ...], data: SimulatedData, output: Output, *, as_json: bool
) -> None:
    from celosia.cli.collect.show import (
        count_reports,
        format_protocols,
        print_run,
        print_sentence,
        print_sweep,
        run_object,
    )

    objects = [run_object(run, top=output.top) for run in runs] if as_json else []
    if as_json:
        note = Message("cli_collect.simulated")
        print_json({"note": note, "data": data.data, "seed": data.seed, "remarks": list(remarks), "runs": objects})
        return
    console = Console(highlight=False)
    print_sentence(console, Message("cli_collect.simulated"), "bold")
    run = runs[0]
    people = count_reports(run.reports)
    about = {"protocol": format_protocols([one.protocol for one in runs]), "people": people}
    if len(runs) > 1:
        print_sentence(console, Message("cli_collect.several_runs", **about))
    else:
        print_sentence(console, Message("cli_collect.one_run", **about, cost=run.protocol.guarantee))
    for remark in remarks:
        print_sentence(console, Message("cli_collect.read_from_data", remark=remark), "yellow")
    if data.seed is not None:
        console.print(Text(say("cli_collect.seeded", seed=str(data.seed)), "yellow"))
    console.print()
    if len(runs) > 1:
        print_sweep(runs)
    else:
        print_run(run, top=output.top)
    for path in (output.csv, output.chart):
        if path is not None:
            print_line(Message("cli_collect.written", path=str(path)), stderr=True)


@collect.command("choose")
def _choose(
    domain: Annotated[str, typer.Option(metavar="K", help="The number of values, or a,b,c.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="Epsilon of one report.")],
    bits: Annotated[int | None, typer.Option(metavar="N", help="The most bits of a report.")] = None,
    longitudinal: Annotated[bool, typer.Option("--longitudinal", help="The same people report repeatedly.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Choose the protocol with the least variance for counts of a known domain, and explain the choice."""
    from celosia.cli.collect.choice import choice_object, print_choice
    from celosia.local.choose import choose

    values = Parameters(domain=domain).to_options()["domain"]
    if isinstance(values, int):
        exact_integer(values, name="domain", least=2)
    with waiting("cli_collect.comparing"):
        choice = choose(values, exact_epsilon(epsilon), bits, longitudinal=longitudinal)
    if as_json:
        print_json(choice_object(choice))
    else:
        print_choice(choice)


@collect.command("protocols")
def _protocols() -> None:
    """List the protocols by their short names."""
    from celosia.local.catalogue import load_catalogue

    needs = {"domain": "--domain", "bounds": "--low --high", "spelling": "", "nothing": ""}
    rows = [
        [entry.name, entry.summary, " ".join([needs[entry.requires], *_flags(entry.options)]).strip()]
        for entry in load_catalogue().values()
    ]
    codes = ("cli_collect.name", "cli_collect.description", "cli_collect.options")
    print_table([Message(code) for code in codes], rows)


def _flags(options: tuple[str, ...]) -> list[str]:
    named = [option for option in options if option not in ("domain", "low", "high")]
    return [f"--{'hash-seed' if option == 'seed' else option.replace('_', '-')}" for option in named]
