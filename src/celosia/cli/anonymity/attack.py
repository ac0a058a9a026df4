"""``celosia anonymity attack``: what others would learn from a file, as it is and as the plan makes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celosia.cli.account.show import waiting
from celosia.cli.anonymity.files import apply_plan, read_data, read_plan, refuse_private
from celosia.cli.language import current_language, say
from celosia.cli.terminal import print_line
from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from celosia.anonymity import Microdata


def attack(
    plan_file: Annotated[
        Path, typer.Argument(metavar="PLAN", help="The plan file; celosia anonymity plan writes one.")
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Records to read instead of the input that the plan names."),
    ] = None,
    released: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Attack this released file, and do not apply the plan.")
    ] = None,
    register: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of persons whom the attacker knows.")
    ] = None,
    identity: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of the register that names the person.")
    ] = None,
    last_year: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another released file about the same persons.")
    ] = None,
) -> None:
    """Attack a file: by linkage, homogeneity, background knowledge, skewness, distance, and with another release.

    Without --released the plan is applied, and both the original and the result are attacked. The results tell what
    others would learn; they are as confidential as the data.
    """
    if (register is None) != (identity is None) or (last_year is not None and register is None):
        raise ParameterError("cli_anonymity.register_incomplete")
    description = read_plan(plan_file)
    people = None if register is None else _read_table(register)
    other = None if last_year is None else read_data(description, None, last_year)
    if released is not None:
        file = read_data(description, None, released)
        _print("cli_anonymity.attack_released", _attack(file, None, people, identity, other))
        return
    refuse_private(description)
    outcome = apply_plan(description, data)
    original, masked = outcome.original, outcome.data
    _print("cli_anonymity.attack_original", _attack(original, None, people, identity, other))
    _print("cli_anonymity.attack_masked", _attack(masked, original, people, identity, other))


def _read_table(path: Path) -> Any:
    from celosia.anonymity.microdata.files import read_file

    table, _ = read_file(path)
    return table


def _attack(
    file: "Microdata", original: "Microdata | None", people: Any, identity: str | None, other: "Microdata | None"
) -> Iterator[Any]:
    """Yield the result of each attack that the given tables allow."""
    from celosia.audit import releases

    # A generalized file keeps only the levels above its labels: the register's values need them all.
    hierarchies = file.hierarchies if original is None else original.hierarchies

    if people is not None and identity is not None:
        yield releases.link_identities(file, people, identity=identity, hierarchies=hierarchies)
    if original is not None and (names := _list_comparable(original, file)):
        yield releases.link_masked_records(original, file, names)
    for column in file.roles.sensitive:
        yield releases.find_homogeneity(file, column)
        yield releases.rule_out_values(file, column)
        yield releases.measure_skewness(file, column)
        if people is not None and identity is not None and other is not None:
            yield releases.intersect_releases(
                file, other, people, identity=identity, column=column, hierarchies=hierarchies
            )


def _list_comparable(original: "Microdata", masked: "Microdata") -> list[str]:
    """Return the quasi-identifiers whose values are still of their kind: labels have no distance from numbers."""
    kinds = [one.table.schema for one in (original, masked)]
    return [name for name in masked.roles.quasi_identifiers if kinds[0].field(name).type == kinds[1].field(name).type]


def _print(code: str, results: Iterator[Any]) -> None:
    with waiting("cli_anonymity.attacking"):
        texts = [found.describe(current_language()) for found in results]
    print_line(say(code), style="bold")
    for text in texts:
        print_line(text)
    print_line("")
