"""Copied and shared states are caught; the system's source is cleared."""

from __future__ import annotations

import os
import threading

import pytest

from celosia.core import ConformanceError
from celosia.noise import Seeded, System
from celosia.testing import check_fork_safety, check_thread_safety

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")


@needs_fork
@pytest.mark.thorough
def test_sixty_four_forked_processes_draw_no_equal_streams() -> None:
    source = System()
    assert check_fork_safety(lambda: source.words(16)) == 65


@needs_fork
def test_scalar_words_too() -> None:
    source = System()
    assert check_fork_safety(lambda: [source.word() for _ in range(4)], processes=6) == 7


@needs_fork
def test_a_state_that_forks_copy_is_caught() -> None:
    source = Seeded(1)
    with pytest.raises(ConformanceError, match="of 5 processes, 5 drew what another one drew"):
        check_fork_safety(lambda: source.words(4), processes=4)


@needs_fork
def test_a_child_that_cannot_draw_is_reported() -> None:
    parent = os.getpid()

    def draw() -> int:
        if os.getpid() != parent:
            raise RuntimeError
        return 4

    with pytest.raises(ConformanceError, match="2 of 3 processes failed to draw"):
        check_fork_safety(draw, processes=2)


def test_where_nothing_can_fork_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork", raising=False)
    assert check_fork_safety(lambda: 4) == 0


def test_threads_draw_no_equal_streams() -> None:
    source = System()
    assert check_thread_safety(lambda: source.words(4)) == 256


def test_threads_that_repeat_each_other_are_caught() -> None:
    local = threading.local()

    def draw() -> int:
        local.source = getattr(local, "source", None) or Seeded(1)
        return int(local.source.word())

    with pytest.raises(ConformanceError, match="of 8 draws, 8 drew what another one drew"):
        check_thread_safety(draw, threads=2, rounds=4)
