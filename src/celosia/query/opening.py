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
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.in_memory_budget import InMemoryBudget

if TYPE_CHECKING:
    from celosia.ledger.budget_account import BudgetAccount
    from celosia.ledger.ledger import Ledger


def tables_by_name(tables: object) -> dict[str, Table]:
    """Return tables by name; refuse tables that one session cannot hold."""
    given = [tables] if isinstance(tables, Table) else list(tables) if isinstance(tables, Sequence) else []
    if not given or not all(isinstance(table, Table) for table in given):
        raise ParameterError(
            f"tables must be a table or a list of tables made by celosia.table(...), not {safe_repr(tables)}."
        )
    named = {table.name: table for table in given}
    if len(named) != len(given):
        raise ParameterError("Two tables have the same name: give one of them another (name=).")
    private = [table for table in given if not table.public]
    if not private:
        raise ParameterError("All tables are public: read them directly, without a session.")
    if len({(table.adjacency, table.person is None) for table in private}) != 1:
        raise ParameterError(
            "The private tables of a session must protect the same unit (row or person) and adjacency."
        )
    return named


def scoped_budget(budget: object, table: Table) -> Guarantee:
    """Return a budget with the adjacency and the unit of a table; refuse one with others."""
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        raise ParameterError(
            f"budget must be a PureDP, an ApproxDP or a ZCDP, such as PureDP(epsilon=1), not {safe_repr(budget)}."
        )
    refuse_same_changes(budget.adjacency, "A budget")
    if budget.adjacency is ReplaceOne and table.adjacency is AddRemove:
        raise ParameterError(
            "The budget is for ReplaceOne, the table for AddRemove: say table(..., adjacency=ReplaceOne)."
        )
    if budget.unit not in ("row", table.unit):
        raise ParameterError(
            f"The budget is for the unit {safe_repr(budget.unit)}, the table for {table.unit!r}: declare whose rows "
            "they are with table(..., person=...), or leave unit= out of the budget."
        )
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
            raise ParameterError(f"{given[0]}= goes with a ledger, which remembers who asked about what: give ledger=.")
        return InMemoryBudget(scoped_budget(budget, private[0]), name=private[0].name)
    if not all(hasattr(ledger, name) for name in ("account", "budgets", "open_budget")):
        raise ParameterError(
            f"ledger must be one opened by celosia.open_ledger('sqlite:///budget.db'), not {safe_repr(ledger)}."
        )
    if dataset is None and len(private) != 1:
        raise ParameterError(
            "The session has several private tables: say by which name the ledger knows them (dataset=)."
        )
    scope = Scope(dataset=private[0].name if dataset is None else dataset)
    wanted = None if budget is None else scoped_budget(budget, private[0])
    policy = ledger.budgets.get(scope)
    if policy is None:
        if wanted is None:
            raise ParameterError(
                f"The ledger has no budget for {scope}: give budget=, or ledger.set_budget(..., dataset=...)."
            )
        policy = ledger.open_budget(wanted, dataset=str(scope.dataset))
    _check_budget(policy.limit, wanted, scope, private[0])
    return ledger.account(str(scope.dataset), analyst)


def _check_budget(limit: Guarantee, wanted: Guarantee | None, scope: Scope, table: Table) -> None:
    """Refuse a ledger's budget with another adjacency or unit than the table, or another limit than expected."""
    if limit.adjacency is not table.adjacency or limit.unit != table.unit:
        raise ParameterError(
            f"The ledger's budget for {scope} is for {limit.adjacency!r} and a {limit.unit}, the table for "
            f"{table.adjacency!r} and a {table.unit}: ask the owner of the data which of them is right. A budget with "
            f"unit={table.unit!r} (--unit {table.unit}) and adjacency={table.adjacency!r} fits the table."
        )
    if not isinstance(limit, PureDP | ApproxDP | ZCDP):
        raise ParameterError(
            f"Queries spend from a PureDP, an ApproxDP or a ZCDP; the ledger's budget for {scope} is "
            f"{safe_repr(limit)}: ask the owner of the data for one of these."
        )
    if wanted is not None and limit != wanted:
        raise ParameterError(
            f"budget is {wanted}, but the ledger has {limit} for {scope}: leave budget= out, or change it with "
            "ledger.set_budget(...)."
        )
