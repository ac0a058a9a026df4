"""Headers: each reply has them, whatever it is, and nobody can choose an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from celosia.serving.headers import PAGE_POLICY, BehindProxy, SecurityHeaders

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


def send_headers(scope: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    sent: list[tuple[bytes, bytes]] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})

    async def send(message: Message) -> None:
        sent.extend(message["headers"])

    layer: Any = SecurityHeaders(app)
    anyio.run(layer, {"type": "http", "scheme": "http", "path": "/v1/x"} | scope, None, send)
    return {name.decode(): value.decode() for name, value in sent}


def test_the_api_may_load_nothing_and_nothing_is_kept() -> None:
    headers = send_headers({}, [(b"content-type", b"application/json"), (b"cache-control", b"public")])
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "strict-transport-security" not in headers


def test_pages_load_from_here_alone() -> None:
    headers = send_headers({"path": "/", "scheme": "https"}, [(b"content-type", b"text/html; charset=utf-8")])
    assert headers["content-security-policy"] == PAGE_POLICY
    for word in ("unsafe", "http:", "https:", "*"):
        assert word not in PAGE_POLICY
    assert headers["strict-transport-security"].startswith("max-age=")


def test_static_files_may_be_kept() -> None:
    assert send_headers({"path": "/static/pages.css"}, [])["cache-control"] == "public, max-age=3600"
    kept = send_headers({"path": "/static/pages.css"}, [(b"cache-control", b"public, max-age=5")])
    assert kept["cache-control"] == "public, max-age=5"


@pytest.mark.parametrize(
    ("headers", "client", "scheme"),
    [
        ([], "127.0.0.1", "http"),
        ([(b"x-forwarded-for", b"192.0.2.7")], "192.0.2.7", "http"),
        ([(b"x-forwarded-for", b"10.0.0.1, 192.0.2.7"), (b"x-forwarded-proto", b"https")], "192.0.2.7", "https"),
        ([(b"x-forwarded-for", b"10.0.0.1"), (b"x-forwarded-for", b"192.0.2.7")], "192.0.2.7", "http"),
        ([(b"x-forwarded-proto", b"javascript")], "127.0.0.1", "http"),
    ],
)
def test_only_what_the_nearest_proxy_wrote_counts(headers: list[tuple[bytes, bytes]], client: str, scheme: str) -> None:
    seen: list[Any] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append((scope["client"][0], scope["scheme"]))

    scope = {"type": "http", "client": ("127.0.0.1", 5), "scheme": "http", "headers": headers}
    layer: Any = BehindProxy(app)
    anyio.run(layer, scope, None, None)
    assert seen == [(client, scheme)]
