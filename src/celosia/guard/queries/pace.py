"""Delay the visible end of a query to half a slot, one, two, four, … slots after it began.

``slots`` delays replies, but a client can also poll whether a query is answered: by its id, by its key, by asking it
again, or by asking another query and observing when its turn comes. The stored state therefore changes only at these
times, counted from the start of the work and not on a global clock, whose phase a client could choose. Until then an
answer or a failure stays invisible, and the data set stays locked. A client learns only the logarithm of the time,
the same however often and whenever it polls.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from celosia.core.exact import exact_integer

_NANOSECONDS_PER_MILLISECOND = 1_000_000


def delay_until_visible(took: int, slot: int) -> int:
    """Return the delay after which work of this duration is visible: the least ``slot / 2 * 2**k`` that covers it."""
    half = max(1, slot // 2)
    return half << (max(1, -(-took // half)) - 1).bit_length()


class Pace:
    """Limits how many queries read data at a time, and delays their visible end.

    With slots, the queries of one data set run one after the other, each until its end is visible, so the start of the
    next reveals no more than the answer. A query is reserved before it waits for its turn.

    Parameters
    ----------
    milliseconds
        The length of a slot; 0 disables delays.
    places
        How many queries read at a time; by default one for each processor, at least four.
    """

    def __init__(self, *, milliseconds: int, places: int | None = None) -> None:
        self._slot = exact_integer(milliseconds, name="milliseconds", least=0) * _NANOSECONDS_PER_MILLISECOND
        least = max(4, os.cpu_count() or 1)
        self._places = threading.BoundedSemaphore(least if places is None else exact_integer(places, name="places"))
        self._turns: dict[str, threading.Lock] = {}

    @contextmanager
    def reading(self, dataset: str) -> Iterator[None]:
        """Hold the turn of a data set during the block and until its end is visible, also if it raises."""
        with ExitStack() as held:
            if self._slot:
                held.enter_context(self._turns.setdefault(dataset, threading.Lock()))
            held.enter_context(self._places)
            begun = time.monotonic_ns()
            try:
                yield
            finally:
                self._wait(begun)

    def _wait(self, begun: int) -> None:
        if not self._slot:
            return
        until = begun + delay_until_visible(time.monotonic_ns() - begun, self._slot)
        while (left := until - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
