"""No fork while a database is at work.

A child that inherits an open SQLite connection inherits its locks too, without the thread that would let go of them:
it would find the ledger busy for ever. So a fork waits until the threads of this process are outside of the database,
all connections are closed before it, and nobody enters meanwhile.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 60.0  # seconds, as long as a writer waits for others


class Gate:
    """Threads pass it to work; a fork holds it shut."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}
        self._shut = False

    @property
    def busy(self) -> int:
        """How many threads are inside."""
        return len(self._inside)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Go inside, once nobody forks; a thread that is inside already may go further."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._shut or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                self._changed.notify_all()

    def shut(self, patience: float = _PATIENCE) -> bool:
        """Let nobody in, and wait until all others are out; tell whether they are."""
        me = threading.get_ident()
        with self._changed:
            self._shut = True
            return self._changed.wait_for(lambda: not self._inside.keys() - {me}, patience)

    def open(self) -> None:
        """Let them in again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()
