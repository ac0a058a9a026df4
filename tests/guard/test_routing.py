"""What routes have in common: threads that do not starve each other, and a document of what can go wrong."""

from __future__ import annotations

import threading

import anyio
import pytest

from celosia.guard.routing import Threads, problems
from celosia.serving.problems import MEDIA_TYPE


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


def test_every_problem_is_declared_as_one() -> None:
    entries = problems(429, 401, 503)
    assert list(entries) == [401, 429, 503]
    for entry in entries.values():
        assert list(entry["content"]) == [MEDIA_TYPE]
    assert "Retry-After" in entries[429]["headers"]
    with pytest.raises(KeyError):
        problems(418)
