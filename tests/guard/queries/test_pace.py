"""The end of the work is seen at few moments: the arithmetic by law, and the waiting by where it happens."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.guard.queries.pace import Turns, delay_end, delay_until_visible

if TYPE_CHECKING:
    from collections.abc import Callable

SLOT = 40
NANOSECONDS = SLOT * 10**6


@given(st.integers(0, 2**50), st.integers(2, 60_000_000_000))
def test_what_is_visible_is_half_a_slot_doubled(took: int, slot: int) -> None:
    half = slot // 2
    told = delay_until_visible(took, slot)
    assert told >= took
    assert told % half == 0
    assert (told // half).bit_count() == 1  # a power of two
    assert told == half or told < 2 * took  # and the least that there is


@pytest.mark.parametrize("fails", [False, True])
def test_whatever_happens_it_is_waited_for(fails: bool) -> None:  # noqa: FBT001
    for work in (0, 0.03):
        begun = time.monotonic_ns()
        with suppress(ZeroDivisionError), delay_end(SLOT):
            time.sleep(work)
            _ = 1 / (not fails)
        assert time.monotonic_ns() - begun >= delay_until_visible(int(work * 1e9), NANOSECONDS)


def test_the_phase_of_the_clock_does_not_matter() -> None:
    """QueryResult just before a tick of any clock, it takes as long as just behind it."""
    for phase in range(0, NANOSECONDS, NANOSECONDS // 4):
        while time.monotonic_ns() % NANOSECONDS // (NANOSECONDS // 4) != phase // (NANOSECONDS // 4):
            time.sleep(0.001)
        begun = time.monotonic_ns()
        with delay_end(SLOT):
            pass
        assert time.monotonic_ns() - begun >= NANOSECONDS // 2


class FakeQueries:
    """Fake queries of analysts: they wait for turns, end when told to, and are listed as they begin."""

    def __init__(self, places: int) -> None:
        self.turns, self.begun, self.ends = Turns(places), list[str](), dict[str, threading.Event]()
        self._changed, self._threads = threading.Condition(), list[threading.Thread]()

    def ask(self, *names: str) -> None:
        """Ask questions such as "a1", the first of analyst a; each is in the queue before the next is asked."""
        for name in names:
            self.ends[name] = threading.Event()
            thread = threading.Thread(target=self._take, args=(name,), daemon=True)
            thread.start()
            self._threads.append(thread)
            self.wait(lambda name=name: name in self.begun or self._count_waiting(name[0]) == self._asked(name[0]))  # type: ignore[misc]

    def _take(self, name: str) -> None:
        with self.turns.take(name[0]):
            with self._changed:
                self.begun.append(name)
            self.ends[name].wait(600)

    def _asked(self, analyst: str) -> int:
        return sum(one[0] == analyst and one not in self.begun for one in self.ends)

    def _count_waiting(self, analyst: str) -> int:
        return len(self.turns._waiting.get(analyst, ()))

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, however busy the machine is."""
        for _ in range(600_000):
            if holds():
                return
            time.sleep(0.001)
        raise AssertionError(self.begun)

    def end(self, name: str, then: list[str]) -> None:
        """End a question, and wait until those that should begin then have begun."""
        before = len(self.begun)
        self.ends[name].set()
        self.wait(lambda: len(self.begun) >= before + len(then))
        assert self.begun[before:] == then

    def finish(self) -> None:
        for event in self.ends.values():
            event.set()
        for thread in self._threads:
            thread.join()
        assert not self.turns._taken
        assert not self.turns._waiting


def test_an_analyst_who_asks_much_delays_no_other() -> None:
    queries = FakeQueries(places=2)
    queries.ask(*(f"a{number}" for number in range(40)))
    assert queries.begun == ["a0"]  # a second question of the same analyst waits, though a place is free
    queries.ask("b0")
    assert queries.begun == ["a0", "b0"]
    queries.finish()
    assert sorted(queries.begun) == sorted(queries.ends)


def test_analysts_take_turns() -> None:
    queries = FakeQueries(places=1)
    queries.ask("a0", "a1", "a2", "b0", "b1", "c0")
    queries.end("a0", then=["b0"])  # b and c have waited longer than a for their next question
    queries.end("b0", then=["c0"])
    queries.end("c0", then=["a1"])
    queries.end("a1", then=["b1"])
    queries.end("b1", then=["a2"])
    queries.finish()


def test_a_turn_ends_with_an_error_too() -> None:
    turns = Turns(1)
    for _ in range(3):
        with suppress(ZeroDivisionError), turns.take("a"):
            _ = 1 // 0
    assert not turns._taken


def test_bad_input() -> None:
    for wrong in (0, -1, "many", 1.5):
        with pytest.raises(ParameterError, match="places"):
            Turns(wrong)  # type: ignore[arg-type]
