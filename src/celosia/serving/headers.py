"""Security headers of replies, and the client address behind a reverse proxy.

Every reply forbids framing, sniffing and referrers. Pages may load scripts, styles and images from this server alone
(Content Security Policy, no inline script, no ``eval``); API replies may load nothing. Only static files may be cached.
Behind a reverse proxy the client address is the last one in the header: the proxy wrote it, the client the others.
"""

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content Security Policy of the pages."""

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
_FIXED_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_TWO_YEARS = "max-age=63072000; includeSubDomains"


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
                _set_headers(MutableHeaders(scope=message), scope)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _set_headers(headers: MutableHeaders, scope: "Scope") -> None:
    for name, value in _FIXED_HEADERS.items():
        headers[name] = value
    page = headers.get("content-type", "").startswith("text/html")
    headers["Content-Security-Policy"] = PAGE_POLICY if page else _API_POLICY
    if scope["path"].startswith("/static/"):
        headers.setdefault("Cache-Control", "public, max-age=3600")
    else:
        headers["Cache-Control"] = "no-store"
    if scope["scheme"] == "https":
        headers["Strict-Transport-Security"] = _TWO_YEARS


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
