"""Where a ledger is kept: memory, a SQLite file or PostgreSQL. One writer at a time, and nothing said too early.

A write transaction holds the one lock of the whole ledger from its beginning (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL:
the head's row ``FOR UPDATE``), so that what is read in it is still true when it commits; and it commits to the disk
(``synchronous``) before anybody goes on. A forked child inherits no connection. What a database says about a failure
may quote what is stored, and is not repeated.
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
from celosia.ledger.store.engines import engine_for
from celosia.ledger.store.forking import Gate
from celosia.ledger.store.tables import HEAD, LOG, METADATA

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_ADVISORY = 0x63656C6F736961  # names the lock under which PostgreSQL makes the tables
_OPEN: "weakref.WeakSet[Store]" = weakref.WeakSet()


class Store:
    """The database of one ledger. The guard keeps its own tables here, changed in the same transactions."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._engine, self.kind, self.name = engine_for(url, create=create)
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
            raise LedgerError(
                "A ledger in memory belongs to the process that opened it: use a sqlite:/// or postgresql:// URL."
            )
        return self._engine

    def create(self, begin: "Callable[[Connection], None]") -> bool:
        """Make the tables and begin the log unless that was done, and tell whether it was done now.

        Many may do it at once: one of them begins, the others wait and find the log.
        """
        if self.has_begun():
            return False
        with self._alone(), self._told(), self._connected(writing=True) as connection:
            if self.kind == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY})
            METADATA.create_all(connection)
            if _has_begun(connection):
                return False
            begin(connection)
        return True

    def has_begun(self) -> bool:
        """Tell whether there is a log."""
        with self.reading() as connection:
            return _has_begun(connection)

    @contextmanager
    def transaction(self) -> "Iterator[Connection]":
        """Hold the write lock; all that was done is durable when the block ends, or nothing of it is done."""
        with self._alone(), self._told(), self._connected(writing=True) as connection:
            if self.kind == "postgresql":
                connection.execute(select(HEAD.c.id).with_for_update())
            yield connection

    @contextmanager
    def reading(self) -> "Iterator[Connection]":
        """See one moment of the ledger, without waiting for writers."""
        if self.kind == "memory":  # one connection serves all threads
            with self._alone(), self._told(), self._connected(writing=False) as connection:
                yield connection
        else:
            with self._told(), self._connected(writing=False) as connection:
                yield connection

    @contextmanager
    def _connected(self, *, writing: bool) -> "Iterator[Connection]":
        options: dict[str, object] = {"celosia_writing": writing}
        if self.kind == "postgresql":
            # A reader sees one moment; a writer sees, once it has the lock, all that was committed before.
            level = "READ COMMITTED" if writing else "REPEATABLE READ"
            options |= {"isolation_level": level, "postgresql_readonly": not writing}
        with _Forks.gate.passing(), self.engine.connect() as connection:
            connection.execution_options(**options)
            with connection.begin():
                yield connection

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let the threads of this process write one after another: waiting here is cheaper than in the database."""
        _ = self.engine  # after a fork the lock is a new one
        if self._holder == threading.get_ident():
            raise LedgerError("A transaction is open already: do everything within its connection.")
        with self._lock:
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        problem = None
        try:
            yield
        except SQLAlchemyError as error:
            problem = self._words(error)
        if problem is not None:
            raise LedgerError(problem) from None

    def _words(self, error: SQLAlchemyError) -> str:
        cause = getattr(error, "orig", None)
        code = str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or code == "55P03":
            return f"The ledger {self.name} is busy: others have held it for a minute. Try again."
        if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return f"The ledger {self.name} cannot be opened for writing: look at the file and its folder."
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return f"The ledger {self.name} is not a database, or is damaged."
        return f"The ledger {self.name} did not answer ({code or type(error).__name__})."

    def close(self) -> None:
        """Let go of all connections."""
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
        self._lock = threading.Lock()  # whoever held the old one stayed in the parent
        self._holder = None

    def __repr__(self) -> str:
        return f"<Store in {self.name}>"


def _has_begun(connection: "Connection") -> bool:
    tables = inspect(connection)
    if not (tables.has_table(HEAD.name) and tables.has_table(LOG.name)):
        return False
    # A log without a head was tampered with: it has begun, and whoever reads it is told.
    return any(connection.execute(select(table).limit(1)).first() is not None for table in (HEAD, LOG))


class _Forks:
    """What is done around a fork, for all stores of this process."""

    gate: ClassVar[Gate] = Gate()

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
        cls.gate = Gate()  # the threads that were inside, or waited, stayed in the parent
        for store in list(_OPEN):
            store._after_fork()  # noqa: SLF001 - our own


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_Forks.before, after_in_parent=_Forks.in_parent, after_in_child=_Forks.in_child)
