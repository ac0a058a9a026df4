"""Give a budget the privacy unit and adjacency of its data sets.

An epsilon for rows protects a person with many rows little. So a limit takes the unit and the adjacency of its tables;
a limit for tables with different ones is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_non_negative, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.datasets.declarations import declared_table
from celosia.ledger.budgets.policy import RULES
from celosia.ledger.reservations.reserving import first_number

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.ledger import Policy


RULE_NOTES: Final = ("guard.below_least_cost", "guard.needs_approval")
"""The codes of the notes that ``explain_rules`` returns."""


def scope_policy(policy: "Guarantee | Policy", datasets: Sequence[Dataset]) -> "Policy":
    """Return a policy with the privacy unit and adjacency of the tables of data sets."""
    from celosia.ledger import Policy

    if isinstance(policy, Guarantee):
        policy = Policy(limit=policy)
    if not isinstance(policy, Policy):
        raise ParameterError("guard.not_a_budget", value=safe_repr(policy))
    tables = [declared_table(dataset.name, dataset.schema_file) for dataset in datasets]
    if not tables:
        return policy
    if len({(table.unit, table.adjacency) for table in tables}) > 1:
        raise ParameterError("guard.datasets_protect_different_units")
    return _scope_limits(policy, tables[0])


def change_rules(policy: "Policy", present: "Policy | None", given: Mapping[str, str | None]) -> "Policy":
    """Return a policy with the rules of the present one, changed by those given: 0 and None remove a rule."""
    rules: dict[str, Any] = {} if present is None else {name: getattr(present, name) for name in RULES}
    for name, text in given.items():
        rules[name] = None if text is None or exact_non_negative(text, name=name) == 0 else text
    return replace(policy, **rules)


def explain_rules(policy: "Policy", cost: Guarantee) -> tuple[Message, ...]:
    """Return what the rules of a data set mean for a query of an analyst at this cost."""
    number, notes = first_number(cost), []
    if policy.least_cost is not None and number < policy.least_cost:
        notes.append(Message("guard.below_least_cost", least=float(policy.least_cost)))
    if policy.approval_above is not None and number > policy.approval_above:
        notes.append(Message("guard.needs_approval", most=float(policy.approval_above)))
    return tuple(notes)


def _scope_limits(policy: "Policy", table: "Table") -> "Policy":
    from celosia.query.opening import scoped_budget  # slow to import, and most commands set no budget

    window = policy.window
    if window is not None:
        window = replace(window, limit=scoped_budget(window.limit, table))
    # Both at once: the window and the limit of a policy must have the same unit.
    return replace(policy, limit=scoped_budget(policy.limit, table), window=window)
