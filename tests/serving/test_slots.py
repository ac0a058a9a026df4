"""Replies leave in slots: the arithmetic by law, and the layer by what it lets out and when."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.serving.slots import Slots, next_slot_end

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

ASKED: dict[str, Any] = {"type": "http", "method": "POST", "path": "/v1/queries"}


@given(st.integers(0, 2**63), st.integers(1, 60_000_000_000))
def test_the_tick_is_the_first_multiple_after_now(now: int, slot: int) -> None:
    tick = next_slot_end(now, slot)
    assert tick % slot == 0
    assert now < tick <= now + slot


@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(1, 10**6))
def test_what_ends_in_one_slot_leaves_together(begin: int, within: int, slot: int) -> None:
    start = begin // slot * slot
    assert next_slot_end(start + within % slot, slot) == start + slot


def send_through(milliseconds: int, scope: dict[str, Any], *pieces: bytes) -> tuple[list[Message], list[int]]:
    """What a layer lets out of a reply in pieces, and when."""
    sent: list[Message] = []
    times: list[int] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for place, piece in enumerate(pieces):
            await anyio.sleep(0.001)
            await send({"type": "http.response.body", "body": piece, "more_body": place < len(pieces) - 1})

    async def send(message: Message) -> None:
        sent.append(message)
        times.append(time.monotonic_ns())

    async def receive() -> Message:
        return {"type": "http.request"}

    layer = Slots(app, milliseconds=milliseconds, is_delayed=lambda scope: scope["method"] == "POST")
    anyio.run(layer, scope, receive, send)
    return sent, times


def test_a_reply_is_kept_whole_until_a_tick() -> None:
    slot = 20_000_000
    before = time.monotonic_ns()
    sent, times = send_through(20, ASKED, b"one ", b"two")
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1]["body"] == b"one two"
    assert not sent[1]["more_body"]
    # Nothing left before the first tick after the work, and the pieces left together.
    assert times[0] - before >= slot


@pytest.mark.parametrize(
    ("milliseconds", "scope"), [(0, ASKED), (20, ASKED | {"method": "GET"})], ids=["off", "not one that is kept"]
)
def test_other_replies_leave_as_they_come(milliseconds: int, scope: dict[str, Any]) -> None:
    sent, _ = send_through(milliseconds, scope, b"one ", b"two")
    assert len(sent) == 3


def test_a_slot_is_a_whole_number_of_milliseconds() -> None:
    with pytest.raises(ParameterError, match="milliseconds"):
        Slots(lambda *_: None, milliseconds=-1, is_delayed=lambda *_: True)  # type: ignore[arg-type]
