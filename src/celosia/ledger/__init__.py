"""Privacy ledgers: budgets, and a log of everything spent from them.

``celosia.open_ledger("sqlite:///budget.db")`` opens a ledger: budgets, reservations and answers in one append-only log
of events, in memory, in a file or in PostgreSQL. It stores events, never an epsilon, so that history can be repriced by
a better accountant. It is two-phase: a cost is reserved, durably, before data are read, and committed with the release.
A crash leaves the reservation spent, and concurrent queries never spend the same budget twice.
"""

import importlib
from typing import TYPE_CHECKING

from celosia.ledger.budget_account import BudgetAccount, InMemoryBudget, as_account
from celosia.ledger.budgets.policy import Policy, Window
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.statement import KindTotal, StatementLine
from celosia.ledger.log.chain import LogHead, LogLine, Verification
from celosia.ledger.reservations.reservation import Request, Reservation

if TYPE_CHECKING:
    from typing import Any

    from celosia.ledger.account import Account
    from celosia.ledger.ledger import Ledger
    from celosia.ledger.opening import open_ledger

__all__ = [
    "Account",
    "BudgetAccount",
    "InMemoryBudget",
    "KindTotal",
    "Ledger",
    "LogHead",
    "LogLine",
    "Policy",
    "Request",
    "Reservation",
    "Scope",
    "StatementLine",
    "Verification",
    "Window",
    "as_account",
    "open_ledger",
]

# These load SQLAlchemy, which a session without a ledger does not need.
_LAZY_NAMES = {"Account": "account", "Ledger": "ledger", "open_ledger": "opening"}


def __getattr__(name: str) -> "Any":
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"celosia.ledger.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module 'celosia.ledger' has no attribute {name!r}")
