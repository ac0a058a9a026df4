"""Intervals for true values of skewed persons hold as often as the page says, and noise intervals would not."""

from __future__ import annotations

import pytest

from benchmarks.tables import persons
from benchmarks.tables.persons import BEGIN, STATISTICS, coverage
from benchmarks.tables.statistics import END, PAGE, significantly_low

RUNS = 300


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.sampled(3)
def test_no_statistic_of_persons_holds_less_often_than_stated(name: str) -> None:
    for rows, epsilon in ((10, "0.1"), (1_000, "1")):
        share = coverage(name, rows, epsilon, RUNS)
        assert share is not None
        assert not significantly_low(share, RUNS)


@pytest.mark.parametrize("name", ["count", "sum", "mean"])
def test_noise_intervals_miss_the_true_values_of_persons(name: str) -> None:
    assert coverage(name, 1_000, "1", RUNS, noise=True) == 0


def test_the_page_has_a_table_of_persons_without_anything_below_the_level() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    assert len(shown) == 2 + len(STATISTICS)
    numbers = [int(cell) for line in shown[2:] for cell in line.strip("| ").split(" | ")[2:] if cell != "–"]
    assert len(numbers) == 3 * (2 * 4 + 6 * 3)
    assert min(numbers) >= 95


@pytest.mark.thorough
def test_the_page_holds_what_is_measured_of_persons() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == persons.table(), "python -m benchmarks.tables.statistics"
