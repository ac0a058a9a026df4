"""Celosía: learn from data about people without exposing anyone.

One package, one command line and one budget ledger for statistics, queries, telemetry and models. This module has the
guarantees, adjacencies, releases and errors; the packages (``celosia.mechanisms``, ``celosia.noise``,
``celosia.testing``…) load on first use, so that ``import celosia`` is quick.

>>> import celosia
>>> celosia.mechanisms.Laplace(epsilon=1, sensitivity=1).guarantee == celosia.PureDP(epsilon=1)
True
"""

import importlib
from typing import TYPE_CHECKING

from celosia.core import (
    ZCDP,
    AddRemove,
    Adjacency,
    ApproxDP,
    CelosiaError,
    GaussianDP,
    Guarantee,
    PureDP,
    Release,
    RenyiDP,
    ReplaceOne,
    SameChanges,
)

if TYPE_CHECKING:
    from typing import Any

    from celosia import (
        accounting,
        audit,
        data,
        divergences,
        guard,
        learn,
        ledger,
        local,
        mechanisms,
        noise,
        plots,
        query,
        sketches,
        statistics,
        testing,
    )
    from celosia.data import Boolean, Category, Date, Integer, Real, Schema, Text, Timestamp, table
    from celosia.guard.client.connection import connect
    from celosia.ledger import open_ledger
    from celosia.query import Session

__version__ = "0.1.0"

_PACKAGES = (
    "accounting",
    "anonymity",
    "audit",
    "cli",
    "collector",
    "core",
    "data",
    "divergences",
    "experiments",
    "federated",
    "guard",
    "learn",
    "ledger",
    "local",
    "mechanisms",
    "noise",
    "plots",
    "query",
    "sketches",
    "statistics",
    "testing",
)

# Names that load their package on first use.
_LAZY_NAMES = {
    **dict.fromkeys(
        ("Boolean", "Category", "Date", "Integer", "Real", "Schema", "Text", "Timestamp", "table"),
        "data",
    ),
    "Session": "query",
    "open_ledger": "ledger",
    "connect": "guard.client.connection",
}

__all__ = [
    "ZCDP",
    "AddRemove",
    "Adjacency",
    "ApproxDP",
    "Boolean",
    "Category",
    "CelosiaError",
    "Date",
    "GaussianDP",
    "Guarantee",
    "Integer",
    "PureDP",
    "Real",
    "Release",
    "RenyiDP",
    "ReplaceOne",
    "SameChanges",
    "Schema",
    "Session",
    "Text",
    "Timestamp",
    "accounting",
    "audit",
    "connect",
    "data",
    "divergences",
    "guard",
    "learn",
    "ledger",
    "local",
    "mechanisms",
    "noise",
    "open_ledger",
    "plots",
    "query",
    "sketches",
    "statistics",
    "table",
    "testing",
]


def __getattr__(name: str) -> "Any":
    if name in _PACKAGES:
        return importlib.import_module(f"celosia.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"celosia.{_LAZY_NAMES[name]}"), name)
    raise AttributeError(f"module 'celosia' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_LAZY_NAMES})
