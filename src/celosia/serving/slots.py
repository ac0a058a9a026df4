"""Delay replies to a multiple of a slot after their request, so that their timing reveals little.

The time of a query depends on the data: on how many rows pass a filter, and on caches. A reply that spends budget
therefore waits, whole (status, headers and body), for the next multiple of the slot, whether it is an answer or an
error. Slots are counted from the request. On a global clock, a client could choose the phase of its requests and see
on which side of a tick the work ended. ``pace`` delays the work and the stored state; this layer covers the rest.
"""

import time
from typing import TYPE_CHECKING

import anyio

from celosia.core.exact import exact_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NANOSECONDS_PER_MILLISECOND = 1_000_000


def next_slot_end(now: int, slot: int) -> int:
    """Return the first multiple of ``slot`` that is greater than ``now``."""
    return (now // slot + 1) * slot


class Slots:
    """Middleware that delays replies to whole slots.

    Parameters
    ----------
    app
        The application.
    milliseconds
        The length of a slot; 0 sends replies without delay.
    is_delayed
        Returns whether the reply to a scope is delayed.
    """

    def __init__(self, app: "ASGIApp", *, milliseconds: int, is_delayed: "Callable[[Scope], bool]") -> None:
        self._app = app
        self._slot = exact_integer(milliseconds, name="milliseconds", least=0) * _NANOSECONDS_PER_MILLISECOND
        self._is_delayed = is_delayed

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if not self._slot or scope["type"] != "http" or not self._is_delayed(scope):
            await self._app(scope, receive, send)
            return
        begun = time.monotonic_ns()
        reply: list[Message] = []

        async def collect(message: "Message") -> None:
            reply.append(message)

        await self._app(scope, receive, collect)
        whole_reply = _join_body(reply)
        await self._sleep_until_slot_end(begun)
        for message in whole_reply:
            await send(message)

    async def _sleep_until_slot_end(self, begun: int) -> None:
        slot_end = begun + next_slot_end(time.monotonic_ns() - begun, self._slot)
        while (left := slot_end - time.monotonic_ns()) > 0:  # noqa: ASYNC110 - a clock sets no event
            await anyio.sleep(left / 1e9)


def _join_body(reply: "list[Message]") -> "list[Message]":
    """Return the start of a reply and its whole body, so that no pause between pieces is visible."""
    start = [message for message in reply if message["type"] == "http.response.start"]
    body = b"".join(message.get("body", b"") for message in reply if message["type"] == "http.response.body")
    return [*start, {"type": "http.response.body", "body": body, "more_body": False}] if start else []
