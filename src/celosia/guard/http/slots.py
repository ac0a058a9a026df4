"""Replies leave an integer number of slots after their request came, so that the time they took says little.

How long a query runs depends on the data: on how many rows pass a filter, on what the caches hold. A reply that spends
budget is therefore kept until the next multiple of the slot, whole (status, headers and body), whether it is an answer
or an error. Slots are counted from the request: on a clock of their own, whoever chooses when to ask would see on which
side of a tick the work ended, and could ask again at another moment. What the reply says, and the time of the work
itself, is paced before (``pace``); this layer covers all that is done around it.
"""

import time
from typing import TYPE_CHECKING

import anyio

from celosia.core.exact import exact_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NANOSECONDS = 1_000_000


def next_tick(now: int, slot: int) -> int:
    """Return the first multiple of ``slot`` after ``now``, counted from the request; never ``now`` itself."""
    return (now // slot + 1) * slot


class Slots:
    """Keep the replies to some requests for whole slots (ASGI).

    Parameters
    ----------
    app
        What serves the requests.
    milliseconds
        The length of a slot; 0 lets replies leave when they are ready.
    kept
        Tells of a request, by its scope, whether its reply waits.
    """

    def __init__(self, app: "ASGIApp", *, milliseconds: int, kept: "Callable[[Scope], bool]") -> None:
        self._app = app
        self._slot = exact_integer(milliseconds, name="milliseconds", least=0) * _NANOSECONDS
        self._kept = kept

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if not self._slot or scope["type"] != "http" or not self._kept(scope):
            await self._app(scope, receive, send)
            return
        begun = time.monotonic_ns()
        reply: list[Message] = []

        async def keep(message: "Message") -> None:
            reply.append(message)

        await self._app(scope, receive, keep)
        whole_reply = _joined(reply)
        await self._until_tick(begun)
        for message in whole_reply:
            await send(message)

    async def _until_tick(self, begun: int) -> None:
        tick = begun + next_tick(time.monotonic_ns() - begun, self._slot)
        while (left := tick - time.monotonic_ns()) > 0:  # noqa: ASYNC110 - a clock sets no event
            await anyio.sleep(left / 1e9)


def _joined(reply: "list[Message]") -> "list[Message]":
    """Return the start of a reply and its whole body, so that no pause between pieces tells anything."""
    start = [message for message in reply if message["type"] == "http.response.start"]
    body = b"".join(message.get("body", b"") for message in reply if message["type"] == "http.response.body")
    return [*start, {"type": "http.response.body", "body": body, "more_body": False}] if start else []
