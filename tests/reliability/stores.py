"""Where ledgers are kept in these tests: a SQLite file, or a database of its own on a PostgreSQL server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    import pytest

__all__ = ["STORES", "store_url"]

STORES = ("sqlite", "postgresql")


def store_url(kind: str, request: pytest.FixtureRequest) -> str | None:
    """The address of an empty store; None for SQLite, whose file ``start_server`` puts beside its configuration."""
    if kind == "sqlite":
        return None
    import psycopg

    server = request.getfixturevalue("postgres")
    name = f"guard_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return str(urlunsplit(urlsplit(server)._replace(path=f"/{name}")))
