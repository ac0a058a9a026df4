"""Threads of one kind of work do not starve those of another."""

from __future__ import annotations

import threading

import anyio
import pytest

from celosia.serving.threads import Threads


def test_questions_that_take_long_do_not_keep_readers_waiting() -> None:
    gate = threading.Event()

    async def crowd() -> str:
        threads = Threads()
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(threads.ask, gate.wait, 600)
            await anyio.sleep(0.01)
            read = await threads.read(str, "read")
            gate.set()
        return read

    assert anyio.run(crowd) == "read"


def test_arguments_and_errors_pass_through() -> None:
    async def call() -> int:
        return await Threads().ask(int, "ff", base=16)

    assert anyio.run(call) == 255
    with pytest.raises(ValueError, match="invalid literal"):
        anyio.run(Threads().read, int, "x")


def test_the_end_of_an_iterator_is_an_error_like_any_other() -> None:
    """A future cannot hold a ``StopIteration``: whoever waits for it would wait for ever."""
    with pytest.raises(RuntimeError):
        anyio.run(Threads().read, next, iter(()))
