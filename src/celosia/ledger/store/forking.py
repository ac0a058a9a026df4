"""Keep forks apart from database transactions.

A child that inherits an open SQLite connection inherits its locks too, without the thread that would release them: the
ledger would stay busy in the child. So a fork waits until the threads of this process have left the database, closes
all connections, and lets no thread in meanwhile.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MAX_WAIT_SECONDS: Final = 60.0  # as long as a writer waits for others


class ForkGate:
    """Gate that threads pass to use the database, and that a fork closes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()
        self._shut = False

    @property
    def busy(self) -> int:
        """The number of threads inside."""
        return len(self._inside)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Enter once no fork is under way; a thread that is inside may enter again."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._shut or me in self._inside)
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= Counter([me])  # forgets threads that are outside
                self._changed.notify_all()

    def shut(self, patience: float = _MAX_WAIT_SECONDS) -> bool:
        """Let no thread in, wait until all others have left, and return whether they have."""
        me = threading.get_ident()
        with self._changed:
            self._shut = True
            return self._changed.wait_for(lambda: not self._inside.keys() - {me}, patience)

    def open(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()
