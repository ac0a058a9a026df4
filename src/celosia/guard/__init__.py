"""The privacy guard: analysts ask, the guard answers with noise or not at all.

It stands between analysts and a database: users and keys, data sets and their schemas, budgets, questions and answers,
behind a JSON API and web pages. It is private because it holds no path to the data except :mod:`celosia.query`, which
reserves the cost in the :mod:`celosia.ledger` before it touches a row, and because its errors and timings speak of the
query and the schema, never of the data. ``celosia guard init`` sets one up; ``celosia.connect`` speaks to one.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from celosia.guard.app import create_app
    from celosia.guard.asking import Answer, Ask
    from celosia.guard.cards import ColumnCard, DatasetCard, TableCard
    from celosia.guard.client import connect
    from celosia.guard.config import Config, Limits, Oidc
    from celosia.guard.dataset import PublicTable
    from celosia.guard.directory import KeyCard, UserCard
    from celosia.guard.identity import Identity
    from celosia.guard.roles import Permission, Role
    from celosia.guard.server import serve
    from celosia.guard.service import Guard

__all__ = [
    "Answer",
    "Ask",
    "ColumnCard",
    "Config",
    "DatasetCard",
    "Guard",
    "Identity",
    "KeyCard",
    "Limits",
    "Oidc",
    "Permission",
    "PublicTable",
    "Role",
    "TableCard",
    "UserCard",
    "connect",
    "create_app",
    "serve",
]

# Loaded with the first use: a client needs no server, and a server no client.
_NAMES = {
    "Answer": "asking",
    "Ask": "asking",
    "ColumnCard": "cards",
    "Config": "config",
    "DatasetCard": "cards",
    "Guard": "service",
    "Identity": "identity",
    "KeyCard": "directory",
    "Limits": "config",
    "Oidc": "config",
    "Permission": "roles",
    "PublicTable": "dataset",
    "Role": "roles",
    "TableCard": "cards",
    "UserCard": "directory",
    "connect": "client",
    "create_app": "app",
    "serve": "server",
}


def __getattr__(name: str) -> "Any":  # noqa: ANN401 - any of the names above
    if name in _NAMES:
        return getattr(importlib.import_module(f"celosia.guard.{_NAMES[name]}"), name)
    message = f"module 'celosia.guard' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
