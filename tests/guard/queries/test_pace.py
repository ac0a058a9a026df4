"""The end of the work is seen at few moments: the arithmetic by law, and the waiting by where it happens."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.guard.queries.pace import Pace, delay_until_visible

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
    pace = Pace(milliseconds=SLOT)
    for work in (0, 0.03):
        begun = time.monotonic_ns()
        with suppress(ZeroDivisionError), pace.reading("deaths"):
            time.sleep(work)
            _ = 1 / (not fails)
        assert time.monotonic_ns() - begun >= delay_until_visible(int(work * 1e9), NANOSECONDS)


def test_the_phase_of_the_clock_does_not_matter() -> None:
    """QueryResult just before a tick of any clock, it takes as long as just behind it."""
    pace = Pace(milliseconds=SLOT)
    for phase in range(0, NANOSECONDS, NANOSECONDS // 4):
        while time.monotonic_ns() % NANOSECONDS // (NANOSECONDS // 4) != phase // (NANOSECONDS // 4):
            time.sleep(0.001)
        begun = time.monotonic_ns()
        with pace.reading("deaths"):
            pass
        assert time.monotonic_ns() - begun >= NANOSECONDS // 2


def waves(pace: Pace, *datasets: str) -> list[int]:
    """When each of some questions at once had its turn."""
    turns: list[int] = []

    def read(dataset: str) -> None:
        with pace.reading(dataset):
            turns.append(time.monotonic_ns())

    threads = [threading.Thread(target=read, args=(dataset,)) for dataset in datasets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(turns)


def test_the_next_turn_tells_no_more_than_the_answer() -> None:
    first, second, third = waves(Pace(milliseconds=SLOT), "deaths", "deaths", "deaths")
    assert min(second - first, third - second) >= NANOSECONDS // 2


def test_with_all_places_taken_the_same_holds_across_data_sets() -> None:
    first, second = waves(Pace(milliseconds=SLOT, places=1), "deaths", "births")
    assert second - first >= NANOSECONDS // 2


@pytest.mark.parametrize(("milliseconds", "names"), [(0, ["a"] * 6), (2, list("abcdef"))])
def test_only_so_many_read_at_a_time(milliseconds: int, names: list[str]) -> None:
    pace, inside, most = Pace(milliseconds=milliseconds, places=2), [0], [0]
    lock, pair = threading.Lock(), threading.Barrier(2)  # two at a time, however busy the machine is

    def read(name: str) -> None:
        with pace.reading(name):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            pair.wait(600)
            with lock:
                inside[0] -= 1

    threads = [threading.Thread(target=read, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [2]


def test_bad_input() -> None:
    cases: list[dict[str, int]] = [{"milliseconds": -1}, {"milliseconds": 0, "places": 0}]
    for wrong in cases:
        with pytest.raises(ParameterError, match=list(wrong)[-1]):
            Pace(**wrong)
