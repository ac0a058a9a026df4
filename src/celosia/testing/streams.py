"""A test of whether processes and threads draw different noise.

A generator whose state is copied by ``fork`` gives parent and child the same noise; the difference of their releases is
then the difference of the data. One whose state is shared by threads without care can hand the same word out twice.
Here many processes, or threads, draw at once after a first draw has filled whatever buffers there are, and no two may
draw the same.
"""

import hashlib
import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from celosia.audit import gather
from celosia.core import ConformanceError
from celosia.core.exact import exact_integer

_DIGEST = 16


def check_fork_safety(draw: Callable[[], Any], *, processes: int = 64) -> int:
    """Raise ``ConformanceError`` if two of ``processes`` forked children, or the parent, draw the same.

    ``draw`` returns something random enough not to repeat by chance: a hundred bits, or a list of some dozens of
    releases. Returns how many streams were compared; 0 on a platform that cannot fork.

    >>> from celosia.noise import System
    >>> source = System()
    >>> check_fork_safety(lambda: source.words(4), processes=4)
    5
    >>> check_fork_safety(lambda: 4, processes=4)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ConformanceError: fork safety: of 5 processes, 5 drew what another one drew.
    """
    count = exact_integer(processes, name="processes")
    if not hasattr(os, "fork"):
        return 0
    draw()  # whatever is buffered is buffered before the fork
    children = [_start(draw) for _ in range(count)]
    streams = [_digest(draw()), *map(_collect, children)]
    return _compare(streams, "fork safety", "processes")


def check_thread_safety(draw: Callable[[], Any], *, threads: int = 16, rounds: int = 16) -> int:
    """Raise ``ConformanceError`` if two draws, among ``rounds`` in each of ``threads`` threads, are the same.

    >>> from celosia.noise import System
    >>> source = System()
    >>> check_thread_safety(lambda: source.words(4), threads=4, rounds=4)
    16
    """
    streams: list[bytes] = []
    gate = threading.Barrier(exact_integer(threads, name="threads"))

    def work() -> None:
        gate.wait()
        streams.extend([_digest(draw()) for _ in range(rounds)])

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if len(streams) != threads * rounds:
        raise ConformanceError("testing.draws_lost_in_threads", found=len(streams), wanted=threads * rounds)
    return _compare(streams, "thread safety", "draws")


def _compare(streams: Sequence[bytes], check: str, what: str) -> int:
    if b"" in streams:
        raise ConformanceError(
            "testing.draws_failed", check=check, failed=streams.count(b""), total=len(streams), what=what
        )
    repeated = sum(times for times in Counter(streams).values() if times > 1)
    if repeated:
        raise ConformanceError("testing.draws_repeated", check=check, total=len(streams), what=what, repeated=repeated)
    return len(streams)


def _digest(drawn: Any) -> bytes:
    return hashlib.blake2b(gather([drawn]).keys.tobytes() + repr(drawn).encode(), digest_size=_DIGEST).digest()


def _start(draw: Callable[[], Any]) -> tuple[int, int]:
    """Fork a child that writes the digest of its draw into a pipe; return its number and the pipe's reading end."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks in processes with threads; here the fork is what is being tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(draw, writing)
    os.close(writing)
    return child, reading


def _answer(draw: Callable[[], Any], writing: int) -> None:
    """Draw and exit, in the child, without running the parent's buffers and exit handlers again."""
    try:
        os.write(writing, _digest(draw()))
    finally:
        os._exit(0)


def _collect(child: tuple[int, int]) -> bytes:
    number, reading = child
    with os.fdopen(reading, "rb") as pipe:
        stream = pipe.read()
    os.waitpid(number, 0)
    return stream
