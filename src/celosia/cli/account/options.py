"""The options that the commands of ``celosia account`` share: one name and one meaning everywhere.

Exact numbers are strings here; the packages below parse them and name the parameter when they refuse one. Options that
belong together are fields of a dataclass, which ``spread`` turns into the options of a command.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from celosia.cli.completion import offer

EpsilonOption: TypeAlias = Annotated[
    str, typer.Option("--epsilon", metavar="NUMBER", help="The epsilon of one release, such as 1, 0.1 or 1/3.")
]
"""What one release costs."""

DeltaOption: TypeAlias = Annotated[
    str, typer.Option("--delta", metavar="NUMBER", help="The delta that all releases together may have, such as 1e-6.")
]
"""The delta of the whole."""

SigmaOption: TypeAlias = Annotated[
    str, typer.Option("--sigma", metavar="NUMBER", help="Noise multiplier: sigma divided by the L2 sensitivity.")
]
"""Gaussian noise, relative to the sensitivity."""

TimesOption: TypeAlias = Annotated[int, typer.Option("--times", metavar="N", help="How many such releases or steps.")]
"""Repetitions."""

SamplingOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sampling", metavar="Q", help="Poisson sampling: everybody takes part with probability Q (add-remove)."
    ),
]
"""Poisson sampling."""

SampleSizeOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--sample-size", metavar="N", help="A sample of fixed size from the population (replace-one)."),
]
"""Sampling of fixed size."""

PopulationOption: TypeAlias = Annotated[
    int | None, typer.Option("--population", metavar="N", help="What the sample of fixed size is drawn from.")
]
"""The population of a sample of fixed size."""

GridOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--grid",
        metavar="STEP",
        help="The step of the noise, as a part of the sensitivity: 2^-20, 1/1000; 1 is noise on whole counts.",
    ),
]
"""How fine the noise is."""

AdjacencyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--adjacency",
        metavar="KIND",
        help="The neighbours: add-remove, which is usual, or replace-one, which samples of fixed size need.",
        autocompletion=offer(["add-remove", "replace-one"]),
    ),
]
"""The neighbouring relation."""

CategoriesOption: TypeAlias = Annotated[
    int, typer.Option("--categories", metavar="K", help="How many answers there are to choose from.")
]
"""The answers of randomized response."""

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
"""Machine-readable output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseOptions:
    """How often noise is added, on which grid, and for which neighbours."""

    times: TimesOption = 1
    grid: GridOption = "2^-20"
    adjacency: AdjacencyOption = None


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which the fields of every dataclass parameter are separate options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        own = inspect.signature(groups[name]).parameters if name in groups else {name: parameter}
        typed = get_type_hints(groups[name], include_extras=True) if name in groups else hints
        parameters += [
            given.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=typed[option])
            for option, given in own.items()
        ]

    signature = inspect.Signature(parameters)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        bound = signature.bind(**given)
        bound.apply_defaults()
        options = bound.arguments
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
        command(**options)

    run.__signature__ = signature  # type: ignore[attr-defined]  # what inspect reads first
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return run


def commands(name: str, words: str) -> typer.Typer:
    """Return a group of commands that shows its help when called without a command."""

    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return typer.Typer(name=name, help=words, callback=show_help, invoke_without_command=True)
