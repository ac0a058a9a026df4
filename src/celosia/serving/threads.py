"""Threads for blocking calls, with separate pools for queries, long work and short work, so that none starves.

A call continues when its client disconnects, so that a paid answer is stored.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Thread pools of blocking calls."""

    def __init__(self) -> None:
        self._query_threads = ThreadPoolExecutor(256, "query")
        self._work_threads = ThreadPoolExecutor(max(4, os.cpu_count() or 1), "work")
        self._read_threads = ThreadPoolExecutor(16, "read")

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query, which mostly waits: for its turn to read data, and for its slot."""
        return await _run(self._query_threads, partial(call, *args, **kwargs))

    async def work(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a long call."""
        return await _run(self._work_threads, partial(call, *args, **kwargs))

    async def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short call."""
        return await _run(self._read_threads, partial(call, *args, **kwargs))


async def _run(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, _without_stop, call)


def _without_stop(call: Callable[[], T]) -> T:
    """Run a call; a ``StopIteration``, which no future can hold, becomes a ``RuntimeError``."""
    try:
        return call()
    except StopIteration as error:
        raise RuntimeError from error
