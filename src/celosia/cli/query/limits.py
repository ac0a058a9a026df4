"""``celosia limits``: contribution limits for a table of persons, chosen privately.

The command spends like a query: it measures how many groups and rows persons have, with noise, and prints what limits
would cut off and how much noise they would need.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celosia.cli.account.options import spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.costs import cost
from celosia.cli.language import current_language, translate
from celosia.cli.query.commands import LedgerOptions, QueryArguments, Spending
from celosia.cli.tables import FileArgument, TableOption
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_chart
from celosia.core.messages.message import Message, join_messages, name_unit

if TYPE_CHECKING:
    from celosia.query import LimitSuggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The table and the groups of the limits, as given on the command line."""

    file: FileArgument
    schema: Annotated[Path, typer.Option(metavar="SCHEMA", help="The schema file of the table; it must have a person.")]
    table: TableOption = None
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="What queries group by: a column or an expression. May be repeated."),
    ] = None
    where: Annotated[str | None, typer.Option(metavar="CONDITION", help="Which rows count, as in SQL.")] = None
    planned: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The cost of a later query; by default that of this command.")
    ] = None
    most_rows: Annotated[
        int, typer.Option(metavar="N", help="The largest limit of rows that is tried, a power of two.")
    ] = 1024

    def question(self, target: dict[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return the arguments of the session, by position and by name."""
        return tuple(self.by or ()), {"where": self.where, "most_rows": self.most_rows, **target}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsOptions:
    """The cost of the measurement and its outputs, as given on the command line."""

    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The cost of the measurement, such as 0.5.")] = (
        None
    )
    rho: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="In place of epsilon: zero-concentrated, Gaussian noise.")
    ] = None
    preview: Annotated[bool, typer.Option("--preview", help="Print the cost; spend nothing.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the candidates and the best of them.")] = False
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the expected errors into a .svg, .png or .html.")
    ] = None

    def spending(self) -> Spending:
        """Return the cost as a query states it."""
        return Spending(epsilon=self.epsilon, rho=self.rho)


@spread
def limits(about: About, limits_options: LimitsOptions, ledger_options: LedgerOptions) -> None:
    """Suggest limits of groups and rows for each person, and print the expected errors of each choice."""
    if limits_options.chart is not None:
        check_chart(limits_options.chart, name="chart")
    ledger_options.check()
    spending = limits_options.spending()
    spending.budget()
    with waiting("cli_query.reading_query"):
        from celosia.query import Session

        arguments = QueryArguments(file=about.file, sql="", schema=about.schema, table=about.table)
        (table,) = arguments.tables()
        session = Session(table, progress=lambda _: None, **ledger_options.session_options(spending, table.name))
        groups, options = about.question(spending.target())
        preview = session.preview_limits(*groups, **options)
    if limits_options.preview:
        if limits_options.as_json:
            print_json(preview.to_dict())
        else:
            print_line("\n  ".join(map(translate, preview.describe())))
        print_line(Message("cli_query.nothing_spent"), style="dim", stderr=True)
        return
    with waiting("cli_query.measuring"):
        found = session.suggest_limits(*groups, planned=about.planned, **options)
    _show(found, limits_options)
    summary = Message("cli_query.spent_on_limits", cost=cost(found.guarantee), unit=name_unit(found.guarantee.unit))
    rest = ledger_options.describe_rest(session, Message("cli_query.nothing_stored"))
    print_line(join_messages([summary, rest]), style="dim", stderr=True)


def _show(found: "LimitSuggestion", limits_options: LimitsOptions) -> None:
    if limits_options.as_json:
        best = {"max_groups_per_person": found.best.groups, "max_rows_per_group": found.best.rows}
        print_json({"best": best, "candidates": found.to_arrow().to_pylist(), "notes": list(found.notes)})
    else:
        print_line(found.describe(current_language()))
    if limits_options.chart is not None:
        with waiting("cli.drawing"):
            from celosia.plots import save

            save(found.plot(language=current_language()), limits_options.chart)
        print_line(str(limits_options.chart), stderr=True)
