"""From a URL to a SQLAlchemy engine that keeps a ledger's promises: explicit transactions, on the disk when committed.

Python's driver for SQLite begins transactions by its own rules, which are switched off here (``BEGIN IMMEDIATE`` is
said in so many words). A URL may hold a password: it is never shown.
"""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from celosia.core.errors import LedgerError, ParameterError
from celosia.core.extras import require

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_PATIENCE: Final = 60_000  # milliseconds that a writer waits for the others
_IDLE: Final = 60_000  # milliseconds after which a writer that does nothing loses its turn
_GLANCE: Final = 8  # milliseconds that SQLite itself waits before it is asked again
_EXAMPLES: Final = "memory://, sqlite:///budget.db or postgresql://host/database"


def engine_for(url: str, *, create: bool = True) -> "tuple[Engine, str, str]":
    """Return an engine, the kind of store, and a name for it that holds no secret.

    Without ``create`` a file must be there.
    """
    if url == "memory://":
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
        )
        return _sqlite(engine), "memory", "memory"
    parsed = _parsed(url)
    if parsed.drivername == "sqlite":
        path = _file(parsed, create=create)
        engine = create_engine(
            parsed.set(database=str(path)),
            connect_args={"timeout": _PATIENCE / 1000, "check_same_thread": False},
            hide_parameters=True,
        )
        return _sqlite(engine), "sqlite", str(path)
    require("psycopg", extra="postgres")
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        connect_args={"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3},
        hide_parameters=True,
        pool_pre_ping=True,
        pool_size=8,
    )
    event.listen(engine, "connect", _connect_postgresql)
    return engine, "postgresql", f"postgresql://{parsed.host or ''}/{parsed.database or ''}"


def _parsed(url: object) -> "URL":
    parsed = None
    with suppress(SQLAlchemyError, ValueError):  # said below, where nothing of it is attached
        parsed = make_url(url) if isinstance(url, str) else None
    if parsed is None or parsed.drivername not in ("sqlite", "postgresql", "postgres", "postgresql+psycopg"):
        message = f"url must be {_EXAMPLES}."  # not quoted: it may hold a password
        raise ParameterError(message)
    return parsed


def _file(parsed: "URL", *, create: bool) -> Path:
    if not parsed.database or parsed.database == ":memory:" or parsed.query or parsed.host:
        raise ParameterError(
            "url of a SQLite file must be sqlite:/// and a path, nothing more; in memory it is memory://."
        )
    path = Path(parsed.database).absolute()  # a process that changes its directory stays with its file
    if not path.parent.is_dir():
        raise ParameterError(f"url: there is no folder {str(path.parent)!r}; make it first.")
    if not create and not path.exists():
        raise ParameterError(f"url: there is no ledger {str(path)!r}.")
    try:
        # Questions and answers are nobody else's; SQLite gives its log files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerError(f"The ledger {str(path)!r} cannot be opened: {error.strerror}.") from None
    return path


def _sqlite(engine: "Engine") -> "Engine":
    event.listen(engine, "connect", _connect_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connect_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
    cursor.execute("PRAGMA foreign_keys = ON")
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    # The first to open a file changes its mode, and SQLite does not wait here as it does elsewhere.
    for waited in range(_PATIENCE // 20):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if waited + 1 == _PATIENCE // 20:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: "Connection") -> None:
    if not connection.get_execution_options().get("celosia_writing", False):
        connection.exec_driver_sql("BEGIN")
    elif not _begin_writing(connection.connection.driver_connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # fails again, in SQLAlchemy's words


def _begin_writing(connection: Any) -> bool:
    """Take the write lock, looking again every few milliseconds.

    Left to itself SQLite looks ten times in a second in the end, and whoever writes without a pause starves the others.
    """
    deadline = time.monotonic() + _PATIENCE / 1000
    connection.execute(f"PRAGMA busy_timeout = {_GLANCE}")
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                busy = str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")
                if not busy or time.monotonic() > deadline:
                    return False
            else:
                return True
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")


def _connect_postgresql(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {_PATIENCE}")
        # A writer that was stopped, or cut off, must not keep the lock until somebody notices.
        cursor.execute(f"SET idle_in_transaction_session_timeout = {_IDLE}")
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":  # a server may trade the last seconds for speed: a ledger may not
            cursor.execute("SET synchronous_commit = on")
    connection.commit()
