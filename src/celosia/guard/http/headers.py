"""Headers that tell a browser to trust nothing but this server, and whom a request came from.

Every reply forbids framing, sniffing and referrers; pages may load scripts, styles and pictures from this server alone
(Content Security Policy, no inline script, no ``eval``), replies of the API nothing at all. Nothing is kept in a cache
but the pages' own static files. Behind a reverse proxy the asker's address is the last one that the proxy wrote: the
ones before it are words of the asker.
"""

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load, and from where."""

_NOTHING = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_TWO_YEARS = "max-age=63072000; includeSubDomains"


class SecurityHeaders:
    """Put the headers on every reply (ASGI)."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start":
                _adorn(MutableHeaders(scope=message), scope)
            await send(message)

        await self._app(scope, receive, sending)


def _adorn(headers: MutableHeaders, scope: "Scope") -> None:
    for name, value in _ALWAYS.items():
        headers[name] = value
    page = headers.get("content-type", "").startswith("text/html")
    headers["Content-Security-Policy"] = PAGE_POLICY if page else _NOTHING
    if scope["path"].startswith("/static/"):
        headers.setdefault("Cache-Control", "public, max-age=3600")
    else:
        headers["Cache-Control"] = "no-store"
    if scope["scheme"] == "https":
        headers["Strict-Transport-Security"] = _TWO_YEARS


class BehindProxy:
    """Take the asker's address and the scheme from what the nearest proxy wrote (ASGI).

    Of ``X-Forwarded-For`` only the last entry is the proxy's own; whatever stands before it came with the request, and
    would let anybody choose an address.
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
