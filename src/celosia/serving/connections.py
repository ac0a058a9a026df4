"""Limits on connections and on the time to read a request's head.

The limits on requests do not apply to a connection on which no request arrives, but it holds a file of the process.
The request line and headers must therefore arrive within seconds of their first byte, or of the connection. Neither one
address nor all together can take all files.
"""

import asyncio
from collections import Counter
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # such a system does not serve
    resource = None  # type: ignore[assignment]

HEAD_SECONDS: Final = 10.0
"""Seconds within which the head of a request must arrive."""

_MIN_CONNECTIONS: Final = 64
_MAX_FILES: Final = 1 << 16


def max_connections() -> int:
    """Return the limit on connections of a process: half of the files that it may open."""
    files = 2 * _MIN_CONNECTIONS
    if resource is not None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_MIN_CONNECTIONS, min(files if files > 0 else _MAX_FILES, _MAX_FILES) // 2)


class Connection(H11Protocol):
    """One connection with limits.

    Parameters
    ----------
    seconds
        Time limit on the head of a request.
    most
        Limit on connections of the process.
    each
        Limit on connections of one address; behind a proxy, which is one address, equal to ``most``.
    held
        Connections of each address, shared by all connections of the process.
    """

    def __init__(self, *args: Any, seconds: float, most: int, each: int, held: Counter[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds, self._max_connections, self._max_per_address, self._connection_counts = (
            seconds,
            most,
            each,
            held,
        )
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "-"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Accept the connection, or abort it if there are too many."""
        super().connection_made(transport)
        self._connection_counts[self._address] += 1
        if (
            len(self.connections) > self._max_connections
            or self._connection_counts[self._address] > self._max_per_address
        ):
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self._cancel_timer()
        self._connection_counts[self._address] -= 1
        if self._connection_counts[self._address] <= 0:
            del self._connection_counts[self._address]
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received bytes, and time the head of a request while it is incomplete."""
        super().handle_events()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._start_timer()
        elif self.conn.their_state is not h11.IDLE or self.cycle is not None:
            self._cancel_timer()

    def _start_timer(self) -> None:
        if self._timer is None:  # slow bytes do not restart the timer
            self._timer = self.loop.call_later(self._head_seconds, self._abort)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
