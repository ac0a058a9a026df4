"""One worker: it reports that it serves or why not, ends when told, and ends when it is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
import uvicorn

from celosia.core.errors import CelosiaError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.server.serve import serve_guard
from celosia.guard.service import Guard
from celosia.serving import worker as worker_module
from celosia.serving.access_log import AccessLog
from celosia.serving.limits import Rates
from celosia.serving.listening import listen
from celosia.serving.worker import READY, run_worker
from tests.reliability.serving import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")


class Forked:
    """A worker in a process of its own, and the ends of its pipes."""

    def __init__(self, config: Config, listening: socket.socket) -> None:
        self.report, theirs = os.pipe()
        alive, self.alive = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.alive)
            access_log = AccessLog(lambda _line: None)
            serve = partial(serve_guard, config, listening, rates=Rates(), access_log=access_log)
            run_worker(lambda ready: serve(ready=ready), access_log=access_log, report=theirs, alive=alive)
        os.close(theirs)
        os.close(alive)

    def read_report(self) -> bytes:
        return os.read(self.report, 4096)

    def code(self) -> int:
        """The exit code, for which it waits."""
        deadline = time.monotonic() + 600
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.pid = 0
        return os.waitstatus_to_exitcode(ended[1])

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.report)
        os.close(self.alive) if self.alive >= 0 else None


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen(Config(store="memory://", port=0)) as made:
        yield made


def start_worker(config: Config, listening: socket.socket) -> Forked:
    with contextlib.suppress(CelosiaError), Guard.open(config) as guard:
        guard.add_user(Identity.local(), "owner", "owner")
    return Forked(config, listening)


def test_it_serves_and_ends_when_told(tmp_path: Path, listening: socket.socket) -> None:
    worker = start_worker(Config(store=f"sqlite:///{tmp_path / 'ledger.db'}"), listening)
    try:
        assert worker.read_report() == READY
        client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert client.send("GET", "/v1/health").status == 200
        client.close()
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.code() == 0
    finally:
        worker.close()


def test_it_says_why_it_cannot(tmp_path: Path, listening: socket.socket) -> None:
    (tmp_path / "ledger.db").write_bytes(b"this is no database, and never was" * 100)
    worker = start_worker(Config(store=f"sqlite:///{tmp_path / 'ledger.db'}"), listening)
    try:
        read_report = worker.read_report()
        assert read_report
        assert read_report != READY
        assert worker.code() == 1
    finally:
        worker.close()


def test_it_ends_when_it_is_left_alone(tmp_path: Path, listening: socket.socket) -> None:
    worker = start_worker(Config(store=f"sqlite:///{tmp_path / 'ledger.db'}"), listening)
    try:
        assert worker.read_report() == READY
        os.close(worker.alive)
        worker.alive = -1
        assert worker.code() == 0
    finally:
        worker.close()


@contextlib.asynccontextmanager
async def serving(listening: socket.socket, *, shares: bool = True) -> AsyncIterator[worker_module._Server]:
    async def app(_scope: object, _receive: object, _send: object) -> None: ...

    config = uvicorn.Config(app, lifespan="off", log_config=None, timeout_graceful_shutdown=0)
    config.load()
    server = worker_module._Server(config, lambda: None, shares=shares)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listening])
    try:
        yield server
    finally:
        await server.shutdown(sockets=[listening])


async def accepted(server: worker_module._Server, wanted: int) -> int:
    """Turn the event loop until the server has the wanted connections, or many times; return how many it has."""
    for _ in range(1000):
        if len(server.server_state.connections) == wanted:
            break
        await asyncio.sleep(0)
    return len(server.server_state.connections)


@pytest.mark.parametrize(
    ("shares", "in_a_row", "wanted"),
    [(True, 32, 1), (True, 1, 6), (False, 32, 6)],  # alone, or with a long queue, it does not pause
)
def test_it_leaves_connections_to_the_others(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket, *, shares: bool, in_a_row: int, wanted: int
) -> None:
    monkeypatch.setattr(worker_module, "_PAUSE_SECONDS", 600.0)
    monkeypatch.setattr(worker_module, "_MAX_SHARED", in_a_row)

    async def connect() -> int:
        with contextlib.ExitStack() as closing:
            for _ in range(6):  # all wait before it serves
                closing.enter_context(socket.create_connection(listening.getsockname()))
            async with serving(listening.dup(), shares=shares) as server:
                return await accepted(server, 7)

    assert asyncio.run(connect()) == wanted


def test_it_goes_on_when_a_connection_cannot_be_accepted(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    monkeypatch.setattr(worker_module, "_RETRY_SECONDS", 0.0)
    failures = [OSError(24, "Too many open files"), ConnectionAbortedError()]

    async def connect() -> int:
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept

        async def fail_first(listening: socket.socket) -> tuple[socket.socket, object]:
            if failures:
                raise failures.pop()
            return await accept(listening)

        monkeypatch.setattr(loop, "sock_accept", fail_first)
        async with serving(listening.dup()) as server:
            await accepted(server, 1)  # both failures
            with socket.create_connection(listening.getsockname()):
                return await accepted(server, 1)

    assert asyncio.run(connect()) == 1
    assert not failures


def test_a_socket_of_no_use_ends_the_worker(monkeypatch: pytest.MonkeyPatch, listening: socket.socket) -> None:
    async def fail(_listening: socket.socket) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    async def connect() -> bool:
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_accept", fail)
        async with serving(listening.dup()) as server:
            await accepted(server, 1)
            return server.should_exit

    assert asyncio.run(connect())
