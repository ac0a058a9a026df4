"""Refuse what two readers would read differently, before anybody reads it.

A path with a control character is one address to the router, which matches before a last line break, and another to
whoever compares paths; a header that is there twice is the first to one reader and the last to another. Nobody who
means well sends either.
"""

import unicodedata
from typing import TYPE_CHECKING, Final

from celosia.guard.http.problems import HttpError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_ONCE: Final = (b"authorization", b"content-type", b"host", b"idempotency-key")
_UNSEEN: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of pairs, separators of lines and paragraphs


class RequestValidation:
    """Let only requests through that can be read in one way (ASGI)."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if scope["type"] == "http":
            if not _is_plain(scope["path"]):
                raise HttpError(404, "There is nothing at this address; /v1/docs says what there is.")
            names = [name for name, _ in scope["headers"]]
            for name in _ONCE:
                if names.count(name) > 1:
                    raise HttpError(
                        400,
                        f"The header {name.decode().title()} is there more than once: send it once.",
                        error="FormatError",
                    )
        await self._app(scope, receive, send)


def _is_plain(path: str) -> bool:
    return path.isprintable() or not any(unicodedata.category(letter) in _UNSEEN for letter in path)
