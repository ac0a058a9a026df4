"""Who spent what: the memory of every release.

``celosia.open_ledger("sqlite:///budget.db")`` opens a ledger: budgets, reservations and answers in one append-only log
of events, in memory, in a file or in PostgreSQL. It stores events, never an epsilon, so that history can be repriced by
a better accountant. It is two-phase: a cost is reserved, durably, before data are touched, and committed with the
release; a crash leaves the reservation spent, and two who ask at the same moment can never spend the same budget twice.
"""

import importlib
from typing import TYPE_CHECKING

from celosia.ledger.budget_account import BudgetAccount, as_account
from celosia.ledger.budgets.policy import Policy, Window
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.statement import Line
from celosia.ledger.in_memory_budget import InMemoryBudget
from celosia.ledger.log.chain import Head, LogLine, Verification
from celosia.ledger.reservations.reservation import Request, Reservation

if TYPE_CHECKING:
    from typing import Any

    from celosia.ledger.account import Account
    from celosia.ledger.ledger import Ledger
    from celosia.ledger.opening import open_ledger

__all__ = [
    "Account",
    "BudgetAccount",
    "Head",
    "InMemoryBudget",
    "Ledger",
    "Line",
    "LogLine",
    "Policy",
    "Request",
    "Reservation",
    "Scope",
    "Verification",
    "Window",
    "as_account",
    "open_ledger",
]

# These need SQLAlchemy, which a session without a ledger does not.
_LATER = {"Account": "account", "Ledger": "ledger", "open_ledger": "opening"}


def __getattr__(name: str) -> "Any":
    if name in _LATER:
        return getattr(importlib.import_module(f"celosia.ledger.{_LATER[name]}"), name)
    raise AttributeError(f"module 'celosia.ledger' has no attribute {name!r}")
