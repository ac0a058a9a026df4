"""Refuse ambiguous requests before anything reads them.

A path with a control character can match a route that a comparison of paths does not: the router ignores a last line
break. A repeated header is the first value to one reader and the last to another. No honest client sends either.
"""

import unicodedata
from typing import TYPE_CHECKING, Final

from celosia.core.messages.message import Message
from celosia.guard.http.problems import HttpError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SINGLE_HEADERS: Final = (b"authorization", b"content-type", b"host", b"idempotency-key")
_CONTROL_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, surrogates, line and paragraph separators


class RequestValidation:
    """Middleware that refuses ambiguous requests."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] == "http":
            if not _is_printable(scope["path"]):
                raise HttpError(404, Message("guard.no_such_address"))
            names = [name for name, _ in scope["headers"]]
            for name in _SINGLE_HEADERS:
                if names.count(name) > 1:
                    raise HttpError(
                        400,
                        Message("guard.header_repeated", header=name.decode().title()),
                        error="FormatError",
                    )
        await self._app(scope, receive, send)


def _is_printable(path: str) -> bool:
    return path.isprintable() or not any(unicodedata.category(letter) in _CONTROL_CATEGORIES for letter in path)
