"""Privacy guard: a server between analysts and a database that answers queries with noise, within a budget.

It holds users and keys, data sets and schemas, budgets, queries and answers, behind a JSON API and web pages. Its only
path to the data is :mod:`celosia.query`, which reserves the cost in the :mod:`celosia.ledger` before it reads a row.
Its errors and timings depend on the query and the schema, never on the data. ``celosia guard init`` sets up a guard;
``celosia.connect`` connects to one.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from celosia.guard.auth.directory import KeyCard, UserCard
    from celosia.guard.auth.identity import Identity
    from celosia.guard.client.connection import connect
    from celosia.guard.config.sections import Limits, Oidc
    from celosia.guard.config.settings import Config
    from celosia.guard.datasets.dataset import PublicTable
    from celosia.guard.roles import Permission, Role
    from celosia.guard.schema.replies import Answer, ColumnCard, DatasetCard, TableCard
    from celosia.guard.schema.requests import QueryRequest
    from celosia.guard.server.app import create_app
    from celosia.guard.server.serve import serve
    from celosia.guard.service import Guard

__all__ = [
    "Answer",
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
    "QueryRequest",
    "Role",
    "TableCard",
    "UserCard",
    "connect",
    "create_app",
    "serve",
]

# Loaded on first use: a client does not need the server, nor the server the client.
_NAMES = {
    "Answer": "schema.replies",
    "QueryRequest": "schema.requests",
    "ColumnCard": "schema.replies",
    "Config": "config.settings",
    "DatasetCard": "schema.replies",
    "Guard": "service",
    "Identity": "auth.identity",
    "KeyCard": "auth.directory",
    "Limits": "config.settings",
    "Oidc": "config.settings",
    "Permission": "roles",
    "PublicTable": "datasets.dataset",
    "Role": "roles",
    "TableCard": "schema.replies",
    "UserCard": "auth.directory",
    "connect": "client.connection",
    "create_app": "server.app",
    "serve": "server.serve",
}


def __getattr__(name: str) -> "Any":
    if name in _NAMES:
        return getattr(importlib.import_module(f"celosia.guard.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'celosia.guard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
