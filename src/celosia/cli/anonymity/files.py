"""The plan file of a command, the records that it names, and its application with a progress bar."""

from pathlib import Path
from typing import TYPE_CHECKING

from celosia.cli.account.show import waiting

if TYPE_CHECKING:
    from celosia.anonymity import Description, Microdata, Outcome


def read_plan(path: Path) -> "Description":
    """Return what a plan file says."""
    from celosia.anonymity import load_plan

    return load_plan(path)


def read_data(description: "Description", data: Path | None, released: Path | None = None) -> "Microdata":
    """Return the records of a plan, those of another file, or those of a released file."""
    from celosia.anonymity import read_microdata

    if released is None:
        return description.read(data)
    # Its generalized columns have other values than those of the hierarchies; attacks look labels up by themselves.
    return read_microdata(released, roles=description.roles.drop_identifiers(), hierarchies=description.hierarchies)


def apply_plan(description: "Description", data: Path | None) -> "Outcome":
    """Apply a plan to its records, or to those of another file."""
    with waiting("cli_anonymity.applying"):
        return description.plan.apply(description.read(data))
