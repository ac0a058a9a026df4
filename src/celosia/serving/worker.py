"""One worker process, which serves from the shared socket.

A worker reports through a pipe that it is ready, or why it failed. On SIGTERM it ends after its replies in progress. It
also ends when the supervisor is gone, which closes another pipe: no worker serves unsupervised.
"""

import asyncio
import contextlib
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

_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.0002, 0.005  # after a connection: for each open one, and at most
_RETRY_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005
"""Seconds for which a thread may keep the interpreter: queries wait for it after each statement of theirs."""

READY = b"+"
"""The report of a worker that serves; any other report is the reason of a failure."""


class _Server(uvicorn.Server):
    """Uvicorn's server with a callback when it listens, and an even share of the connections.

    Left to the event loop, the process that wakes first takes all connections that wait. This one pauses after each,
    the longer the more it has, so that the others take the next.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
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
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except ConnectionAbortedError:  # the client has gone
                continue
            except OSError:  # no file is left
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            self._start(self._connect(accepted))
            await asyncio.sleep(min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS * (1 + len(self.server_state.connections))))

    async def _connect(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):  # a client that left, or did not finish its handshake
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, accepted, ssl=self.config.ssl)

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg] # uvicorn's protocols take them
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


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
    _Server(settings, ready).run(sockets=[listening])


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
