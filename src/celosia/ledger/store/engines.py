"""SQLAlchemy engines for ledgers: explicit transactions, durable when committed.

Python's driver for SQLite begins transactions by its own rules, which are switched off here in favour of explicit
``BEGIN IMMEDIATE`` statements. A URL may hold a password: it is never shown.
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
from celosia.core.messages.system_errors import describe_os_error

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_MAX_WAIT_MS: Final = 60_000  # that a writer waits for the others
_MAX_IDLE_MS: Final = 60_000  # after which an idle writer loses its turn
_POOL_SIZE: Final = 32  # open files that are kept; a server's threads would open and close others all the time
_FIRST_PAUSE, _MAX_PAUSE = 0.0001, 0.002  # seconds between attempts to write; a transaction often takes less than one


def make_engine(url: str, *, create: bool = True) -> "tuple[Engine, str, str]":
    """Return an engine, the kind of store, and a name for it without secrets.

    Without ``create`` a file must exist.
    """
    if url == "memory://":
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
        )
        return _configure_sqlite(engine), "memory", "memory"
    parsed = _parse_url(url)
    if parsed.drivername == "sqlite":
        path = _prepare_file(parsed, create=create)
        engine = create_engine(
            parsed.set(database=str(path)),
            connect_args={"timeout": _MAX_WAIT_MS / 1000, "check_same_thread": False},
            hide_parameters=True,
            pool_size=_POOL_SIZE,
            max_overflow=-1,
        )
        return _configure_sqlite(engine), "sqlite", str(path)
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


def _parse_url(url: object) -> "URL":
    parsed = None
    with suppress(SQLAlchemyError, ValueError):  # raised below, without the URL in its traceback
        parsed = make_url(url) if isinstance(url, str) else None
    if parsed is None or parsed.drivername not in ("sqlite", "postgresql", "postgres", "postgresql+psycopg"):
        raise ParameterError("ledger.unsupported_ledger_url")  # not quoted: it may hold a password
    return parsed


def _prepare_file(parsed: "URL", *, create: bool) -> Path:
    if not parsed.database or parsed.database == ":memory:" or parsed.query or parsed.host:
        raise ParameterError("ledger.malformed_sqlite_url")
    path = Path(parsed.database).absolute()  # a process that changes its directory stays with its file
    if not path.parent.is_dir():
        raise ParameterError("ledger.no_ledger_folder", folder=repr(str(path.parent)))
    if not create and not path.exists():
        raise ParameterError("ledger.no_ledger_file", path=repr(str(path)))
    try:
        # Only the owner may read queries and answers; SQLite gives its log files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerError("ledger.ledger_not_opened", path=repr(str(path)), reason=describe_os_error(error)) from None
    return path


def _configure_sqlite(engine: "Engine") -> "Engine":
    event.listen(engine, "connect", _connect_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connect_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_MAX_WAIT_MS}")
    cursor.execute("PRAGMA foreign_keys = ON")
    _enable_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _enable_wal(cursor: Any) -> None:
    # The first process to open a file changes its mode, and SQLite does not wait here as it does elsewhere.
    for waited in range(_MAX_WAIT_MS // 20):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if waited + 1 == _MAX_WAIT_MS // 20:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: "Connection") -> None:
    if not connection.get_execution_options().get("celosia_writing", False):
        connection.exec_driver_sql("BEGIN")
        return
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        if not _begin_writing(driver):
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # fails again, as a SQLAlchemy error
    finally:
        driver.execute(f"PRAGMA busy_timeout = {_MAX_WAIT_MS}")


def _begin_writing(connection: Any) -> bool:
    """Take the write lock, retrying after a fraction of a millisecond, and later every two milliseconds.

    SQLite's own retries slow down to ten a second, and a process that writes without a pause starves the others.
    """
    deadline, pause = time.monotonic() + _MAX_WAIT_MS / 1000, _FIRST_PAUSE
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            busy = str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(_MAX_PAUSE, 1.5 * pause)
        else:
            return True


def _connect_postgresql(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {_MAX_WAIT_MS}")
        # A stopped or disconnected writer must not keep the lock.
        cursor.execute(f"SET idle_in_transaction_session_timeout = {_MAX_IDLE_MS}")
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":  # a ledger must not lose its last seconds for speed
            cursor.execute("SET synchronous_commit = on")
    connection.commit()
