"""The tables of coverage in ``docs/api/statistics.md``: ``python -m benchmarks.tables.statistics`` writes them anew.

``--show`` prints them instead. That of persons is in :mod:`benchmarks.tables.persons`. Here is how often an interval of
95 % holds what the rows say without noise, for each statistic, number of rows and epsilon, on even and on skewed rows.
Rows and noise are seeded: the numbers are the same everywhere.
"""

from __future__ import annotations

import math
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import (
    ContributionBounds,
    FirstMoments,
    Measure,
    Noise,
    Quantiles,
    RowCount,
    SecondMoments,
    Total,
)

if TYPE_CHECKING:
    from celosia.statistics import Choice, Estimate

__all__ = [
    "EPSILONS",
    "LEVEL",
    "ROWS",
    "SHAPES",
    "STATISTICS",
    "coverage",
    "main",
    "runs_of",
    "significantly_low",
    "table",
]

PAGE = Path(__file__).parents[2] / "docs" / "api" / "statistics.md"
BEGIN, END = "<!-- the table of coverage: python -m benchmarks.tables.statistics -->", "<!-- end of the table -->"

RUNS = 4_000  # of choices; noise is drawn ten times as often
LEVEL = 0.95
ROWS = (0, 10, 1_000, 100_000)
EPSILONS = ("0.1", "1", "5")
SHAPES = ("even", "skewed")
AXIS = Axis(0, 120, Fraction(1))

STATISTICS: dict[str, tuple[Measure | Choice, str]] = {
    "count": (RowCount(), "count"),
    "sum": (Total(AXIS), "sum"),
    "mean": (FirstMoments(AXIS), "mean"),
    "variance": (SecondMoments(AXIS), "variance"),
    "median": (Quantiles(axis=AXIS, quantiles=("1/2",), interval=True), "1/2"),
    "quantile 0.9": (Quantiles(axis=AXIS, quantiles=("9/10",), interval=True), "9/10"),
    "minimum": (Quantiles(axis=AXIS, quantiles=("0",), interval=True), "0"),
    "maximum": (Quantiles(axis=AXIS, quantiles=("1",), interval=True), "1"),
}


def values(shape: str, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return rows between 0 and 120: spread evenly, or most of them small and a few at the bound."""
    uniform = np.random.default_rng(rows).random(rows)
    numbers = 20 + 80 * uniform if shape == "even" else np.minimum(2 / (1 - uniform), 120)
    return numbers.astype(np.int64)


def truth(name: str, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> float | None:
    """Return what the rows say; without rows only a count and a sum say something."""
    if name in ("count", "sum"):
        return float(len(numbers) if name == "count" else numbers.sum())
    if not len(numbers):
        return None
    if name in ("mean", "variance"):
        return float(numbers.mean() if name == "mean" else numbers.var())
    return float(np.quantile(numbers, float(Fraction(STATISTICS[name][1]))))


def estimate(
    name: str, numbers: np.ndarray[Any, np.dtype[np.int64]], epsilon: str, runs: int, source: Seeded
) -> Estimate:
    """Return as many answers as there are runs: cells of a group by, each with the same rows and noise of its own."""
    measure, quantity = STATISTICS[name]
    bounding = ContributionBounds(cells=runs)
    if isinstance(measure, Measure):
        features = [np.sum(np.broadcast_to(feature, numbers.shape)) for feature in measure.features(numbers)]
        noise = Noise.laplace(epsilon, measure.sensitivity(bounding), runs, measure.width, bounding)
        noisy = noise.release(np.tile(np.array(features, dtype=np.int64), (runs, 1)), source)
        return measure.answer(quantity, noisy, noise)
    counts = np.tile(np.bincount(numbers, minlength=measure.width), (runs, 1))
    return measure.release(counts, epsilon, bounding, source=source)


def coverage(name: str, shape: str, rows: int, epsilon: str, runs: int = RUNS) -> float | None:
    """Return the share of runs whose interval holds the truth, or None where there is none."""
    numbers = values(shape, rows)
    true = truth(name, numbers)
    if true is None:
        return None
    seed = zlib.crc32(f"{name}, {shape}, {rows}, {epsilon}".encode())
    interval = estimate(name, numbers, epsilon, runs_of(name, runs), Seeded(seed)).interval
    assert interval is not None  # noqa: S101 - for the type checker: all of these have intervals
    low, high = interval(LEVEL)
    slack = 1e-9 * max(1.0, abs(true))  # of doubles
    return float(((low <= true + slack) & (true - slack <= high)).mean())


def runs_of(name: str, runs: int) -> int:
    """Return how often a statistic is answered."""
    return 10 * runs if isinstance(STATISTICS[name][0], Measure) else runs


def significantly_low(share: float, runs: int) -> bool:
    """Tell whether so small a share has a probability below 1e-6 at the level that is stated."""
    return share < LEVEL - 4.76 * math.sqrt(LEVEL * (1 - LEVEL) / runs)


def table(runs: int = RUNS) -> str:
    """Return the table in Markdown, in whole percent."""
    heads = ["statistic", "rows", *(f"{rows:,}; {epsilon}" for rows in ROWS for epsilon in EPSILONS)]
    lines = [heads, ["---"] * len(heads)]
    for name in STATISTICS:
        for shape in SHAPES:
            shares = [coverage(name, shape, rows, epsilon, runs) for rows in ROWS for epsilon in EPSILONS]
            lines.append([name, shape, *("–" if share is None else f"{100 * share:.0f}" for share in shares)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Write both tables into the page, between their markers, or print them."""
    from benchmarks.tables import persons

    for begin, made in ((BEGIN, table()), (persons.BEGIN, persons.table())):
        if sys.argv[1:] == ["--show"]:
            print(made)
            continue
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{begin}\n\n{made}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
