"""Intervals of 95 % hold as often as they say: every statistic, from no rows to many, even and skewed.

A share of holding intervals fails if it had a probability below 1e-6 at the level; seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.tables import statistics
from benchmarks.tables.statistics import (
    BEGIN,
    END,
    EPSILONS,
    PAGE,
    ROWS,
    SHAPES,
    STATISTICS,
    coverage,
    runs_of,
    significantly_low,
)

CASES = [(shape, rows, epsilon) for shape in SHAPES for rows in ROWS for epsilon in EPSILONS]


@pytest.mark.parametrize("name", STATISTICS)
def test_no_statistic_holds_less_often_than_stated(name: str) -> None:
    runs = runs_of(name, 300)
    shares = [share for case in CASES if (share := coverage(name, *case, 300)) is not None]
    assert not [share for share in shares if significantly_low(share, runs)]
    assert not significantly_low(float(np.mean(shares)), runs * len(shares))


@pytest.mark.parametrize(("name", "rows"), [("sum", 1000), ("mean", 100_000), ("variance", 100_000)])
def test_an_interval_that_is_a_tenth_too_narrow_is_found(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = statistics.estimate

    def narrow(*given: object) -> object:
        made = exact(*given)  # type: ignore[arg-type] # whatever the table asks for
        between, value = made.interval, made.value

        def interval(level: float) -> tuple[object, object]:
            assert between is not None
            low, high = between(level)
            return value - 0.9 * (value - low), value + 0.9 * (high - value)

        object.__setattr__(made, "interval", interval)
        return made

    monkeypatch.setattr(statistics, "estimate", narrow)
    shares = [coverage(name, shape, rows, epsilon, 300) or 0.0 for shape in SHAPES for epsilon in EPSILONS]
    assert significantly_low(float(np.mean(shares)), 6 * runs_of(name, 300))


def test_the_page_has_a_table_without_anything_below_the_level() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    assert len(shown) == 2 + len(STATISTICS) * len(SHAPES)
    numbers = [int(cell) for line in shown[2:] for cell in line.strip("| ").split(" | ")[2:] if cell != "–"]
    assert len(numbers) == 2 * 3 * (2 * 4 + 6 * 3)
    assert min(numbers) >= 95


@pytest.mark.thorough
def test_the_page_holds_what_is_measured() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == statistics.table(), "python -m benchmarks.tables.statistics"
