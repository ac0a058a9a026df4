"""A memory of bounded size: what was found lately is not worked out again.

For things that follow from public values alone, such as the plan of a question. What was not needed for longest is
forgotten first. Threads may share one.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from celosia.core.exact import exact_integer

Found = TypeVar("Found")


class Recent(Generic[Found]):
    """The last so many things that were worked out, by what they were worked out from."""

    __slots__ = ("_known", "_lock", "_most")

    def __init__(self, most: int) -> None:
        self._most = exact_integer(most, name="most")
        self._known: OrderedDict[Hashable, Found] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, work: Callable[[], Found]) -> Found:
        """Return what belongs to a key, worked out unless it is known. What raises is not remembered."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found = work()  # without the lock: two threads may work on the same, and find the same
        with self._lock:
            self._known[key] = found
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found

    def __len__(self) -> int:
        return len(self._known)
