"""Parts of a day number, in DuckDB, against the calendar of Python's datetime."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.calendar import PARTS, SECONDS_PER_DAY
from celosia.query.plan.calendar_rules import UNITS, add_months, truncate_time
from tests.query.computed import computed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIRST = dt.date(1970, 1, 1).toordinal()
LAST = dt.date.max.toordinal()

ORACLE: dict[str, Callable[[dt.date], int]] = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "isodow": lambda day: day.isoweekday(),
}


def in_duckdb(name: str, ordinals: Sequence[int]) -> list[int | None]:
    """A part of days, counted as Python does from the year 1, as DuckDB computes it from days since 1970."""
    days = pa.table({"day": pa.array([None, *(day - FIRST for day in ordinals)], pa.int64())})
    found: list[int | None]
    nothing, *found = computed(days, lambda table: PARTS[name](table.day)).to_pylist()
    assert nothing is None
    return found


def sampled() -> list[int]:
    """The first and last days, those around each new year and leap day of some years, and others at random."""
    rng = np.random.default_rng(108)
    years = [*range(1, 9), *range(96, 105), *range(396, 405), *range(1896, 2105), *range(9592, 10_000)]
    turns = [dt.date(year, month, day) for year in years for month, day in ((1, 1), (2, 28), (3, 1), (12, 31))]
    around = {day.toordinal() + shift for day in turns for shift in (-1, 0, 1)}
    return sorted(
        {day for day in around if 1 <= day <= LAST} | {*rng.integers(1, LAST + 1, 20_000).tolist()} | {1, LAST}
    )


DAYS = sampled()


def test_every_part_has_an_oracle() -> None:
    assert list(PARTS) == list(ORACLE)
    assert dt.timedelta(days=1).total_seconds() == SECONDS_PER_DAY


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_those_of_the_calendar(name: str) -> None:
    assert in_duckdb(name, DAYS) == [ORACLE[name](dt.date.fromordinal(day)) for day in DAYS]


@pytest.mark.parametrize("name", PARTS)
def test_every_day_of_four_centuries(name: str) -> None:
    """The calendar repeats itself after 400 years."""
    every = range(dt.date(1800, 1, 1).toordinal(), dt.date(2200, 1, 1).toordinal())
    assert in_duckdb(name, every) == [ORACLE[name](dt.date.fromordinal(day)) for day in every]


def test_a_day_off_is_noticed() -> None:
    for name in PARTS:
        moved: list[Any] = [ORACLE[name](dt.date.fromordinal(day + 1)) for day in DAYS[:-1]]
        assert in_duckdb(name, DAYS[:-1]) != moved


def moved(make: Callable[[Any], Any], ordinals: Sequence[int]) -> list[dt.date]:
    days = pa.table({"day": pa.array([day - FIRST for day in ordinals], pa.int64())})
    return [dt.date.fromordinal(day + FIRST) for day in computed(days, lambda table: make(table.day)).to_pylist()]


@pytest.mark.parametrize("unit", UNITS[:-1])
def test_beginnings_are_those_of_the_calendar(unit: str) -> None:
    wanted = [truncate_time(dt.datetime.fromordinal(day), unit).date() for day in DAYS]
    assert moved(lambda days: DuckDBDialect().truncate_days(days, unit), DAYS) == wanted


@pytest.mark.parametrize("number", [1, -1, 12, -11, 2400])
def test_months_later_are_clamped_to_the_end_of_the_month(number: int) -> None:
    later = {day: add_months(dt.datetime.fromordinal(day), number) for day in DAYS}
    inside = {day: moment.date() for day, moment in later.items() if moment is not None}
    assert len(inside) > 20_000
    assert moved(lambda days: DuckDBDialect().add_months(days, number), list(inside)) == list(inside.values())
