"""Validate tables and budget, and open the budget account.

A budget in a ledger belongs to a data set, not to a session: it is opened once, and every session on the data set, in
any process, spends from it. A session may name the budget it expects, and is refused if the ledger has another one. If
two sessions open one data set at once with different budgets, the first sets its own and the second is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from celosia.core.adjacency import AddRemove, ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import refuse_same_changes, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.data.table import Table
from celosia.ledger.budget_account import InMemoryBudget
from celosia.ledger.budgets.scope import Scope

if TYPE_CHECKING:
    from celosia.ledger.budget_account import BudgetAccount
    from celosia.ledger.ledger import Ledger


def tables_by_name(tables: object) -> dict[str, Table]:
    """Return tables by name; refuse tables that one session cannot hold."""
    given = [tables] if isinstance(tables, Table) else list(tables) if isinstance(tables, Sequence) else []
    if not given or not all(isinstance(table, Table) for table in given):
        raise ParameterError("query.not_a_table", value=safe_repr(tables))
    named = {table.name: table for table in given}
    if len(named) != len(given):
        raise ParameterError("query.duplicate_session_table")
    private = [table for table in given if not table.public]
    if not private:
        raise ParameterError("query.no_private_table")
    if len({(table.adjacency, table.person is None) for table in private}) != 1:
        raise ParameterError("query.tables_protect_differently")
    return named


def scoped_budget(budget: object, table: Table) -> Guarantee:
    """Return a budget with the adjacency and the unit of a table; refuse one with others."""
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        raise ParameterError("query.not_a_session_budget", value=safe_repr(budget))
    refuse_same_changes(budget.adjacency, "core.same_changes_budget")
    if budget.adjacency is ReplaceOne and table.adjacency is AddRemove:
        raise ParameterError("query.budget_adjacency_mismatch")
    if budget.unit not in ("row", table.unit):
        raise ParameterError("query.budget_unit_mismatch", unit=safe_repr(budget.unit), table_unit=repr(table.unit))
    return replace(budget, adjacency=table.adjacency, unit=table.unit)


def open_account(
    tables: Mapping[str, Table],
    *,
    budget: Guarantee | None = None,
    ledger: "Ledger | None" = None,
    analyst: str | None = None,
    dataset: str | None = None,
) -> "BudgetAccount":
    """Return the budget account: one in memory, or that of an analyst on a data set of a ledger."""
    private = [table for table in tables.values() if not table.public]
    if ledger is None:
        given = [name for name, value in (("analyst", analyst), ("dataset", dataset)) if value is not None]
        if given:
            raise ParameterError("query.argument_needs_ledger", name=given[0])
        return InMemoryBudget(scoped_budget(budget, private[0]), name=private[0].name)
    if not all(hasattr(ledger, name) for name in ("account", "budgets", "open_budget")):
        raise ParameterError("query.not_a_ledger", value=safe_repr(ledger))
    if dataset is None and len(private) != 1:
        raise ParameterError("query.dataset_name_missing")
    scope = Scope(dataset=private[0].name if dataset is None else dataset)
    wanted = None if budget is None else scoped_budget(budget, private[0])
    policy = ledger.budgets.get(scope)
    if policy is None:
        if wanted is None:
            raise ParameterError("query.ledger_without_budget", scope=scope.message)
        policy = ledger.open_budget(wanted, dataset=str(scope.dataset))
    _check_budget(policy.limit, wanted, scope, private[0])
    return ledger.account(str(scope.dataset), analyst)


def _check_budget(limit: Guarantee, wanted: Guarantee | None, scope: Scope, table: Table) -> None:
    """Refuse a ledger's budget with another adjacency or unit than the table, or another limit than expected."""
    if limit.adjacency is not table.adjacency or limit.unit != table.unit:
        raise ParameterError(
            "query.ledger_budget_protects_differently",
            scope=scope.message,
            adjacency=repr(limit.adjacency),
            unit=limit.unit,
            table_adjacency=repr(table.adjacency),
            table_unit=table.unit,
            unit_argument=repr(table.unit),
        )
    if not isinstance(limit, PureDP | ApproxDP | ZCDP):
        raise ParameterError("query.ledger_budget_kind_unsupported", scope=scope.message, found=safe_repr(limit))
    if wanted is not None and limit != wanted:
        raise ParameterError("query.budget_differs_from_ledger", wanted=wanted, found=limit, scope=scope.message)
