"""``celosia anonymity plan``: try plans on a file, and write the one that is recommended."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from celosia.cli.account.options import spread
from celosia.cli.account.show import waiting
from celosia.cli.guard.opening import print_message
from celosia.cli.language import current_language
from celosia.cli.terminal import print_file, print_line
from celosia.cli.writing import check_chart, check_place, write_whole
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from celosia.anonymity import Hierarchy, Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Options that say what each column is."""

    identifier: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that names a person; may be repeated.")
    ] = None
    quasi_identifier: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that others may know; may be repeated.")
    ] = None
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that nobody should learn; may be repeated.")
    ] = None
    other: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that reveals nothing; may be repeated.")
    ] = None
    weight: Annotated[str | None, typer.Option(metavar="NAME", help="The column of sampling weights.")] = None
    household: Annotated[str | None, typer.Option(metavar="NAME", help="The column of household numbers.")] = None
    stratum: Annotated[str | None, typer.Option(metavar="NAME", help="The column of strata.")] = None
    wildcard: Annotated[
        bool, typer.Option("--wildcard", help="A null may be any value; by default it is a value of its own.")
    ] = False
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="The hierarchy of a column, a CSV file; may be repeated."),
    ] = None

    def make_roles(self) -> "Roles":
        """Return the roles."""
        from celosia.anonymity import Roles

        return Roles(
            identifiers=self.identifier or (),
            quasi_identifiers=self.quasi_identifier or (),
            sensitive=self.sensitive or (),
            others=self.other or (),
            weight=self.weight,
            household=self.household,
            stratum=self.stratum,
            nulls="wildcard" if self.wildcard else "category",
        )

    def read_hierarchies(self) -> "dict[str, Hierarchy]":
        """Return the hierarchies by column."""
        from celosia.anonymity import read_hierarchy
        from celosia.anonymity.plans.settings import name_section

        found: dict[str, Hierarchy] = {}
        for name, path in map(_split, self.hierarchy or ()):
            with name_section(f"--hierarchy {name}"):
                found[name] = read_hierarchy(path)
        return found


def _split(text: str) -> Sequence[str]:
    name, sign, path = text.partition("=")
    if not (name and sign and path):
        raise ParameterError("cli_anonymity.not_a_column_and_file", value=safe_repr(text))
    return name, path


@spread
def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The records: CSV, Parquet, SPSS (.sav), Stata (.dta) or SAS.")
    ],
    columns: Columns,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="SCHEMA", help="A schema file, to try private synthetic records too; see celosia schema."),
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="The least number of records of a class.")] = 5,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the plan goes; by default to standard output.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw risk and loss of the plans: .svg, .png or .html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a plan that is there.")] = False,
) -> None:
    """Try a handful of plans on a file, compare their risk and loss, and write the recommended one.

    Every column needs a role: they are never guessed. The comparison is as confidential as the data.
    """
    import dataclasses

    from celosia.anonymity import KAnonymity, read_microdata, suggest, write_plan
    from celosia.data.schema_file import read_schema_file

    if output is not None:
        check_place(output, name="output", force=force)
    if chart is not None:
        check_chart(chart, name="chart")
    data = read_microdata(file, roles=columns.make_roles(), hierarchies=columns.read_hierarchies())
    for name, hierarchy in data.hierarchies.items():  # else plans that need it would only be left out
        hierarchy.generalize(data.encode([name])[0].labels, name=name)
    declared = None if schema is None else read_schema_file(schema).schema
    with waiting("cli_anonymity.trying") as show:
        found = suggest(
            data,
            target=[KAnonymity(k)],
            schema=declared,
            on_trial=lambda name: show("cli_anonymity.trying_plan", plan=name),
        )
    for line in found.describe(current_language()).splitlines():
        print_message(line)
    if chart is not None:
        found.draw(language=current_language()).save(str(chart))
        print_message(str(chart))
    text = write_plan(dataclasses.replace(found.make_description(), input=file.absolute()))
    if output is None:
        print_file(text)
    else:
        write_whole(output, text, name="output", force=force)
        print_line(str(output))
