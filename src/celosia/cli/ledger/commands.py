"""``celosia ledger``: budgets, spending, and verification of the log.

A ledger is named by its URL: ``sqlite:///budget.db`` or ``postgresql://host/database``. Only ``budget`` creates one
that does not exist.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from celosia.cli.account.options import AdjacencyOption, JsonOption, commands, spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.completion import accountants, offer, presets
from celosia.cli.ledger.show import print_statement
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_place
from celosia.core import ZCDP, AddRemove, ApproxDP, Guarantee, ParameterError, PureDP
from celosia.core.exact import exact_adjacency
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from celosia.ledger import Ledger, Policy, Window

ledger = commands("ledger", "Keep budgets: set them, see what is left, verify the log.")
"""The sub-command."""

_EXIT_BROKEN = 1
_DAY = 86_400

_Url: TypeAlias = Annotated[
    str, typer.Argument(metavar="URL", help="The ledger: sqlite:///budget.db or postgresql://host/database.")
]
_Dataset: TypeAlias = Annotated[str | None, typer.Option("--dataset", metavar="NAME", help="The data set.")]
_Analyst: TypeAlias = Annotated[
    str | None, typer.Option("--analyst", metavar="NAME", help="The analyst; with --dataset, the analyst's part of it.")
]


def _offer(help_text: str, names: "Callable[[], Iterable[str]]") -> Any:
    return typer.Option(metavar="NAME", help=help_text, autocompletion=offer(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """The options of a budget on a command line."""

    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The total epsilon: 3, 0.1 or 1/3.")] = None
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="With --epsilon: the total delta, 1e-6.")] = None
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="The total rho, as zCDP.")] = None
    preset: Annotated[
        str | None, _offer("With --persons: cautious, usual or generous; see account presets.", presets)
    ] = None
    persons: Annotated[int | None, typer.Option(metavar="N", help="With --preset: a public number of persons.")] = None
    accountant: Annotated[
        str | None,
        _offer("The accountant: basic, combined, pure, zcdp, renyi or gdp; by default that of the limit.", accountants),
    ] = None
    unit: Annotated[
        str,
        typer.Option(metavar="WORD", help="The privacy unit: row or person.", autocompletion=offer(["row", "person"])),
    ] = "row"
    adjacency: AdjacencyOption = None
    window_days: Annotated[
        int | None, typer.Option(metavar="N", help="Add a smaller limit for every window of N days.")
    ] = None
    window_epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The epsilon of each window.")] = None
    window_delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The delta of each window; by default the total.")
    ] = None
    window_rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="The rho of each window, as zCDP.")] = None
    allow_real: Annotated[
        bool, typer.Option("--allow-real", help="Allow noise from real arithmetic, which is not exact.")
    ] = False

    def policy(self) -> "Policy":
        """Return the policy that the options describe."""
        from celosia.ledger import Policy

        limit = self._limit(self.epsilon, self.delta, self.rho, "") if self.preset is None else self._preset_limit()
        return Policy(limit=limit, accountant=self.accountant, window=self._window(limit), allow_real=self.allow_real)

    def _preset_limit(self) -> Guarantee:
        from celosia.accounting.presets import suggest_budget

        if self.persons is None or (self.epsilon, self.delta, self.rho) != (None, None, None):
            raise ParameterError("cli.preset_with_other_limits")
        adjacency = AddRemove if self.adjacency is None else exact_adjacency(self.adjacency)
        return suggest_budget(str(self.preset), persons=self.persons, adjacency=adjacency, unit=self.unit)

    def _window(self, limit: Guarantee) -> "Window | None":
        from celosia.ledger import Window

        if self.window_days is None:
            if (self.window_epsilon, self.window_delta, self.window_rho) != (None, None, None):
                raise ParameterError("cli.window_limit_without_days")
            return None
        shared = str(limit.delta) if isinstance(limit, ApproxDP) and self.window_epsilon is not None else None
        inner = self._limit(self.window_epsilon, self.window_delta or shared, self.window_rho, "window-")
        return Window(seconds=self.window_days * _DAY, limit=inner)

    def _limit(self, epsilon: str | None, delta: str | None, rho: str | None, prefix: str) -> Guarantee:
        adjacency = AddRemove if self.adjacency is None else exact_adjacency(self.adjacency)
        if rho is not None and epsilon is None and delta is None:
            return ZCDP(rho=rho, adjacency=adjacency, unit=self.unit)
        if epsilon is None or rho is not None:
            raise ParameterError("cli.missing_window_limit" if prefix else "cli.missing_limit")
        if delta is None:
            return PureDP(epsilon=epsilon, adjacency=adjacency, unit=self.unit)
        return ApproxDP(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=self.unit)


def _open(url: str, *, create: bool = False) -> "Ledger":
    from celosia.ledger import open_ledger

    if url == "memory://":
        raise ParameterError("cli.ledger_in_memory")
    return open_ledger(url, create=create)


@ledger.command("budget")
@spread
def _budget(url: _Url, options: BudgetOptions, dataset: _Dataset = None, analyst: _Analyst = None) -> None:
    """Open or change the budget of a data set, of an analyst, or of an analyst on a data set."""
    policy = options.policy()
    with _open(url, create=True) as opened:
        opened.set_budget(policy, dataset=dataset, analyst=analyst)
        print_statement(
            [line for line in opened.statement() if (line.scope.dataset, line.scope.analyst) == (dataset, analyst)]
        )


@ledger.command("show")
def _show(url: _Url, dataset: _Dataset = None, analyst: _Analyst = None, as_json: JsonOption = False) -> None:
    """Show the budgets: spent, left, and reservations that a crash may have left open."""
    with _open(url) as opened:
        with waiting("cli_ledger.adding_up"):
            lines, left = opened.statement(dataset, analyst), opened.open_reservations()
        if as_json:
            print_json({"budgets": [line.to_json() for line in lines], "open": len(left), "head": str(opened.head)})
            return
        print_statement(lines)
    if left:
        print_line(Message("cli_ledger.reserved", number=len(left)), style="dim")


@ledger.command("verify")
def _verify(
    url: _Url,
    head: Annotated[
        str | None, typer.Option(metavar="HEAD", help="A head stored elsewhere, which must be in the log.")
    ] = None,
) -> None:
    """Verify the whole log. The exit code is 1 if a line was edited, deleted or moved."""
    with _open(url) as opened, waiting("cli_ledger.reading_log"):
        found = opened.verify(head)
    if not found.ok:
        print_line(Message("cli_ledger.not_as_written", lines=found.lines, problem=found.problem))
        raise typer.Exit(_EXIT_BROKEN)
    print_line(Message("cli_ledger.as_written", lines=found.lines, head=str(found.head)))


@ledger.command("export")
def _export(
    url: _Url,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there instead of standard output.")] = None,
) -> None:
    """Write the log as JSON lines."""
    if output is not None:
        check_place(output, name="output", force=False)
    with _open(url) as opened, waiting("cli_ledger.reading_log"):
        if output is None:
            opened.export(sys.stdout)
            return
        with output.open("x", encoding="utf-8") as file:
            number = opened.export(file)
    print_line(Message("cli_ledger.exported", number=number, path=str(output)))


@ledger.command("head")
def _head(url: _Url) -> None:
    """Print the head. A copy stored elsewhere proves later that nothing before it was rewritten."""
    with _open(url) as opened:
        print_line(str(opened.head))
