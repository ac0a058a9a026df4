"""Turns of analysts, and the times at which the end of their queries is visible.

``slots`` delays replies, but a client can also poll whether a query is answered: by its id, by its key, by asking it
again, or by asking another query and observing when its turn comes. The stored state therefore changes only half a
slot, one, two, four, … slots after the work began, counted from its start and not on a global clock, whose phase a
client could choose. Until then an answer or a failure stays invisible, and the analyst's next query waits. A client
learns only the logarithm of the time, the same however often and whenever it polls.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from celosia.core.exact import exact_integer

_NANOSECONDS_PER_MILLISECOND = 1_000_000


def delay_until_visible(took: int, slot: int) -> int:
    """Return the delay after which work of this duration is visible: the least ``slot / 2 * 2**k`` that covers it."""
    half = max(1, slot // 2)
    return half << (max(1, -(-took // half)) - 1).bit_length()


@contextmanager
def delay_end(milliseconds: int) -> Iterator[None]:
    """Delay the end of a block until it may be visible, also if it raises. Slots of 0 milliseconds delay nothing."""
    slot, begun = milliseconds * _NANOSECONDS_PER_MILLISECOND, time.monotonic_ns()
    try:
        yield
    finally:
        if slot:
            until = begun + delay_until_visible(time.monotonic_ns() - begun, slot)
            while (left := until - time.monotonic_ns()) > 0:
                time.sleep(left / 1e9)


class Turns:
    """A fair queue: one query of each analyst at a time, of few analysts at once, who take turns.

    However many queries an analyst sends, another waits for at most one query of each of the others. A turn lasts until
    the end of its query is visible, so the start of the next reveals no more than the answer.

    Parameters
    ----------
    places
        How many turns are taken at once; by default two for each processor, at least eight.
    """

    def __init__(self, places: int | None = None) -> None:
        most = max(8, 2 * (os.cpu_count() or 1))
        self._places = most if places is None else exact_integer(places, name="places")
        self._lock = threading.Lock()
        self._taken: set[str] = set()
        self._waiting: dict[str, deque[threading.Event]] = {}  # in the order in which analysts take turns

    @contextmanager
    def take(self, analyst: str) -> Iterator[bool]:
        """Wait for the turn of an analyst, and hold it during the block. Yields whether it had to wait."""
        turn = threading.Event()
        with self._lock:
            self._waiting.setdefault(analyst, deque()).append(turn)
            self._admit()
            waited = not turn.is_set()
        turn.wait()
        try:
            yield waited
        finally:
            with self._lock:
                self._taken.remove(analyst)
                if analyst in self._waiting:  # the others come first
                    self._waiting[analyst] = self._waiting.pop(analyst)
                self._admit()

    def _admit(self) -> None:
        """Begin the turns that can begin."""
        for analyst in [*self._waiting]:
            if len(self._taken) < self._places and analyst not in self._taken:
                self._taken.add(analyst)
                queue = self._waiting.pop(analyst)
                queue.popleft().set()
                if queue:
                    self._waiting[analyst] = queue
