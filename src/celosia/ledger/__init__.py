"""Who spent what: the memory of every release.

``celosia.ledger("sqlite:///budget.db")`` opens a ledger: budgets, reservations and answers in one append-only log of
events, in memory, in a file or in PostgreSQL. It stores events, never an epsilon, so that history can be repriced by a
better accountant. It is two-phase: a cost is reserved, durably, before data are touched, and committed with the
release; a crash leaves the reservation spent, and two who ask at the same moment can never spend the same budget twice.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from celosia.ledger.budgets.policy import Policy, Window
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.statement import Line
from celosia.ledger.door import Door, door_of
from celosia.ledger.log.chain import Head, LogLine, Verification
from celosia.ledger.purse import Purse
from celosia.ledger.reservations.reservation import Request, Reservation

if TYPE_CHECKING:
    from typing import Any

    from celosia.ledger.account import Account
    from celosia.ledger.ledger import Ledger
    from celosia.ledger.opening import open_ledger

__all__ = [
    "Account",
    "Door",
    "Head",
    "Ledger",
    "Line",
    "LogLine",
    "Policy",
    "Purse",
    "Request",
    "Reservation",
    "Scope",
    "Verification",
    "Window",
    "door_of",
    "open_ledger",
]

# These need SQLAlchemy, which a session without a ledger does not.
_LATER = {"Account": "account", "Ledger": "ledger", "open_ledger": "opening"}


def __getattr__(name: str) -> "Any":
    if name in _LATER:
        return getattr(importlib.import_module(f"celosia.ledger.{_LATER[name]}"), name)
    raise AttributeError(f"module 'celosia.ledger' has no attribute {name!r}")


class _Room(ModuleType):
    """The room can be called: ``celosia.ledger(url)`` is ``celosia.ledger.open_ledger(url)``."""

    def __call__(self, url: str, **options: "Any") -> "Ledger":
        from celosia.ledger.opening import open_ledger

        return open_ledger(url, **options)


sys.modules[__name__].__class__ = _Room
