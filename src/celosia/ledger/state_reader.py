"""A store with the state of its log, kept up to date with other writers.

The state applies only committed lines: a failed transaction, or one whose end is unknown, leaves nothing in memory. It
catches up within the transaction that decides, so that no line can come in between.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from celosia.core.errors import LedgerError
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.budgets.spend_tracker import SpendTracker
from celosia.ledger.budgets.state import LogState
from celosia.ledger.log.chain import JSON, format_timestamp, parse_timestamp
from celosia.ledger.log.lines import StoredLine, append, read_head, read_lines_after, read_lines_since

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from celosia.ledger.store.store import Store


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a ledger: a connection, the state of the log as it sees it, and the time.

    The time is taken once, so that a decision is written in the window that it was made in. It is never before that of
    the last line, whatever the clock says.
    """

    connection: "Connection"
    state: LogState
    at: datetime

    def window(self, scope: Scope) -> SpendTracker | None:
        """Return the tracker of a scope's window of time, if it has one."""
        return self.state.window(scope, self.at, partial(read_lines_since, self.connection))

    def append(self, kind: str, body: dict[str, JSON]) -> StoredLine:
        """Add a line to the log."""
        return append(self.connection, kind, body, lambda: self.at)


class LedgerState:
    """A store and its state, for the threads of one process."""

    def __init__(self, store: "Store", clock: Callable[[], datetime]) -> None:
        self.store, self.clock = store, clock
        self._state, self._lock, self._process = LogState(), threading.RLock(), os.getpid()

    @contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """Hold the write lock, and yield the state with all earlier lines."""
        with self.store.transaction() as connection, self._get_lock():
            yield self._take_snapshot(connection)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Yield the state up to now, without waiting for writers."""
        with self.store.reading() as connection, self._get_lock():
            yield self._take_snapshot(connection)

    def _get_lock(self) -> threading.RLock:
        if self._process != os.getpid():
            # If a thread of the parent was changing the state at the fork, the copy may be incomplete.
            if not self._lock.acquire(blocking=False):
                self._state = LogState()
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock

    def _take_snapshot(self, connection: "Connection") -> Snapshot:
        state = self._catch_up(connection)
        return Snapshot(connection, state, parse_timestamp(max(format_timestamp(self.clock()), state.at)))

    def _catch_up(self, connection: "Connection") -> LogState:
        # Reading the head comes first: it fixes what the connection sees, under our lock.
        head, at = read_head(connection)
        state = self._state
        if head.sequence < state.sequence or (head.sequence == state.sequence and head.hash != state.hash):
            raise LedgerError("ledger.log_rewritten")
        if head.sequence > state.sequence:
            self._state = LogState()  # if a line cannot be read, the next caller starts afresh
            state.apply(read_lines_after(connection, state.sequence))
            if (state.sequence, state.hash, state.at) != (head.sequence, head.hash, at):
                raise LedgerError("ledger.log_and_head_differ", found=state.sequence, wanted=head.sequence)
            self._state = state
        return state
