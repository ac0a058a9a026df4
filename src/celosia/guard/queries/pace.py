"""When the end of a question's work becomes visible: after half a slot, or a whole, or two, or four, whatever it took.

Replies leave in slots (``slots``), but whoever asks can also look whether a question is answered yet: by its number, by
its key, by asking it again, or by asking something else and seeing when its turn comes. So the state itself changes at
few moments only, counted from the beginning of the work and not by a clock on the wall, of which the asker could choose
the phase: an answer, or a failure, stays where it was computed until then, and so does the turn. What is told is one of
half a slot, one, two, four, …: the logarithm of the time, the same however often and whenever the question is asked.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from celosia.core.exact import exact_integer

_NANOSECONDS = 1_000_000


def visible_after(took: int, slot: int) -> int:
    """Return when the end of work that took so long is visible: half a slot doubled as often as needed."""
    half = max(1, slot // 2)
    return half << (max(1, -(-took // half)) - 1).bit_length()


class Pace:
    """How many questions read data at a time, and when they are done.

    With slots, the questions to one data set follow each other, each until its end is visible: the turn of the next
    one tells no more than the answer does. What is asked was reserved before it waits for its turn.

    Parameters
    ----------
    milliseconds
        The length of a slot; 0 lets states change when they do.
    places
        How many may read at a time; by default one for each processor, four at least.
    """

    def __init__(self, *, milliseconds: int, places: int | None = None) -> None:
        self._slot = exact_integer(milliseconds, name="milliseconds", least=0) * _NANOSECONDS
        least = max(4, os.cpu_count() or 1)
        self._places = threading.BoundedSemaphore(least if places is None else exact_integer(places, name="places"))
        self._turns: dict[str, threading.Lock] = {}

    @contextmanager
    def reading(self, dataset: str) -> Iterator[None]:
        """Take turns at a data set while it is read; whether that ends well or not, go on when its end is visible."""
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
        until = begun + visible_after(time.monotonic_ns() - begun, self._slot)
        while (left := until - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
