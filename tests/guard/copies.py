"""Copies of a guard: one is set up, and each test begins with a copy of its store in memory."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from celosia.guard.service import Guard
from celosia.ledger.ledger import Ledger
from celosia.ledger.log.lines import system_clock
from celosia.ledger.state_reader import LedgerState
from celosia.ledger.store.store import Store

if TYPE_CHECKING:
    from celosia.guard.config.settings import Config

__all__ = ["dump_store", "open_copy"]


def _driver_connection(store: Store) -> sqlite3.Connection:
    with store.engine.connect() as connection:
        found = connection.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


def dump_store(guard: Guard) -> bytes:
    """Return the database of a guard in memory."""
    return _driver_connection(guard.ledger.store).serialize()


def open_copy(dumped: bytes, config: Config) -> Guard:
    """Open a guard in memory whose store is a copy of another."""
    assert config.store == "memory://"
    store = Store("memory://")
    _driver_connection(store).deserialize(dumped)
    return Guard(config, Ledger(LedgerState(store, system_clock)))
