"""Access log: one line for each request, without queries or answers.

A line holds the time, the method, the route (its template, because a path may contain names), the status and the number
of the request. An unexpected exception adds its type and its line in our code, never its message or variables, which
may quote the data. Messages of libraries are logged without their text.
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

from starlette.routing import BaseRoute, Route

from celosia.noise.source import SYSTEM
from celosia.serving.routes import find_route

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_MAX_ATOMIC_BYTES = 512  # bytes that POSIX writes into a pipe in one piece
_PACKAGE_ROOT = Path(__file__).parents[1]


def _to_stdout(line: str) -> None:
    # One write of less than a pipe's atomic size: lines of several processes do not mix. If the pipe is full, the line
    # is dropped so that requests do not wait for the reader of the log.
    with contextlib.suppress(OSError):  # the reader of the log may be gone
        if _has_room(1):
            os.write(1, line.encode("ascii", "replace")[:_MAX_ATOMIC_BYTES])


def _has_room(file: int) -> bool:
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(file, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))


class AccessLog:
    """Writes log lines; by default to standard output, where a service manager collects them."""

    def __init__(
        self, write: Callable[[str], None] = _to_stdout, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._write = write
        self._clock = clock

    def request(self, method: str, route: str, status: int, *, request: str) -> None:
        """Write the line of a request."""
        self.line(f"{method if method in _METHODS else 'OTHER'} {route} {status} {request}")

    def error(self, error: BaseException, *, request: str = "-") -> None:
        """Write the type of an exception and where it was raised."""
        self.line(f"unforeseen {type(error).__name__} at {locate_error(error.__traceback__)} {request}")

    def line(self, text: str) -> None:
        """Write a line with a timestamp."""
        self._write(f"{self._clock():%Y-%m-%dT%H:%M:%SZ} {text}\n")


def locate_error(trace: TracebackType | None) -> str:
    """Return the file and line of the innermost frame in this package, or of the innermost frame."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(trace)]
    ours = [(file, line) for file, line in frames if file.is_relative_to(_PACKAGE_ROOT)]
    if not frames:
        return "-"
    file, line = (ours or frames)[-1]
    return f"{file.relative_to(_PACKAGE_ROOT) if ours else file.name}:{line}"


class AccessLogMiddleware:
    """Middleware that numbers each request and logs it when its reply starts."""

    def __init__(self, app: "ASGIApp", *, access_log: AccessLog, routes: Sequence[BaseRoute] = ()) -> None:
        self._app = app
        self._access_log = access_log
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["celosia.request"] = number = f"{SYSTEM.word():016x}"

        async def send_and_log(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
                self._access_log.request(scope["method"], self._template(scope), message["status"], request=number)
            await send(message)

        await self._app(scope, receive, send_and_log)

    def _template(self, scope: "Scope") -> str:
        """Return the route template of a path; the path itself is untrusted."""
        found, path = find_route(self._routes, scope), scope["path"]
        if found is not None:
            return found.path
        return next((route.path for route in self._routes if route.path_regex.match(path)), "-")


class LibraryLogHandler(logging.Handler):
    """Logs messages of libraries without their text: the logger, the level, the type of an exception."""

    def __init__(self, access_log: AccessLog) -> None:
        super().__init__(logging.WARNING)
        self._access_log = access_log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        described = f" {type(error).__name__} at {locate_error(error.__traceback__)}" if error is not None else ""
        self._access_log.line(f"library {record.name.partition('.')[0]} {record.levelname}{described}")


def redirect_output(access_log: AccessLog) -> None:
    """Redirect logs, warnings and tracebacks of this process into the access log.

    Only for the server's processes.
    """
    logging.root.handlers[:] = [LibraryLogHandler(access_log)]
    logging.root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.captureWarnings(True)  # noqa: FBT003 - the standard library's own signature

    def log_uncaught(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        access_log.error(error)

    def log_hooked(args: Any) -> None:
        if args.exc_value is not None:
            access_log.error(args.exc_value)

    sys.excepthook = log_uncaught
    threading.excepthook = sys.unraisablehook = log_hooked
