"""A guard that serves inside this process: the whole application with all its layers, and no socket.

What is sent passes the same code as on a server, from the outermost layer in; only the bytes on the wire are spared,
so that thousands of requests can be tried. ``Inside`` has the face of ``serving.Served`` where tests use both.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from anyio.from_thread import start_blocking_portal

from celosia.guard.config.sections import Limits
from celosia.guard.config.settings import Config
from celosia.guard.server.app import create_app
from celosia.guard.service import Guard
from celosia.serving.access_log import AccessLog
from tests.reliability.serving import LOCAL, ROLES, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyio.from_thread import BlockingPortal

__all__ = ["HOST", "LOCAL", "Inside", "InsideClient", "open_guard", "serve_inside"]

HOST = "http://guard.example"


class InsideClient:
    """Sends requests to the application, with somebody's key or nobody's."""

    def __init__(self, portal: BlockingPortal, app: Any, key: str | None) -> None:
        self._portal = portal
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST)
        self._key = key

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str | bytes] | None = None,
        content: bytes | None = None,
    ) -> Reply:
        """Send one request; whatever falls through all nets of the application is raised here."""
        sent = dict(headers or {})
        if self._key is not None:
            sent.setdefault("Authorization", f"Bearer {self._key}")
        if body is not None:
            content = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        raw = [(name.encode("latin-1"), _bytes(value)) for name, value in sent.items()]
        reply = self._portal.call(lambda: self._client.request(method, path, content=content, headers=raw))
        return Reply(reply.status_code, dict(reply.headers), reply.content)

    def ask(self, body: object, key: str, *, wait: int = 20, path: str = "/v1/queries") -> Reply:
        """Ask a question under an idempotency key."""
        return self.send("POST", path, body, headers={"Idempotency-Key": key, "Prefer": f"wait={wait}"})


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")


@dataclass(slots=True)
class Inside:
    """A guard, its application, a key for each user, and the lines of its access log."""

    guard: Guard
    keys: Mapping[str, str]
    portal: BlockingPortal
    app: Any
    lines: list[str] = field(default_factory=list)

    def client(self, who: str | None = "analyst") -> InsideClient:
        """A client with the key of a user, or of nobody."""
        return InsideClient(self.portal, self.app, None if who is None else self.keys[who])


def open_guard(
    store: str = "memory://", *, analysts: Sequence[str] = (), **limits: int
) -> tuple[Guard, dict[str, str]]:
    """A guard without clocks and nearly without limits, and a key for each role and each other analyst."""
    generous = Limits(**{"requests_per_minute": 1_000_000, "waiting": 1000} | limits)
    guard = Guard.open(Config(store=store, slot_milliseconds=0, workers=1, limits=generous))
    keys = {role: guard.add_user(LOCAL, role, role) for role in ROLES}
    return guard, keys | {name: guard.add_user(LOCAL, name, "analyst") for name in analysts}


@contextlib.contextmanager
def serve_inside(guard: Guard, keys: Mapping[str, str]) -> Iterator[Inside]:
    """Serve a guard from here, and close it in the end."""
    lines: list[str] = []
    with guard, start_blocking_portal() as portal:
        yield Inside(guard, keys, portal, create_app(guard, access_log=AccessLog(lines.append)), lines)
