"""A store together with what its log means, caught up with whoever else writes.

The state is fed from lines that are committed, and from nothing else: a transaction that failed, or whose end is not
known, leaves nothing behind in memory. It is caught up within the transaction that decides, so that no line can come in
between.
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
from celosia.ledger.budgets.state import State
from celosia.ledger.log.chain import JSON, moment, read_moment
from celosia.ledger.log.lines import Raw, append, head_of, lines_after, lines_since

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from celosia.ledger.store.store import Store


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is true at one moment: a connection, the state of the log as it sees it, and the time.

    The time is taken once, so that what is decided in a window of time is written in the same; it is never before that
    of the last line, whatever the clock says.
    """

    connection: "Connection"
    state: State
    at: datetime

    def window(self, scope: Scope) -> SpendTracker | None:
        """Return what a scope has spent in its window of time, if it has one."""
        return self.state.window(scope, self.at, partial(lines_since, self.connection))

    def append(self, kind: str, body: dict[str, JSON]) -> Raw:
        """Add a line to the log."""
        return append(self.connection, kind, body, lambda: self.at)


class LedgerState:
    """A store and its state, for the threads of one process."""

    def __init__(self, store: "Store", clock: Callable[[], datetime]) -> None:
        self.store, self.clock = store, clock
        self._state, self._lock, self._process = State(), threading.RLock(), os.getpid()

    @contextmanager
    def writing(self) -> Iterator[Snapshot]:
        """Hold the write lock, knowing all that was written before."""
        with self.store.transaction() as connection, self._guarded():
            yield self._page(connection)

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Know all that was written up to now, without waiting for writers."""
        with self.store.reading() as connection, self._guarded():
            yield self._page(connection)

    def _guarded(self) -> threading.RLock:
        if self._process != os.getpid():
            # If a thread of the parent was at it when this process forked, the copy may be half made.
            if not self._lock.acquire(blocking=False):
                self._state = State()
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock

    def _page(self, connection: "Connection") -> Snapshot:
        state = self._caught_up(connection)
        return Snapshot(connection, state, read_moment(max(moment(self.clock()), state.at)))

    def _caught_up(self, connection: "Connection") -> State:
        # The head is the first thing read: what a connection sees is fixed then, under our lock.
        head, at = head_of(connection)
        state = self._state
        if head.sequence < state.sequence or (head.sequence == state.sequence and head.hash != state.hash):
            raise LedgerError(
                "The log is not the one that was read before: lines are gone, or were changed. Verify it."
            )
        if head.sequence > state.sequence:
            self._state = State()  # if a line cannot be read, the next one to ask begins anew
            state.feed(lines_after(connection, state.sequence))
            if (state.sequence, state.hash, state.at) != (head.sequence, head.hash, at):
                raise LedgerError(f"The log ends at line {state.sequence}, its head says {head.sequence}. Verify it.")
            self._state = state
        return state
