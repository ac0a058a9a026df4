"""Security headers of replies, and the client address behind a reverse proxy.

Every reply forbids framing, sniffing and referrers. Pages may load scripts, styles and images from this server alone
(Content Security Policy, no inline script, no ``eval``); API replies may load nothing. Only static files may be cached.
Behind a reverse proxy the client address is the last one in the header: the proxy wrote it, the client the others.
"""

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content Security Policy of the pages."""

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
_FIXED_HEADERS = {
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
_TWO_YEARS = b"max-age=63072000; includeSubDomains"


class SecurityHeaders:
    """Middleware that sets the security headers of every reply."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _add_headers(message["headers"], scope)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _add_headers(given: "Iterable[tuple[bytes, bytes]]", scope: "Scope") -> list[tuple[bytes, bytes]]:
    """Return the headers of a reply, whose names are in lower case, with the security headers in place of its own."""
    given = list(given)
    names = dict(given)
    page = names.get(b"content-type", b"").startswith(b"text/html")
    added = _FIXED_HEADERS | {b"content-security-policy": (PAGE_POLICY if page else _API_POLICY).encode()}
    if not scope["path"].startswith("/static/"):
        added[b"cache-control"] = b"no-store"
    elif b"cache-control" not in names:
        added[b"cache-control"] = b"public, max-age=3600"
    if scope["scheme"] == "https":
        added[b"strict-transport-security"] = _TWO_YEARS
    return [*((name, value) for name, value in given if name not in added), *added.items()]


class BehindProxy:
    """Middleware that takes the client address and the scheme from the nearest proxy's headers.

    Only the last entry of ``X-Forwarded-For`` is the proxy's; the client can choose the entries before it.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            forwarded = ",".join(headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
            scheme = ",".join(headers.getlist("x-forwarded-proto")).rpartition(",")[2].strip().lower()
            changed = {"client": (forwarded, 0)} if forwarded else {}
            scope = dict(scope) | changed | ({"scheme": scheme} if scheme in {"http", "https"} else {})
        await self._app(scope, receive, send)
