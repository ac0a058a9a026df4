"""The server's own log: one line for each request, and nothing that was asked or answered.

A line holds the time, the method, the route (its template, because a path may hold names), the status and the number
of the request. An unforeseen exception adds its type and where in our code it rose, never its message or what its
variables held, because those may quote the data. Whatever libraries want to log goes the same way, without its words.
"""

import contextlib
import logging
import os
import select
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Route

from celosia.noise.source import SYSTEM

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_ATOMIC = 512  # bytes that POSIX writes into a pipe in one piece
_HOUSE = Path(__file__).parents[2]


def _to_stdout(line: str) -> None:
    # One write of less than a pipe's atomic size: lines of several processes do not run into each other. A pipe that
    # nobody empties has no room for it: the line is lost, and not the time of everybody who is being served.
    with contextlib.suppress(OSError):  # whoever read the log may be gone; the server is not
        if _has_room(1):
            os.write(1, line.encode("ascii", "replace")[:_ATOMIC])


def _has_room(file: int) -> bool:
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(file, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))


class AccessLog:
    """Writes lines; by default to standard output, where a service manager collects them."""

    def __init__(
        self, write: Callable[[str], None] = _to_stdout, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._write = write
        self._clock = clock

    def request(self, method: str, route: str, status: int, *, request: str) -> None:
        """Write the line of a request."""
        self.line(f"{method if method in _METHODS else 'OTHER'} {route} {status} {request}")

    def unforeseen(self, error: BaseException, *, request: str = "-") -> None:
        """Write the type of an exception and where it rose."""
        self.line(f"unforeseen {type(error).__name__} at {where(error.__traceback__)} {request}")

    def line(self, text: str) -> None:
        """Write a line of fixed words."""
        self._write(f"{self._clock():%Y-%m-%dT%H:%M:%SZ} {text}\n")


def where(trace: TracebackType | None) -> str:
    """Return the file and the line of the innermost frame of ours, or of the innermost frame of all."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(trace)]
    ours = [(file, line) for file, line in frames if file.is_relative_to(_HOUSE)]
    if not frames:
        return "-"
    file, line = (ours or frames)[-1]
    return f"{file.relative_to(_HOUSE) if ours else file.name}:{line}"


class AccessLogMiddleware:
    """Number every request, and write its line when its reply leaves (ASGI)."""

    def __init__(self, app: "ASGIApp", *, journal: AccessLog, routes: Sequence[BaseRoute] = ()) -> None:
        self._app = app
        self._journal = journal
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["celosia.request"] = number = f"{SYSTEM.word():016x}"

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = number
                self._journal.request(scope["method"], self._template(scope), message["status"], request=number)
            await send(message)

        await self._app(scope, receive, sending)

    def _template(self, scope: "Scope") -> str:
        """Return the template of the route that a path belongs to; the path as sent may hold anything."""
        path = scope["path"]
        return next((route.path for route in self._routes if route.path_regex.match(path)), "-")


class Quiet(logging.Handler):
    """Puts what libraries log into the journal, without their words.

    The logger, the level, the type of an exception.
    """

    def __init__(self, journal: AccessLog) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        told = f" {type(error).__name__} at {where(error.__traceback__)}" if error is not None else ""
        self._journal.line(f"library {record.name.partition('.')[0]} {record.levelname}{told}")


def keep_quiet(journal: AccessLog) -> None:
    """Send everything that this process would print by itself (logs, warnings, tracebacks) into the journal.

    For the server's processes only.
    """
    logging.root.handlers[:] = [Quiet(journal)]
    logging.root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.captureWarnings(True)  # noqa: FBT003 - the standard library's own signature

    def ended(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        journal.unforeseen(error)

    def thread_ended(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            journal.unforeseen(args.exc_value)

    def unraisable(args: Any) -> None:
        if args.exc_value is not None:
            journal.unforeseen(args.exc_value)

    sys.excepthook = ended
    threading.excepthook = thread_ended
    sys.unraisablehook = unraisable
