"""The bar: drawn on a terminal after a while, silent everywhere else, gone at the end."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import celosia as cl
from celosia.query.progress import Bar


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _watch(*, terminal: bool, wait: float) -> str:
    screen, clock = io.StringIO(), Clock()
    bar = Bar(Console(file=screen, force_terminal=terminal, width=60, color_system=None), clock)
    bar(0.1)
    clock.now += wait
    bar(0.5)
    bar(1.0)
    return screen.getvalue()


def test_somebody_who_waits_at_a_terminal_sees_a_bar() -> None:
    assert "Reading" in _watch(terminal=True, wait=3)


def test_a_quick_answer_draws_nothing() -> None:
    assert _watch(terminal=True, wait=1) == ""


def test_nothing_is_drawn_where_nobody_watches() -> None:
    assert _watch(terminal=False, wait=60) == ""


def test_a_session_reports_to_whom_it_was_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [34, 71]}), tmp_path / "deaths.parquet")
    shares: list[float] = []
    deaths = cl.table(tmp_path / "deaths.parquet", schema=cl.Schema(age=cl.Integer(0, 120)))
    with cl.Session(deaths, budget=cl.PureDP(epsilon=1), progress=shares.append) as session:
        session.query().count().release(epsilon=1)
    assert shares[-1] == 1.0
    assert all(0 <= share <= 1 for share in shares)
