"""A SuperLink of a Flower that has one port for all its interfaces: parties reach theirs, and no other.

At such a port nodes call, but runs are started, nodes admitted and the server app's messages fetched, too, and of all
these only nodes have to show a key. So this SuperLink listens twice: on the loopback for all interfaces, as Flower's
own commands need them, and at the address of the parties for theirs alone.
"""

import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from celosia.core.errors import EngineError
from celosia.core.extras import require
from celosia.federated.network.launch import check_flower

_Scope: TypeAlias = MutableMapping[str, Any]
_Call: TypeAlias = Callable[..., Awaitable[Any]]
_App: TypeAlias = Callable[[_Scope, _Call, _Call], Awaitable[None]]

_FOR_PARTIES: Final = "/v1/fleet/"  # the paths of the interface that parties use


def main() -> None:
    """Run Flower's ``flower-superlink`` with its words, after the address of the parties."""
    check_flower()
    address = sys.argv.pop(1)
    program = require("flwr.superlink.cli.flower_superlink", extra="federated")
    replace_server(program, partial(serve, address))
    program.flower_superlink()


def replace_server(program: Any, run: Callable[..., None]) -> None:
    """Let Flower's program serve by a function of ours, and in no other way."""
    if not callable(getattr(getattr(program, "uvicorn", None), "run", None)):
        raise EngineError("federated.flower_without_function", name="uvicorn.run")
    program.uvicorn = SimpleNamespace(run=run)


def serve(address: str, app: _App, *, host: str, port: int, **settings: Any) -> None:
    """Serve an app at a host and port, and what is for parties at their address."""
    uvicorn = require("uvicorn", extra="federated")
    server = uvicorn.Server(uvicorn.Config(keep_apart(app, (host, port)), **settings))
    server.run(sockets=[listen(address), listen(f"{host}:{port}")])


def keep_apart(app: _App, inside: tuple[str, int]) -> _App:
    """Return an app that answers calls from outside on paths for parties only; ``inside`` is where all are allowed."""

    async def serve_apart(scope: _Scope, receive: _Call, send: _Call) -> None:
        allowed = scope["type"] == "lifespan" or tuple(scope.get("server") or ()) == inside
        if allowed or (scope["type"] == "http" and scope["path"].startswith(_FOR_PARTIES)):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close"})

    return serve_apart


def listen(address: str) -> socket.socket:
    """Return a socket that listens at an address; ``[::]`` takes calls of both versions of IP."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if ":" not in host:
        return socket.create_server((host, int(port)))
    both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, int(port)), family=socket.AF_INET6, dualstack_ipv6=both)


if __name__ == "__main__":
    main()
