"""Median, quantiles and ends of plain columns: the same choice as in a query, from any kind of column."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.core import (
    ZCDP,
    ExponentialEvent,
    NoIntervalError,
    ParameterError,
    PureDP,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.data import deaths
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Quantiles, maximum, median, minimum, quantile, quantiles

AGES = np.repeat(np.arange(20, 91), 200)


def test_the_deciles_of_ages_at_death_are_within_a_year() -> None:
    ages = deaths()["age"]
    qs = [i / 10 for i in range(1, 10)]
    truth = np.quantile(ages.to_numpy(), qs, method="inverted_cdf")
    found = quantiles(ages, qs, bounds=(0, 120), epsilon=1, source=Seeded(6)).value
    assert np.abs(found - truth).max() <= 1


def test_it_is_the_choice_that_a_query_makes() -> None:
    choice = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=("1/4", "3/4"), interval=True)
    counts = np.bincount(AGES, minlength=121)[None]
    expected = choice.release(counts, 1, ContributionBounds(), source=Seeded(1)).value[0]
    found = quantiles(AGES, ["1/4", "3/4"], (0, 120), 1, source=Seeded(1))
    assert found.value.tolist() == expected.tolist()
    assert found.event == choice.event(1, ContributionBounds())


def test_releases_say_what_was_run_and_have_intervals() -> None:
    several = quantiles(AGES, ["1/4", "1/2", "3/4"], (0, 120), 1, source=Seeded(2))
    assert several.event == RepeatedEvent(event=ExponentialEvent(epsilon="1/6"), times=6)
    assert several.guarantee == PureDP(epsilon=1)
    assert several.seeded
    low, high = several.confidence_interval(0.95)
    assert (low <= np.quantile(AGES, [0.25, 0.5, 0.75])).all()
    assert (high >= np.quantile(AGES, [0.25, 0.5, 0.75])).all()
    assert (high - low).max() <= 4
    assert [end.tolist() for end in several.confidence_interval(0.999)] == [[0, 0, 0], [120, 120, 120]]
    middle = median(AGES, (0, 120), 1).confidence_interval()
    assert middle[0] <= 55 <= middle[1]
    assert isinstance(middle[0], int)
    greatest = maximum(AGES, (0, 120), 1)
    assert greatest.event == ExponentialEvent(epsilon=1)
    assert greatest.confidence_interval() == (greatest.value, 120)


def test_without_intervals_the_whole_price_goes_to_the_answers() -> None:
    several = quantiles(AGES, ["1/4", "1/2", "3/4"], (0, 120), 1, interval=False)
    assert several.event == RepeatedEvent(event=ExponentialEvent(epsilon="1/2"), times=2)
    with pytest.raises(NoIntervalError):
        several.confidence_interval()
    one = median(AGES, (0, 120), rho="1/8", adjacency=ReplaceOne, unit="person", interval=False)
    assert one.event == ExponentialEvent(epsilon=1, adjacency=ReplaceOne, unit="person")
    assert one.guarantee == ZCDP(rho="1/8", adjacency=ReplaceOne, unit="person")
    assert not one.seeded


@pytest.mark.parametrize(
    "column",
    [
        AGES,
        AGES.astype(np.uint8),
        pd.Series(AGES),
        pl.Series(AGES),
        pa.array(AGES),
        pa.chunked_array([AGES, AGES]),
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_whole_numbers_have_a_whole_median(column: Any) -> None:
    found = median(column, bounds=(0, 120), epsilon=1).value
    assert isinstance(found, int)
    assert abs(found - 55) <= 1


def test_real_numbers_have_a_real_median_on_their_grid() -> None:
    values = AGES / 10
    found = median(values, bounds=(0, 12), epsilon=1, grid="0.1").value
    assert isinstance(found, float)
    assert Fraction(str(found)).denominator in (1, 2, 5, 10)
    assert abs(found - 5.5) <= 0.1
    assert abs(median(values.tolist(), bounds=(0, 12), epsilon=1).value - 5.5) <= 0.1


def test_the_ends_are_nearly_the_least_and_the_greatest() -> None:
    assert abs(minimum(AGES, (0, 120), 2, source=Seeded(5)).value - 20) <= 1
    assert abs(maximum(AGES, (0, 120), 2, source=Seeded(5)).value - 90) <= 1
    assert abs(quantile(AGES, 0.9, (0, 120), 2, source=Seeded(5)).value - 83) <= 1


def test_wide_bounds_cost_little() -> None:
    values = np.random.default_rng(3).lognormal(10, 1, 50_000)
    found = median(values, bounds=(0, 10**9), epsilon=1).value
    assert abs(found / float(np.median(values)) - 1) < 0.05


def test_what_is_missing_follows_the_null_rule() -> None:
    column = [50.0] * 400 + [None, math.nan, math.inf, "none"] * 200
    assert median(column, bounds=(0, 100), epsilon=2, grid=1).value == 50
    assert median(column, bounds=(0, 100), epsilon=2, grid=1, null=7).value == 7
    assert median(np.array([200] * 500), bounds=(0, 100), epsilon=2).value == 100


@pytest.mark.parametrize("nothing", [[], np.array([], dtype=np.int64), [None, None], pa.array([], pa.int64())])
def test_a_column_without_rows_is_answered_like_any_other(nothing: Any) -> None:
    found = quantiles(nothing, [0, 0.5, 1], bounds=(0, 100), epsilon=1, source=Seeded(4)).value.tolist()
    assert found == sorted(found)
    assert all(0 <= value <= 100 for value in found)


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"qs": 0.5}, "qs must be a list"),
        ({"qs": "1/2"}, "qs must be a list"),
        ({"qs": []}, "quantiles must be 1 to 1000"),
        ({"qs": [2]}, "quantiles must be between 0 and 1"),
        ({"bounds": (5, 5.0)}, "low must be less than high"),
        ({"bounds": 5}, "bounds must be"),
        ({"epsilon": None}, "exactly one of epsilon and rho"),
        ({"rho": 1}, "exactly one of epsilon and rho"),
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"null": 500}, "null must be"),
    ]
    for changes, message in cases:
        arguments: dict[str, Any] = {"qs": [0.5], "bounds": (0, 120), "epsilon": 1} | changes
        with pytest.raises(ParameterError, match=message):
            quantiles(AGES, **arguments)


def test_an_unknown_option_is_refused() -> None:
    options: dict[str, Any] = {"delat": 1}
    with pytest.raises(TypeError, match="delat"):
        median(AGES, (0, 120), 1, **options)
