"""``celosia query``: one query in SQL, one private answer.

The answer is a table on standard output, everything else goes to standard error. Without ``--ledger`` the command is a
session of its own with the given budget, and stores nothing: another call spends again. With it the cost is reserved in
the ledger before data are read, and a stored answer is returned without reading them. Errors in the query or its
options are found first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celosia.cli.account.options import spread
from celosia.cli.account.show import waiting
from celosia.cli.costs import cost, left
from celosia.cli.language import current_language, translate
from celosia.cli.tables import FileArgument, SchemaOption, TableOption, open_table, pair_keys
from celosia.cli.terminal import print_file, print_line
from celosia.cli.writing import check_chart, check_place, write_whole
from celosia.core import ZCDP, ApproxDP, Guarantee, ParameterError, PureDP
from celosia.core.exact import exact_level, exact_positive, exact_target, safe_repr
from celosia.core.messages.message import Message, join_messages, name_unit

if TYPE_CHECKING:
    from celosia.core.exact import Exact
    from celosia.data import Table
    from celosia.query import Query, Session
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryArguments:
    """The query and its tables, as given on the command line."""

    file: FileArgument
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="SELECT aggregates FROM the table; its name is the file's stem.")
    ]
    schema: SchemaOption
    table: TableOption = None
    public: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A public table to join with. May be repeated.")
    ] = None
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="For each --public the column, or columns a,b, that it is joined by."),
    ] = None

    def tables(self) -> "list[Table]":
        """Return the private table, without reading it, and the public ones."""
        from celosia.data import table

        keys = pair_keys(self.public, self.key)
        private = open_table(self.file, self.schema, self.table)
        return [private, *(table(file, public=True, key=key) for file, key in keys)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The cost or the accuracy of the answer, as given on the command line."""

    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The cost of the answer, such as 0.5; with --error, its limit.")
    ] = None
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="A delta beside it, such as 1e-6: private keys need one.")
    ] = None
    rho: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="In place of epsilon: zero-concentrated, Gaussian noise.")
    ] = None
    error: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER", help="Spend only what this error needs; of one column: count=50. May be repeated."
        ),
    ] = None
    confidence: Annotated[
        str, typer.Option(metavar="LEVEL", help="The probability with which intervals and --error hold.")
    ] = "0.95"
    rows: Annotated[
        str | None,
        typer.Option(metavar="N", help="A public guess of the rows in a group: errors of means depend on it."),
    ] = None

    def budget(self) -> Guarantee:
        """Return the limit of the spending."""
        if self.epsilon is None and self.rho is None:
            raise ParameterError("cli.no_single_cost")
        epsilon, delta, rho = exact_target(epsilon=self.epsilon, delta=self.delta, rho=self.rho)
        if rho is not None:
            return ZCDP(rho=rho)
        return ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)

    def target(self) -> dict[str, Any]:
        """Return the target of the session."""
        exact_level(self.confidence)
        if self.epsilon is None and self.rho is None and not self.error:
            raise ParameterError("cli.no_cost_or_error")
        delta = {} if self.delta is None else {"delta": self.delta}
        rows = {} if self.rows is None else {"rows": float(exact_positive(self.rows, name="rows"))}
        if self.error:
            return {"error": self._errors(self.error), "confidence": self.confidence, **delta, **rows}
        spent = {"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}
        return {**spent, **delta, **rows}

    def _errors(self, given: list[str]) -> "Exact | Mapping[str, Exact]":
        if len(given) == 1 and "=" not in given[0]:
            return given[0]
        named = dict(text.rpartition("=")[::2] for text in given)
        if "" in named or len(named) != len(given):
            raise ParameterError("cli.invalid_error_option", value=safe_repr(" ".join(given)))
        return named


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """The ledger of the budget, as given on the command line."""

    ledger: Annotated[
        str | None, typer.Option(metavar="URL", help="Pay from the budget in this ledger, such as sqlite:///budget.db.")
    ] = None
    analyst: Annotated[str | None, typer.Option(metavar="NAME", help="With --ledger: the analyst.")] = None
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --ledger: the data set of the budget; by default the table's name."),
    ] = None

    def check(self) -> None:
        """Refuse a name without a ledger."""
        for name in ("analyst", "dataset"):
            if self.ledger is None and getattr(self, name) is not None:
                raise ParameterError("cli.option_needs_ledger", name=name)

    def session_options(self, spending: Spending, table: str) -> dict[str, Any]:
        """Return the options of a session for its budget."""
        if self.ledger is None:
            return {"budget": spending.budget()}
        from celosia.ledger import Scope, open_ledger

        ledger, name = open_ledger(self.ledger), self.dataset or table
        if Scope(dataset=name) not in ledger.budgets:
            raise ParameterError("cli.ledger_without_budget", name=safe_repr(name), plain_name=name)
        return {"ledger": ledger, "analyst": self.analyst, "dataset": name}

    def describe_rest(self, session: "Session", without: Message) -> Message:
        """Return what is left in the ledger, or the sentence of a command without one."""
        return without if self.ledger is None else Message("cli_query.left_in_ledger", left=left(session.remaining))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The outputs of the answer, as given on the command line."""

    preview: Annotated[
        bool, typer.Option("--preview", help="Print the cost and the expected error; spend nothing.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: rows, intervals, guarantee, event.")] = False
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the answer as CSV, a low and a high beside each number; - prints it."),
    ] = None
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw bars with intervals into a .svg, .png or .html.")
    ] = None

    def check(self) -> None:
        """Refuse options that exclude each other, before data are read."""
        if self.as_json and self.prints_csv:
            raise ParameterError("cli.both_json_and_csv")
        if self.preview and not self.csv is self.chart is None:
            raise ParameterError("cli.preview_has_no_output")
        if self.csv is not None and not self.prints_csv:
            check_place(self.csv, name="csv")
        if self.chart is not None:
            check_chart(self.chart, name="chart")

    @property
    def prints_csv(self) -> bool:
        """Whether CSV goes to standard output, in place of the table."""
        return self.csv == Path("-")


def describe_spending(guarantee: Guarantee) -> Message:
    """Return what an answer has cost, whom, and for which neighbours."""
    fields = {"cost": cost(guarantee), "unit": name_unit(guarantee.unit), "adjacency": guarantee.adjacency.value}
    return Message("cli_query.spent", **fields)


@spread
def query(arguments: QueryArguments, spending: Spending, ledger_options: LedgerOptions, output: OutputOptions) -> None:
    """Query a file or database in SQL and print the private answer with its intervals."""
    output.check()
    ledger_options.check()
    if ledger_options.ledger is None:
        spending.budget()
    target = spending.target()
    with waiting("cli_query.reading_query"):
        from celosia.query import Session

        tables = arguments.tables()
        session = Session(tables, progress=_hide_progress, **ledger_options.session_options(spending, tables[0].name))
        question = session.sql(arguments.sql)
        preview = question.preview(level=spending.confidence, **target)
    if output.preview:
        _print_preview(question, preview, as_json=output.as_json)
        return
    if output.chart is not None:
        _check_chart(question, session)
    with waiting("cli_query.answering"):
        done = session.ask(question.plan, **target)
        release = done.release or question.release(**target)
    repeated = done.reservation.state == "repeated"
    _print_answer(question, release, output, spending.confidence)
    for note in release.notes:
        print_line(Message("cli.note", note=note), style="dim", stderr=True)
    summary = describe_spending(release.guarantee)
    if repeated:
        summary = Message("cli_query.answered_before", cost=cost(release.guarantee))
    rest = ledger_options.describe_rest(session, Message("cli_query.nothing_stored"))
    print_line(join_messages([summary, rest]), style="dim", stderr=True)


def _print_preview(question: "Query", preview: "Preview", *, as_json: bool) -> None:
    from celosia.cli.account.show import print_json
    from celosia.cli.query.show import preview_object

    if as_json:
        print_json(preview_object(question, preview))
    else:
        print_line("\n  ".join(map(translate, preview.describe())))
    print_line(Message("cli_query.nothing_spent"), style="dim", stderr=True)


def _print_answer(question: "Query", release: "TableRelease", output: OutputOptions, level: str) -> None:
    from celosia.cli.account.show import print_json
    from celosia.cli.query.show import answer_object, csv_text, print_table

    if output.as_json:
        print_json(answer_object(question, release, level))
    elif output.prints_csv:
        print_file(csv_text(release, level))
    else:
        print_table(release, level)
    if output.csv is not None and not output.prints_csv:
        write_whole(output.csv, csv_text(release, level), name="csv")
        print_line(str(output.csv), stderr=True)
    if output.chart is not None:
        with waiting("cli.drawing"):
            from celosia.plots import save

            save(release.plot(level=level, language=current_language()), output.chart)
        print_line(str(output.chart), stderr=True)


def _check_chart(question: "Query", session: "Session") -> None:
    """Refuse a chart of an answer without intervals, before it is paid for."""
    from celosia.query.planning.analysis import analyze_plan
    from celosia.query.postprocessing.output_intervals import output_interval

    needs = [
        need for need in analyze_plan(question.plan, session.tables).aggregate_measurements if need.has_number_intervals
    ]
    ends: Any = len  # an interval that is only looked for
    numbers = {name: ends for need in needs for name, _ in need.answers}
    if not any(output_interval(expression, numbers) for _, expression in question.plan.outputs):
        raise ParameterError("cli.nothing_to_draw")


def _hide_progress(share: float) -> None:
    """Suppress the session's progress bar: the command shows its own."""
