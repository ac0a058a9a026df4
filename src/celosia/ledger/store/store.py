"""The database of a ledger: memory, a SQLite file or PostgreSQL, with one writer at a time.

A write transaction holds the one lock of the whole ledger from its beginning (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL:
the head's row ``FOR UPDATE``), so that its reads are still true when it commits; and it commits to the disk
(``synchronous``) before the next begins. A forked child inherits no connection. A driver's error message may quote
stored values, so it is withheld.
"""

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from celosia.core.errors import LedgerError
from celosia.core.messages.message import Message
from celosia.ledger.store.engines import make_engine
from celosia.ledger.store.forking import ForkGate
from celosia.ledger.store.tables import HEAD, LOG, METADATA

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_ADVISORY_LOCK = 0x63656C6F736961  # the lock under which PostgreSQL creates the tables
_OPEN: "weakref.WeakSet[Store]" = weakref.WeakSet()


class Store:
    """Database of one ledger. The guard has its own tables here, changed in the same transactions."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._engine, self.kind, self.name = make_engine(url, create=create)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None
        _OPEN.add(self)

    @property
    def engine(self) -> "Engine":
        """The engine, ready for this process."""
        if self._process != os.getpid():
            self._after_fork()
        if self.kind == "memory" and self._process != os.getpid():
            raise LedgerError("ledger.memory_ledger_after_fork")
        return self._engine

    def create(self, begin: "Callable[[Connection], None]") -> bool:
        """Create the tables and begin the log if there is none; return whether this call did it.

        Concurrent calls are safe: one begins the log, the others wait and find it.
        """
        if self.has_log():
            return False
        with self._hold_lock(), self._hide_driver_messages(), self._connect(writing=True) as connection:
            if self.kind == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
            METADATA.create_all(connection)
            if _has_log(connection):
                return False
            begin(connection)
        return True

    def has_log(self) -> bool:
        """Return whether there is a log."""
        with self.reading() as connection:
            return _has_log(connection)

    @contextmanager
    def transaction(self) -> "Iterator[Connection]":
        """Hold the write lock; the whole block is durable when it ends, or nothing of it is done."""
        with self._hold_lock(), self._hide_driver_messages(), self._connect(writing=True) as connection:
            if self.kind == "postgresql":
                connection.execute(select(HEAD.c.id).with_for_update())
            yield connection

    @contextmanager
    def reading(self) -> "Iterator[Connection]":
        """Yield a consistent read of the ledger, without waiting for writers."""
        if self.kind == "memory":  # one connection serves all threads
            with self._hold_lock(), self._hide_driver_messages(), self._connect(writing=False) as connection:
                yield connection
        else:
            with self._hide_driver_messages(), self._connect(writing=False) as connection:
                yield connection

    @contextmanager
    def _connect(self, *, writing: bool) -> "Iterator[Connection]":
        options: dict[str, object] = {"celosia_writing": writing}
        if self.kind == "postgresql":
            # A reader sees one snapshot; a writer with the lock sees all earlier commits.
            level = "READ COMMITTED" if writing else "REPEATABLE READ"
            options |= {"isolation_level": level, "postgresql_readonly": not writing}
        with _Forks.gate.passing(), self.engine.connect() as connection:
            connection.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Let one thread of this process write at a time: waiting here is cheaper than in the database."""
        _ = self.engine  # after a fork the lock is a new one
        if self._holder == threading.get_ident():
            raise LedgerError("ledger.transaction_already_open")
        with self._lock:
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    @contextmanager
    def _hide_driver_messages(self) -> Iterator[None]:
        problem = None
        try:
            yield
        except SQLAlchemyError as error:
            problem = self._describe_error(error)
        if problem is not None:
            raise LedgerError(problem) from None

    def _describe_error(self, error: SQLAlchemyError) -> Message:
        cause = getattr(error, "orig", None)
        code = str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or code == "55P03":
            return Message("ledger.busy", ledger=self.name)
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return Message("ledger.not_writable", ledger=self.name)
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return Message("ledger.damaged", ledger=self.name)
        return Message("ledger.no_answer", ledger=self.name, reason=code or type(error).__name__)

    def close(self) -> None:
        """Close all connections."""
        _OPEN.discard(self)
        if self._process == os.getpid():
            self._engine.dispose()

    def _before_fork(self) -> None:
        # A child must not even close a connection that it inherited, so none is left for it.
        if self.kind != "memory":
            self._engine.dispose()

    def _after_fork(self) -> None:
        if self.kind != "memory":
            self._engine.dispose(close=False)
            self._process = os.getpid()
        self._lock = threading.Lock()  # the holder of the old lock stayed in the parent
        self._holder = None

    def __repr__(self) -> str:
        return f"<Store in {self.name}>"


def _has_log(connection: "Connection") -> bool:
    tables = inspect(connection)
    if not (tables.has_table(HEAD.name) and tables.has_table(LOG.name)):
        return False
    # A log without a head was tampered with: it exists, and reading it fails.
    return any(connection.execute(select(table).limit(1)).first() is not None for table in (HEAD, LOG))


class _Forks:
    """Hooks around a fork, for all stores of this process."""

    gate: ClassVar[ForkGate] = ForkGate()

    @classmethod
    def before(cls) -> None:
        cls.gate.shut()
        for store in list(_OPEN):
            store._before_fork()  # noqa: SLF001 - our own

    @classmethod
    def in_parent(cls) -> None:
        cls.gate.open()

    @classmethod
    def in_child(cls) -> None:
        cls.gate = ForkGate()  # the threads that were inside, or waited, stayed in the parent
        for store in list(_OPEN):
            store._after_fork()  # noqa: SLF001 - our own


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_Forks.before, after_in_parent=_Forks.in_parent, after_in_child=_Forks.in_child)
