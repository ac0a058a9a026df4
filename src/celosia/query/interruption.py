"""Interrupt a read that takes too long or that its analyst has cancelled."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from celosia.query.engines.base import Engine

_POLL_SECONDS: Final = 0.5


class Interruption:
    """Why a read was interrupted; None while it was not."""

    reason: Message | None = None


@contextlib.contextmanager
def interrupt_when(
    engine: "Engine", seconds: float | None, is_cancelled: Callable[[], bool] | None
) -> Iterator[Interruption]:
    """Interrupt an engine during the block, after some seconds or as soon as ``is_cancelled()`` returns True.

    A read can be several statements, and an interruption between two of them is lost. So it is repeated until the block
    ends.
    """
    found = Interruption()
    done, end = threading.Event(), None if seconds is None else time.monotonic() + seconds

    def watch() -> None:
        pause = _POLL_SECONDS if end is None else min(_POLL_SECONDS, max(0.0, end - time.monotonic()))
        while not done.wait(pause):
            pause = _POLL_SECONDS
            if end is not None and time.monotonic() >= end:
                found.reason = found.reason or Message("query.time_limit_reached", seconds=seconds)
            elif is_cancelled is not None and found.reason is None and _suppress(is_cancelled):
                found.reason = Message("query.question_cancelled")
            if found.reason is not None:
                _suppress(engine.interrupt)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _suppress(call: Callable[[], object]) -> bool:
    """Return whether a call returned something true; an error, such as a lost connection, counts as false."""
    with contextlib.suppress(Exception):
        return bool(call())
    return False
