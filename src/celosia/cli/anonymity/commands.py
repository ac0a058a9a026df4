"""``celosia anonymity``: make a plan for a file of records, apply it, measure, report and attack the result.

A plan file names the input, the role of each column, the steps and the output, so that the other commands need no more
than its path. Tables and reports go to standard output or to files, messages to standard error.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from celosia.cli.account.options import JsonOption, commands, spread
from celosia.cli.account.show import print_json, waiting
from celosia.cli.anonymity.attack import attack
from celosia.cli.anonymity.files import (
    apply_plan,
    list_released,
    open_budget,
    read_data,
    read_plan,
    refuse_private,
    warn_of_other_draw,
)
from celosia.cli.anonymity.plan import plan
from celosia.cli.guard.opening import print_message
from celosia.cli.language import current_language
from celosia.cli.query.commands import LedgerOptions, describe_spending
from celosia.cli.terminal import print_line
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.anonymity import Measures, Outcome, RiskMeasures
    from celosia.anonymity.report import Audience

anonymity = commands("anonymity", "Release a file of records about people: plan, mask, measure, report, attack.")
"""The sub-command."""

anonymity.command("plan")(plan)

PlanArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="PLAN", help="The plan file; celosia anonymity plan writes one.")
]
DataOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="Records to read instead of the input that the plan names."),
]
ForceOption: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Options of the reports of a release."""

    inside: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The report with the risk, as confidential as the data.")
    ] = None
    outside: Annotated[Path | None, typer.Option(metavar="FILE", help="The report for those who receive the file.")] = (
        None
    )
    title: Annotated[str, typer.Option(metavar="TEXT", help="The name of the file in the title.")] = ""

    def list_places(self) -> "dict[Audience, Path]":
        """Return the files to write, by audience."""
        places: dict[Audience, Path | None] = {"inside": self.inside, "outside": self.outside}
        return {name: path for name, path in places.items() if path is not None}

    def check(self, *, force: bool) -> None:
        """Refuse files that cannot be written."""
        for name, path in self.list_places().items():
            check_place(path, name=name, force=force)

    def write(self, outcome: "Outcome", *, force: bool) -> None:
        """Write the reports, and print where they are."""
        from celosia.anonymity import make_report

        places, language = self.list_places(), current_language()
        with waiting("cli_anonymity.reporting"):
            pages = {name: make_report(outcome, audience=name, language=language, title=self.title) for name in places}
        for name, page in pages.items():
            write_whole(places[name], page, name=name, force=force)
            print_line(str(places[name]))


@anonymity.command("apply")
@spread
def _apply(
    plan_file: PlanArgument,
    reports: Reports,
    remembered: LedgerOptions,
    data: DataOption = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the result goes: .csv, .parquet, .sav, .dta, .xpt or .por."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what each step did, as JSON; it is confidential.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Apply a plan, and write the file to publish, with its log and reports.

    Private steps spend budget: with --ledger from a ledger, else nothing is stored and every call spends again.
    """
    from celosia.anonymity.microdata.files import check_file_name, check_names_fit, write_file

    description = read_plan(plan_file)
    target = output or description.output
    if target is None:
        raise ParameterError("cli_anonymity.no_output", plan=repr(str(plan_file)))
    check_file_name(target)
    check_names_fit(list_released(description), target)
    for path, name in ((target, "output"), (log, "log")):
        if path is not None:
            check_place(path, name=name, force=force)
    reports.check(force=force)
    outcome = apply_plan(description, data, budget=open_budget(description, remembered, data))
    with waiting("cli_anonymity.writing"):
        write_file(outcome.to_release(), target, outcome.data.labels)
    print_line(str(target))
    if log is not None or not description.plan.is_private:
        with waiting("cli_anonymity.measuring"):
            _ = outcome.log  # computed when it is first asked for
    if log is not None:
        entries = [entry.to_dict() for entry in outcome.log]
        write_whole(log, json.dumps(entries, indent=2, default=str) + "\n", name="log", force=force)
    for entry in () if description.plan.is_private else outcome.log:  # a log of the true records is for its file
        print_message(str(entry))
    for guarantee in outcome.guarantees:
        print_message(describe_spending(guarantee))
    if not outcome.data.is_synthetic:
        print_message(Message("cli_anonymity.not_private"))
    reports.write(outcome, force=force)


@anonymity.command("measure")
def _measure(
    plan_file: PlanArgument,
    data: DataOption = None,
    released: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A released file, which has no identifiers.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure k, l and t of a file: that of the plan, or a released one."""
    from celosia.anonymity import measure

    with waiting("cli_anonymity.measuring"):
        found = measure(read_data(read_plan(plan_file), data, released))
    if as_json:
        print_json(_list_measures(found))
    else:
        print_line(found.describe(current_language()))


def _list_measures(found: "Measures") -> dict[str, object]:
    about = {name: getattr(found, name) for name in ("rows", "classes", "k", "uniques", "average_class_size")}
    risks = {name: getattr(found, name) for name in ("highest_risk", "average_risk")}
    kinds = ("distinct", "entropy", "recursive", "equal", "ordered", "hierarchical", "alpha")
    sensitive = {name: {kind: getattr(one, kind) for kind in kinds} for name, one in found.sensitive.items()}
    return {**about, **risks, "sensitive": sensitive}


@anonymity.command("risk")
def _risk(
    plan_file: PlanArgument,
    data: DataOption = None,
    released: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A released file, which has no identifiers.")
    ] = None,
    threshold: Annotated[float, typer.Option(metavar="SHARE", help="The risk above which a record is unsafe.")] = 0.1,
    special_uniques: Annotated[
        int,
        typer.Option("--special-uniques", metavar="N", help="Also look for sets of up to N values that are unique."),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure the risk of re-identification: of records, households and the whole file, with weights."""
    from celosia.anonymity import find_special_uniques, measure_risk

    with waiting("cli_anonymity.measuring"):
        file = read_data(read_plan(plan_file), data, released)
        found = measure_risk(file, threshold=threshold)
        uniques = find_special_uniques(file, max_size=special_uniques) if special_uniques else None
    if as_json:
        print_json(_list_risks(found))
        return
    print_line(found.describe(current_language()))
    if uniques is not None:
        print_line("")
        print_line(uniques.describe(current_language()))


def _list_risks(found: "RiskMeasures") -> dict[str, object]:
    names = ("smallest_class", "smallest_population", "uniques", "expected", "rate", "household_rate", "marketer")
    worst = {"prosecutor": float(found.prosecutor.max()), "journalist": float(found.journalist.max())}
    unsafe = {"unsafe": int(found.unsafe.sum()), "threshold": found.threshold}
    return {name: getattr(found, name) for name in names} | worst | unsafe


@anonymity.command("report")
@spread
def _report(plan_file: PlanArgument, reports: Reports, data: DataOption = None, force: ForceOption = False) -> None:
    """Apply a plan again, and write reports of it as HTML pages, in the language of the command.

    A plan without a seed draws anew: write its reports with apply, so that they are about the file that is published.
    """
    if not reports.list_places():
        raise ParameterError("cli_anonymity.no_report")
    reports.check(force=force)
    description = read_plan(plan_file)
    refuse_private(description)
    warn_of_other_draw(description)
    reports.write(apply_plan(description, data), force=force)


anonymity.command("attack")(attack)
