"""A SuperLink with one port for all: what a call from outside reaches, and by which socket it counts as one."""

from __future__ import annotations

import http.client
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from celosia.core import EngineError
from celosia.federated.network.superlink_process import keep_apart, listen, replace_server

if TYPE_CHECKING:
    import socket


async def answer(scope: Any, _receive: Any, send: Any) -> None:
    """Answer every call."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


def get_status(listening: socket.socket, path: str, header: dict[str, str]) -> int:
    host, port = listening.getsockname()
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request("POST", path, headers=header)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_call_from_outside_reaches_what_is_for_parties_only() -> None:
    inside, outside = listen("127.0.0.1:0"), listen("127.0.0.1:0")
    host, port = inside.getsockname()
    app = keep_apart(answer, (host, port))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, workers=1, reload=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [inside, outside]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        paths = ["/v1/fleet/pull-messages", "/v1/control/start-run", "/v1/runtime/acquire-task", "/docs", "//v1/fleet/"]
        # What a proxy would say changes nothing.
        header = {"Host": f"{host}:{port}", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": f"{host}:{port}"}
        assert [get_status(inside, path, header) for path in paths] == [200] * len(paths)
        assert [get_status(outside, path, header) for path in paths] == [200, 404, 404, 404, 404]
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("server", [None, ("127.0.0.1", 2), ("10.0.0.1", 1)])
def test_a_call_by_an_unknown_socket_is_from_outside(server: tuple[str, int] | None) -> None:
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    app = keep_apart(answer, ("127.0.0.1", 1))
    for scope in ({"type": "http", "path": "/v1/control/x"}, {"type": "websocket", "path": "/v1/fleet/x"}):
        with pytest.raises(StopIteration):
            app(scope | {"server": server}, send, send).send(None)  # type: ignore[attr-defined]
    assert sent == ["http.response.start", "http.response.body", "websocket.close"]


def test_a_socket_listens_at_either_version_of_ip() -> None:
    for address in ("127.0.0.1:0", "localhost:0"):
        with listen(address) as listening:
            assert listening.getsockname()[0] == "127.0.0.1"


def test_flower_serves_by_our_function_or_not_at_all() -> None:
    program = SimpleNamespace(uvicorn=SimpleNamespace(run=repr, Server=repr))
    replace_server(program, print)
    assert vars(program.uvicorn) == {"run": print}
    for changed in (SimpleNamespace(), SimpleNamespace(uvicorn=SimpleNamespace())):
        with pytest.raises(EngineError, match=r"uvicorn\.run"):
            replace_server(changed, print)
