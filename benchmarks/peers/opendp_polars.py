"""OpenDP's queries on Polars, through its Context.

What is public is said in its favour: the groups and the largest number of rows. Its mean would be a second noisy sum
over a second noisy count, so the mean is the quotient of the two numbers that are released anyway.
"""

from __future__ import annotations

import math
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import opendp.prelude as dp
import polars as pl

from benchmarks.peers.question import BOUNDS, FEW, GROUPS, MAX_GROUPS, MAX_ROWS, REPEATS, ROWS, path
from benchmarks.peers.stopwatch import main, peak_megabytes, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

# It announces that counts will no longer be clamped at zero.
warnings.simplefilter("ignore", FutureWarning)
dp.enable_features("contrib")

DECILES = [tenth / 10 for tenth in range(1, 10)]
CANDIDATES: dict[str, list[float]] = {"age": list(range(121)), "weight": [step / 10 for step in range(3001)]}
# In its favour, a median of reals is sought around where it is: so many grams apart on the whole range take too long,
# and candidates further apart would hide the noise.
FINE: dict[str, list[float]] = {"age": list(range(121)), "weight": [148 + step / 1000 for step in range(4001)]}


def bounds(column: str) -> tuple[float, float]:
    """The bounds, in the column's own type: an integer column takes no floats."""
    low, high = BOUNDS[column]
    return (low, high) if column == "age" else (float(low), float(high))


def value(column: str) -> Any:
    """The column without nulls, and a real one without NaN: OpenDP refuses to sum it otherwise."""
    return pl.col(column).fill_null(0) if column == "age" else pl.col(column).fill_nan(0.0).fill_null(0.0)


def context(*columns: str, unit: Any, margin: Any, rows: int = ROWS) -> Any:
    """A context on the file, with epsilon 1 for one question."""
    return dp.Context.compositor(
        data=pl.scan_parquet(path(rows)).select(*columns),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[margin],
    )


def grouped(column: str, rows: int = ROWS) -> Any:
    """The question where a row is protected."""
    margin = dp.polars.Margin(by=["g"], invariant="keys", max_length=rows, max_groups=GROUPS)
    query = context("g", column, unit=dp.unit_of(contributions=1), margin=margin, rows=rows).query()
    return query.group_by("g").agg(dp.len().alias("n"), value(column).dp.sum(bounds(column)).alias("s"))


def by_person(column: str) -> Any:
    """The question where a person is protected; which groups are left out is by their order.

    Sampling them, the default, fails with an error of Polars ("multiple fields with name 'g' found").
    """
    margin = dp.polars.Margin(by=["g"], max_length=ROWS, max_groups=GROUPS)
    unit = dp.unit_of(contributions=1, identifier="person")
    query = context("person", "g", column, unit=unit, margin=margin).query()
    bounded = query.truncate_per_group(MAX_ROWS, by=["g"]).truncate_num_groups(MAX_GROUPS, by=["g"], keep="first")
    answers = bounded.group_by("g").agg(dp.len().alias("n"), value(column).dp.sum(bounds(column)).alias("s"))
    return answers.with_keys(pl.LazyFrame({"g": pl.Series(range(GROUPS), dtype=pl.Int32)}))


def answer(query: Any) -> pl.DataFrame:
    """Release and divide."""
    released: pl.DataFrame = query.release().collect()
    return released.with_columns(m=pl.col("s") / pl.col("n"))


def peak(make: Callable[[str], Any]) -> float:
    """Most memory held while answering."""
    answer(make("age"))
    return peak_megabytes()


def excess_of_noise(column: str) -> float:
    """Stated scale of the noise of a sum over bound / epsilon, where count and sum have half of epsilon each."""
    stated = dict(grouped(column).summarize().select("column", "scale").rows())["s"]
    return float(stated) / (2 * max(BOUNDS[column]))


@cache
def truth(column: str) -> tuple[float, ...]:
    """The mean and the nine deciles of the clipped column."""
    low, high = bounds(column)
    clipped = pl.scan_parquet(path(FEW)).select(pl.col(column).clip(low, high)).collect().to_series().sort()
    deciles = (clipped[math.ceil(decile * FEW) - 1] for decile in DECILES)
    return (float(clipped.mean()), *map(float, deciles))  # type: ignore[arg-type]  # the mean of numbers is one


def runs(column: str, *expressions: Any) -> list[tuple[float, ...]]:
    """Answers to one question of accuracy, asked again and again."""
    margin = dp.polars.Margin(max_length=FEW)
    query = context(column, unit=dp.unit_of(contributions=1), margin=margin, rows=FEW).query().select(*expressions)
    measurement = query.resolve()
    data = pl.scan_parquet(path(FEW)).select(column)
    return [measurement(data).collect().row(0) for _ in range(REPEATS)]


def most(errors: list[float]) -> float:
    """What 95 of 100 errors stay below."""
    return sorted(errors)[math.ceil(0.95 * len(errors)) - 1]


def error_of_mean(column: str) -> float:
    """Error of a mean that 95 % of runs stay below."""
    return most([abs(mean - truth(column)[0]) for (mean,) in runs(column, value(column).dp.mean(bounds(column)))])


def error_of_deciles(column: str) -> float:
    """Error of the worst of nine deciles that 95 % of runs stay below."""
    expressions = [
        value(column).dp.quantile(decile, CANDIDATES[column]).alias(f"decile {decile}") for decile in DECILES
    ]
    exact = truth(column)[1:]
    answers = runs(column, *expressions)
    return most([max(abs(ours - true) for ours, true in zip(row, exact, strict=True)) for row in answers])


def error_of_median(column: str) -> float:
    """Mean error of a median."""
    answers = runs(column, value(column).dp.median(FINE[column]))
    return sum(abs(median - truth(column)[5]) for (median,) in answers) / len(answers)


def timed(make: Callable[[str], Any], column: str, repeats: int = 5) -> float:
    """Seconds of context, question and answer; once, and cold, where that takes long."""
    return seconds(lambda: answer(make(column)), repeats=repeats, warm=repeats > 1)


CASES: dict[str, Callable[[], float]] = {
    "parquet-age": partial(timed, grouped, "age"),
    "parquet-weight": partial(timed, grouped, "weight"),
    "person-age": partial(timed, by_person, "age", repeats=1),
    "peak": partial(peak, grouped),
    "peak-person": partial(peak, by_person),
    "noise-age": partial(excess_of_noise, "age"),
    "noise-weight": partial(excess_of_noise, "weight"),
    "mean-age": partial(error_of_mean, "age"),
    "mean-weight": partial(error_of_mean, "weight"),
    "deciles-age": partial(error_of_deciles, "age"),
    "deciles-weight": partial(error_of_deciles, "weight"),
    "median-age": partial(error_of_median, "age"),
    "median-weight": partial(error_of_median, "weight"),
}

if __name__ == "__main__":
    main(CASES)
