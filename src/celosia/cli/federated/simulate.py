"""``celosia federated simulate``: train in several ways on records at hand, and compare models, traffic and time.

Scores are computed from the records without noise, every training spends anew, and nothing is stored or published.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from celosia.cli.account.options import JsonOption, spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.completion import offer
from celosia.cli.federated.parties import SimulatedParties, SimulatedRecords
from celosia.cli.language import current_language, say
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_chart
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_epsilon, exact_integer, safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from celosia.federated import Comparison, Federation

METHODS: Final = ("one-shot", "sgd", "proximal")
"""The ways to train."""

_CHARTS: Final = ("rounds", "epsilon", "bytes", "topology")
_SHAPES: Final = ("ring", "star", "path", "grid", "complete", "small world", "binary tree", "creditors")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTraining:
    """The options of the trainings."""

    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="one-shot, sgd, proximal, or all.", autocompletion=offer([*METHODS, "all"])),
    ] = "all"
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Epsilon of a training: 1, or several: 0.1,0.3,1.")
    ] = "1"
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="The delta of a training.")] = "1e-5"
    rounds: Annotated[int, typer.Option(metavar="N", help="How often the parties are asked.")] = 50
    mu: Annotated[
        str, typer.Option("--mu", metavar="NUMBER", help="proximal: the pull towards the weights so far.")
    ] = "0.1"
    step_size: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="sgd: the length of a step; by default a safe one.")
    ] = None
    masks: Annotated[
        bool, typer.Option("--masks", help="Train in each way under masks too, where parties share one noise.")
    ] = False
    topology: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE",
            help="Train in each way over a graph too, without a server: ring, star, path, grid, complete, small world, "
            "binary tree or creditors. With --masks these are along its edges.",
            autocompletion=offer(_SHAPES),
        ),
    ] = None
    repeat: Annotated[int, typer.Option(metavar="N", help="How often each training is run.")] = 5
    seed: Annotated[int | None, typer.Option(metavar="N", help="Repeat the same noise every time. Not private.")] = None

    def check(self) -> "list[Fraction]":
        """Check the options before any record is read, and return the epsilons."""
        if self.method not in {*METHODS, "all"}:
            raise ParameterError(
                "cli.unknown_federated_method", known=", ".join([*METHODS, "all"]), value=safe_repr(self.method)
            )
        exact_integer(self.rounds, name="rounds")
        exact_integer(self.repeat, name="repeat")
        spent = [exact_epsilon(part.strip()) for part in self.epsilon.split(",")]
        if len(set(spent)) < len(spent):
            raise ParameterError("cli.epsilons_not_distinct_numbers", value=safe_repr(self.epsilon))
        return spent

    def make_methods(self, records: SimulatedRecords) -> tuple[dict[str, Any], Any]:
        """Return what is compared, and the estimator that is fitted with all records in one place."""
        from celosia.federated import SGD, Masks, OneShot, Proximal, make_graph
        from celosia.learn import GaussianNB, LinearRegression, LogisticRegression

        sums: Any
        line: Any
        if records.bounds_y is None:
            sums = GaussianNB(bounds=records.bounds, classes=records.classes)
            line = LogisticRegression(bounds=records.bounds, classes=records.classes, max_iter=5000)
        else:
            sums = line = LinearRegression(bounds=records.bounds, bounds_y=records.bounds_y)
        makers: dict[str, Callable[[], Any]] = {
            "one-shot": lambda: OneShot(sums),
            "sgd": lambda: SGD(estimator=line, step_size=self.step_size),
            "proximal": lambda: Proximal(estimator=line, mu=self.mu),
        }
        chosen = {name: make() for name, make in makers.items() if self.method in {name, "all"}}
        ways: dict[str, dict[str, Any]] = {"": {}}
        if self.topology is not None:
            graph = make_graph(self.topology, list(records.parties))
            ways[f" + {self.topology}"] = {"topology": graph}
        if self.masks:
            ways |= {f"{name} + masks": {"masks": Masks(), **way} for name, way in ways.items()}
        return {f"{name}{way}": (update, ways[way]) for way in ways for name, update in chosen.items()}, line


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChart:
    """The chart of a simulation."""

    chart: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a chart: .svg, .png or .html.")] = None
    chart_of: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="The error by rounds, epsilon or bytes, or what neighbours of the topology learn; by default the "
            "error by rounds, or by epsilon if there are several.",
            autocompletion=offer(_CHARTS),
        ),
    ] = None

    def choose(self, epsilons: int, topology: str | None) -> str:
        """Check the options, and return what the chart is of."""
        if self.chart is not None:
            check_chart(self.chart, name="chart")
        chosen = self.chart_of or ("rounds" if epsilons == 1 else "epsilon")
        if chosen not in _CHARTS:
            raise ParameterError("cli.unknown_federated_chart", known=", ".join(_CHARTS), value=safe_repr(chosen))
        if chosen == "epsilon" and epsilons == 1:
            raise ParameterError("federated.one_epsilon")
        if chosen == "topology" and topology is None:
            raise ParameterError("federated.no_topology")
        return chosen

    def draw(self, found: "Comparison", chosen: str, federations: "Mapping[str, Federation]") -> None:
        """Draw and save the chart, if one is wanted."""
        if self.chart is None:
            return
        with waiting("cli.drawing"):
            from celosia.federated import bytes_chart, epsilons_chart, rounds_chart
            from celosia.plots import save

            if chosen == "topology":
                over_graph = [one for one in federations.values() if one.topology is not None]
                save(over_graph[-1].who_learns_what().draw_topology(language=current_language()), self.chart)
                return
            charts: dict[str, Callable[..., Any]] = {
                "rounds": rounds_chart,
                "epsilon": epsilons_chart,
                "bytes": bytes_chart,
            }
            save(charts[chosen](found, language=current_language()), self.chart)


@spread
def simulate(
    *,
    parties: SimulatedParties,
    training: SimulatedTraining,
    picture: SimulatedChart,
    as_json: JsonOption = False,
) -> None:
    """Train with several parties in one or all ways, several times, and compare the models.

    Every model is scored on a fifth of the records, on which none is trained. Beside them stand a private model and one
    without privacy, both of all records in one place.

    The bounds of a file are options or a schema, and never read from the data. Scores are computed without noise, and
    every training spends anew: this is for experiments on records that are known.
    """
    spent = training.check()
    chosen = picture.choose(len(spent), training.topology)
    with waiting("cli_federated.reading"):
        from celosia.cli.federated.show import comparison_object, print_comparison
        from celosia.federated import Federation, compare_methods
        from celosia.noise.source import Seeded
        from celosia.query.progress import Bar

        records = parties.read(0 if training.seed is None else training.seed)
        methods, reference = training.make_methods(records)
    privacy: dict[str, Any] = {"delta": training.delta, "adjacency": "replace-one"}
    federations = {
        name: Federation(
            parties=records.parties,
            update=update,
            epsilon=spent[0],
            rounds=1 if name.startswith("one-shot") else training.rounds,
            **privacy,
            **options,
        )
        for name, (update, options) in methods.items()
    }
    previews = {name: federation.preview() for name, federation in federations.items()}
    found = compare_methods(
        records.parties,
        records.test,
        methods=methods,
        epsilons=spent,
        rounds=training.rounds,
        repetitions=training.repeat,
        reference=reference,
        source=None if training.seed is None else Seeded(training.seed),
        watch=Bar(text=say("cli_federated.training")),
        **privacy,
    )
    picture.draw(found, chosen, federations)
    if as_json:
        print_json(comparison_object(found, previews, records, seed=training.seed))
        return
    print_comparison(found, previews, records, seed=training.seed)
    if picture.chart is not None:
        print_line(Message("cli_federated.written", path=str(picture.chart)), stderr=True)
