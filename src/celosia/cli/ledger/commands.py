"""``celosia ledger``: budgets, what was spent of them, and whether the log is as it was written.

A ledger is named by its URL: ``sqlite:///budget.db`` or ``postgresql://host/database``. Only ``budget`` begins one that
is not there yet.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from celosia.cli.account.options import AdjacencyOption, JsonOption, commands, spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.completion import accountants, offer, presets
from celosia.cli.ledger.show import print_statement
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_place
from celosia.core import ZCDP, AddRemove, ApproxDP, Guarantee, ParameterError, PureDP
from celosia.core.adjacency import exact_adjacency

if TYPE_CHECKING:
    from celosia.ledger import Ledger, Policy, Window

ledger = commands("ledger", "Keep budgets: set them, see what is left, verify the log.")
"""The sub-command."""

_BROKEN = 1
_DAY = 86_400

_Url: TypeAlias = Annotated[
    str, typer.Argument(metavar="URL", help="The ledger: sqlite:///budget.db or postgresql://host/database.")
]
_Dataset: TypeAlias = Annotated[str | None, typer.Option("--dataset", metavar="NAME", help="The data set.")]
_Analyst: TypeAlias = Annotated[
    str | None, typer.Option("--analyst", metavar="NAME", help="The analyst; with --dataset, the analyst's part of it.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """What a budget allows, as it is given on a command line."""

    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="May be spent in all: 3, 0.1 or 1/3.")] = None
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="With --epsilon: the delta of it, 1e-6.")] = None
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="May be spent in all, as zCDP.")] = None
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --persons: cautious, usual or generous; see account presets.",
            autocompletion=offer(presets),
        ),
    ] = None
    persons: Annotated[int | None, typer.Option(metavar="N", help="With --preset: a public number of persons.")] = None
    accountant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who adds up: basic, combined, pure, zcdp, renyi or gdp; else it follows.",
            autocompletion=offer(accountants),
        ),
    ] = None
    unit: Annotated[
        str,
        typer.Option(metavar="WORD", help="Who is protected: row, or person.", autocompletion=offer(["row", "person"])),
    ] = "row"
    adjacency: AdjacencyOption = None
    window_days: Annotated[
        int | None, typer.Option(metavar="N", help="A smaller limit for every stretch of N days beside it.")
    ] = None
    window_epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="What each stretch may cost.")] = None
    window_delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="Its delta; else that of all.")] = None
    window_rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="What each stretch may cost, as zCDP.")] = (
        None
    )
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
            raise ParameterError("--preset goes with --persons, and not with --epsilon, --delta or --rho.")
        adjacency = AddRemove if self.adjacency is None else exact_adjacency(self.adjacency)
        return suggest_budget(str(self.preset), persons=self.persons, adjacency=adjacency, unit=self.unit)

    def _window(self, limit: Guarantee) -> "Window | None":
        from celosia.ledger import Window

        if self.window_days is None:
            if (self.window_epsilon, self.window_delta, self.window_rho) != (None, None, None):
                raise ParameterError("--window-epsilon, --window-delta and --window-rho go with --window-days.")
            return None
        shared = str(limit.delta) if isinstance(limit, ApproxDP) and self.window_epsilon is not None else None
        inner = self._limit(self.window_epsilon, self.window_delta or shared, self.window_rho, "window-")
        return Window(seconds=self.window_days * _DAY, limit=inner)

    def _limit(self, epsilon: str | None, delta: str | None, rho: str | None, prefix: str) -> Guarantee:
        adjacency = AddRemove if self.adjacency is None else exact_adjacency(self.adjacency)
        if rho is not None and epsilon is None and delta is None:
            return ZCDP(rho=rho, adjacency=adjacency, unit=self.unit)
        if epsilon is None or rho is not None:
            end = f"or --{prefix}rho" if prefix else ", --rho or --preset"
            raise ParameterError(
                f"Give --{prefix}epsilon (with or without --{prefix}delta){' ' if prefix else ''}{end}."
            )
        if delta is None:
            return PureDP(epsilon=epsilon, adjacency=adjacency, unit=self.unit)
        return ApproxDP(epsilon=epsilon, delta=delta, adjacency=adjacency, unit=self.unit)


def _opened(url: str, *, create: bool = False) -> "Ledger":
    from celosia.ledger import open_ledger

    if url == "memory://":
        raise ParameterError("url: a ledger in memory is gone when the command ends; use sqlite:///budget.db.")
    return open_ledger(url, create=create)


@ledger.command("budget")
@spread
def _budget(url: _Url, options: BudgetOptions, dataset: _Dataset = None, analyst: _Analyst = None) -> None:
    """Open or change the budget of a data set, of an analyst, or of an analyst on a data set."""
    policy = options.policy()
    with _opened(url, create=True) as book:
        book.set_budget(policy, dataset=dataset, analyst=analyst)
        print_statement(
            [line for line in book.statement() if (line.scope.dataset, line.scope.analyst) == (dataset, analyst)]
        )


@ledger.command("show")
def _show(url: _Url, dataset: _Dataset = None, analyst: _Analyst = None, as_json: JsonOption = False) -> None:
    """Show the budgets: what was spent, what is left, and what a crash may have left open."""
    with _opened(url) as book:
        with waiting("Adding up"):
            lines, left = book.statement(dataset, analyst), book.open_reservations()
        if as_json:
            print_json({"budgets": [line.to_json() for line in lines], "open": len(left), "head": str(book.head)})
            return
        print_statement(lines)
    if left:
        words = f"{len(left)} reserved and not answered: running now, or left by a crash. They count as spent."
        print_line(words, style="dim")


@ledger.command("verify")
def _verify(
    url: _Url,
    head: Annotated[
        str | None, typer.Option(metavar="HEAD", help="A head that was kept elsewhere; must be in the log.")
    ] = None,
) -> None:
    """Look through the whole log: was anything edited, deleted or moved? Exit code 1 if so."""
    with _opened(url) as book, waiting("Reading the log"):
        found = book.verify(head)
    if not found.ok:
        print_line(f"NOT as it was written, after {found.lines} lines that hold. {found.problem}")
        raise typer.Exit(_BROKEN)
    print_line(f"As it was written: {found.lines} lines. Head {found.head}")


@ledger.command("export")
def _export(
    url: _Url,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there instead of standard output.")] = None,
) -> None:
    """Write the log as JSON, one line for each of its lines."""
    if output is not None:
        check_place(output, name="output", force=False)
    with _opened(url) as book, waiting("Reading the log"):
        if output is None:
            book.export(sys.stdout)
            return
        with output.open("x", encoding="utf-8") as file:
            number = book.export(file)
    print_line(f"{number} lines in {output}")


@ledger.command("head")
def _head(url: _Url) -> None:
    """Print the head: kept elsewhere, it proves later that nothing before it was rewritten."""
    with _opened(url) as book:
        print(book.head)  # noqa: T201 - the head itself, for a pipe
