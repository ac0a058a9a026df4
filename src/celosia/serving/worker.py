"""One worker process, which serves from the shared socket.

A worker reports through a pipe that it is ready, or why it failed. On SIGTERM it ends after its replies in progress. It
also ends when the supervisor is gone, which closes another pipe: no worker serves unsupervised.
"""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, cast

import uvicorn

from celosia.core.errors import CelosiaError
from celosia.serving.access_log import AccessLog, redirect_output
from celosia.serving.connections import HEAD_SECONDS, Connection, max_connections
from celosia.serving.settings import ServerSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GRACE_SECONDS = 30
"""Seconds that replies in progress are given when the server stops."""

_PAUSE_SECONDS = 0.001
"""Seconds that a worker leaves the next waiting connection to the others."""

_MAX_SHARED = 32  # connections in a row that it pauses after: a longer queue is taken at full speed
_RETRY_SECONDS = 1.0
_NO_FILE_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_SWITCH_SECONDS = 0.0005
"""Seconds for which a thread may keep the interpreter: a query waits for it after each of its statements."""

_LOG = logging.getLogger(__name__)

READY = b"+"
"""The report of a worker that serves; any other report is the reason of a failure."""


class _Server(uvicorn.Server):
    """Uvicorn's server with a callback when it listens, and an even share of the connections.

    Left to the event loop, the process that wakes first takes all connections that wait. One that ``shares`` pauses
    after each, so that the others take the next.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], *, shares: bool) -> None:
        super().__init__(config)
        self._ready = ready
        self._shares = shares
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        for listening in sockets or ():
            listening.setblocking(False)  # noqa: FBT003 - the standard library's own signature
            self._start(self._accept(listening))
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # none uses the socket when it is closed
        await super().shutdown(sockets=sockets)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket) -> None:
        in_a_row = 0  # connections that waited already
        try:
            while True:
                accepted = _accept_waiting(listening)
                in_a_row = 0 if accepted is None else in_a_row + 1
                if accepted is None:
                    accepted = await self._await_connection(listening)
                self._start(self._connect(accepted))
                await asyncio.sleep(_PAUSE_SECONDS if self._shares and in_a_row < _MAX_SHARED else 0)
        except OSError:
            self.should_exit = True  # the socket is of no more use: the supervisor starts another worker
            raise

    async def _await_connection(self, listening: socket.socket) -> socket.socket:
        reported = False
        while True:
            try:
                return (await asyncio.get_running_loop().sock_accept(listening))[0]
            except ConnectionAbortedError:  # the client has gone
                continue
            except OSError as error:
                if error.errno not in _NO_FILE_LEFT:
                    raise
                if not reported:
                    _LOG.exception("No connection can be accepted.")
                reported = True
            await asyncio.sleep(_RETRY_SECONDS)

    async def _connect(self, accepted: socket.socket) -> None:
        encrypted: dict[str, Any] = (
            {} if self.config.ssl is None else {"ssl": self.config.ssl, "ssl_handshake_timeout": HEAD_SECONDS}
        )
        with contextlib.suppress(OSError):  # a client that left, or did not finish its handshake
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, accepted, **encrypted)

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg] # uvicorn's protocols take them
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def _accept_waiting(listening: socket.socket) -> socket.socket | None:
    """Return a connection that waits; None if there is none, or none can be accepted now."""
    try:
        return listening.accept()[0]
    except (BlockingIOError, InterruptedError, ConnectionAbortedError):
        return None
    except OSError as error:
        if error.errno not in _NO_FILE_LEFT:
            raise
        return None


def serve_app(app: "ASGIApp", config: ServerSettings, listening: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve an application in this process until a signal ends it; call ``ready`` when it listens."""
    settings = uvicorn.Config(
        app,
        http=_connections(config),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # BehindProxy reads them, and trusts only the nearest proxy
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=config.certificate,
        ssl_keyfile=config.private_key,
    )
    sys.setswitchinterval(_SWITCH_SECONDS)
    _Server(settings, ready, shares=config.processes > 1).run(sockets=[listening])


def _connections(config: ServerSettings) -> type[Connection]:
    most = max_connections()
    each = most if config.behind_proxy else most // 4
    made = partial(Connection, seconds=HEAD_SECONDS, most=most, each=each, held=Counter())
    return cast("type[Connection]", made)  # uvicorn only calls it


def run_worker(
    serve: Callable[[Callable[[], None]], None], *, access_log: AccessLog, report: int, alive: int
) -> NoReturn:
    """Serve as a worker, then end the process.

    Parameters
    ----------
    serve
        Serves until a signal ends it, and calls its argument when it listens.
    access_log
        The access log.
    report
        The pipe for ``READY``, or for the reason of a failure.
    alive
        The pipe that closes when the supervisor is gone.
    """
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _exit)
        redirect_output(access_log)
        threading.Thread(target=_exit_with_supervisor, args=(alive,), daemon=True).start()
        serve(lambda: _write_report(report, READY))
        code = 0
    except SystemExit:
        code = 0
    except CelosiaError as error:
        _write_report(report, str(error).encode())
        access_log.error(error)
    except BaseException as error:  # noqa: BLE001 - the last frame of a process: its message must not be printed
        _write_report(report, f"{type(error).__name__}; the server's log has its place.".encode())
        access_log.error(error)
    finally:
        # Exit handlers of the supervisor must not run in this process.
        os._exit(code)


def _exit(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _exit_with_supervisor(alive: int) -> None:
    os.read(alive, 1)  # returns when the supervisor, the last writer, is gone
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def _write_report(report: int, text: bytes) -> None:
    with contextlib.suppress(OSError):  # the reader may be gone
        os.write(report, text[:4000])
