"""Refuse ambiguous requests before anything reads them.

A path with a control character can match a route that a comparison of paths does not: the router ignores a last line
break. A repeated header is the first value to one reader and the last to another. A body with two lengths ends at one
place for a proxy and at another for us (RFC 9112, section 6.3). No honest client sends any of these. Of two equal
lengths h11 makes one before this layer, so they are accepted.
"""

import unicodedata
from typing import TYPE_CHECKING, Final

from celosia.core.messages.message import Message
from celosia.serving.problems import HttpError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SINGLE_HEADERS: Final = (b"authorization", b"content-type", b"host", b"idempotency-key")
_BODY_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})
_CONTROL_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, surrogates, line and paragraph separators


class RequestValidation:
    """Middleware that refuses ambiguous requests."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] == "http":
            if not _is_printable(scope["path"]):
                raise HttpError(404, Message("serving.no_such_address"))
            names = [name for name, _ in scope["headers"]]
            if sum(name in _BODY_LENGTHS for name in names) > 1:
                two = Message("serving.two_body_lengths")
                raise HttpError(400, two, error="FormatError", headers={"Connection": "close"})
            for name in _SINGLE_HEADERS:
                if names.count(name) > 1:
                    raise HttpError(
                        400, Message("serving.header_repeated", header=name.decode().title()), error="FormatError"
                    )
        await self._app(scope, receive, send)


def _is_printable(path: str) -> bool:
    return path.isprintable() or not any(unicodedata.category(letter) in _CONTROL_CATEGORIES for letter in path)
