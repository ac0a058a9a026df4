from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core import ParameterError, PureDP
from celosia.ledger import BudgetAccount, InMemoryBudget, Policy, as_account

if TYPE_CHECKING:
    from celosia.ledger import Ledger


def test_ledger_accounts_and_in_memory_budgets_are_accounts(ledger: Ledger) -> None:
    kept: BudgetAccount = ledger.account("deaths", "ana")
    memory: BudgetAccount = InMemoryBudget(PureDP(epsilon=1))
    for account in (kept, memory):
        assert isinstance(account, BudgetAccount)
        assert account.budget == account.limit == account.remaining == PureDP(epsilon=1)
        assert account.spent == PureDP(epsilon=0)
        assert account.history == ()
    assert (kept.allows_seeded, kept.caches) == (False, True)
    assert (memory.allows_seeded, memory.caches) == (True, False)
    assert (kept.allows_real, memory.allows_real) == (False, True)
    ledger.set_budget(Policy(limit=PureDP(epsilon=1), allow_real=True), dataset="births")
    assert ledger.account("births").allows_real


def test_something_else_is_not() -> None:
    assert not isinstance(object(), BudgetAccount)


def test_a_session_pays_from_its_account() -> None:
    import celosia as cl

    deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    assert as_account(session).budget == session.budget
    account = InMemoryBudget(PureDP(epsilon=1))
    assert as_account(account) is account


def test_other_objects_are_no_accounts() -> None:
    cases: list[object] = [None, 1.0, "sqlite:///budget.db"]
    for budget in cases:
        with pytest.raises(ParameterError, match="budget must be a Session"):
            as_account(budget)
