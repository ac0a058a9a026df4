"""The plan file of a command, the records that it names, and its application with a progress bar."""

from pathlib import Path
from typing import TYPE_CHECKING

from celosia.cli.account.show import waiting
from celosia.cli.guard.opening import print_message
from celosia.cli.query.commands import LedgerOptions
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.anonymity import Description, Microdata, Outcome


def read_plan(path: Path) -> "Description":
    """Return what a plan file says."""
    from celosia.anonymity import load_plan

    return load_plan(path)


def read_data(description: "Description", data: Path | None, released: Path | None = None) -> "Microdata":
    """Return the records of a plan, those of another file, or those of a released file."""
    from celosia.anonymity import read_microdata
    from celosia.anonymity.microdata.files import read_file

    if released is None:
        return description.read(data)
    # Its generalized columns have other values than those of the hierarchies; attacks look labels up by themselves.
    roles, hierarchies = description.roles.drop_identifiers(), description.hierarchies
    if description.plan.is_private:  # synthetic records have the columns of the last private step, and no others
        table, _ = read_file(released)
        roles = roles.keep_columns(table.column_names)
        hierarchies = {name: one for name, one in hierarchies.items() if name in table.column_names}
    return read_microdata(released, roles=roles, hierarchies=hierarchies)


def apply_plan(description: "Description", data: Path | None, *, budget: object = None) -> "Outcome":
    """Apply a plan to its records, or to those of another file; ``budget`` pays for private steps."""
    with waiting("cli_anonymity.applying"):
        return description.plan.apply(description.read(data), budget=budget)


def list_released(description: "Description") -> tuple[str, ...]:
    """Return the names of the columns that a plan releases; private records have those of the schema alone."""
    names = description.roles.drop_identifiers().names
    private = description.plan.is_private
    return tuple(name for name in names if not private or name in description.columns)


def refuse_private(description: "Description") -> None:
    """Refuse a plan that spends budget each time it is applied, for a command that only looks."""
    if description.plan.is_private:
        raise ParameterError("cli_anonymity.private_plan")


def warn_of_other_draw(description: "Description") -> None:
    """Say that a plan without a seed draws anew, so that what is shown is not about a file written before."""
    if description.plan.seed is None:
        print_message(Message("cli_anonymity.other_draw"))


def open_budget(description: "Description", options: LedgerOptions, data: Path | None) -> object:
    """Return the account of a ledger that pays for private steps, or None."""
    options.check()
    if options.ledger is None:
        return None
    from celosia.ledger import Scope, open_ledger

    place = data or description.input
    name = options.dataset or (place.stem if place is not None else "")
    ledger = open_ledger(options.ledger)
    if Scope(dataset=name) not in ledger.budgets:
        raise ParameterError("cli.ledger_without_budget", name=safe_repr(name), plain_name=name)
    return ledger.account(name, options.analyst)
