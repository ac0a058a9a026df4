"""Connections that never get to the point are ended, and nobody holds them all."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from celosia.serving.connections import Connection, max_connections

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUEST = b"GET / HTTP/1.1\r\nHost: guard\r\n\r\n"


async def app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(*, seconds: float = 0.3, most: int = 100, each: int = 100) -> Iterator[tuple[int, Counter[str]]]:
    """A server in a thread: its port, and how many connections each address has."""
    held: Counter[str] = Counter()
    made: Any = partial(Connection, seconds=seconds, most=most, each=each, held=held)
    listening = socket.create_server(("127.0.0.1", 0))
    settings = uvicorn.Config(app, http=made, ws="none", lifespan="off", log_config=None, timeout_keep_alive=60)
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield listening.getsockname()[1], held
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def connect(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    made.settimeout(10)
    return made


def has_reply(connection: socket.socket) -> bool:
    reply = b""
    while not reply.endswith(b"ok"):
        piece = connection.recv(1000)
        if not piece:
            return False
        reply += piece
    return True


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side closes, which is waited for."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: gu"], ids=["nothing", "a letter", "half a head"])
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    with serving() as (port, held), connect(port) as connection:
        connection.sendall(sent)
        assert has_ended(connection)
        assert not held


def test_bytes_that_drip_in_do_not_help() -> None:
    with serving(seconds=0.5) as (port, _), connect(port) as connection:
        connection.settimeout(0.1)
        closed = False
        for _ in range(100):
            try:
                connection.sendall(b"G")
                closed = connection.recv(100) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
            if closed:
                break
        assert closed


def test_after_a_reply_the_next_head_must_come_in_time_too() -> None:
    with serving() as (port, _), connect(port) as connection:
        for _ in range(3):
            connection.sendall(REQUEST)
            assert has_reply(connection)
        connection.sendall(REQUEST[:10])
        assert has_ended(connection)


def test_a_connection_that_asks_is_kept() -> None:
    with serving(seconds=0.2) as (port, held), connect(port) as connection:
        for pause in (0, 0.4, 0.4):
            threading.Event().wait(pause)  # longer than a head may take, but no head is on its way
            connection.sendall(REQUEST)
            assert has_reply(connection)
        assert held == {"127.0.0.1": 1}


@pytest.mark.parametrize("limits", [{"most": 3}, {"each": 3}])
def test_there_are_only_so_many(limits: dict[str, int]) -> None:
    with serving(seconds=30, **limits) as (port, held):
        first = [connect(port) for _ in range(3)]
        for connection in first:
            connection.sendall(REQUEST)
            assert has_reply(connection)
        with connect(port) as fourth:
            assert has_ended(fourth)
        for connection in first:
            connection.close()
        while held:
            threading.Event().wait(0.01)
        with connect(port) as later:
            later.sendall(REQUEST)
            assert has_reply(later)


def test_a_process_keeps_files_for_itself() -> None:
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 64 <= max_connections() <= max(64, files // 2)
