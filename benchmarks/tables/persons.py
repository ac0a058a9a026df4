"""The second table of coverage in ``docs/api/statistics.md``: how often intervals hold where persons are protected.

Persons are skewed: 4 rows in the median, 638 at most, and those with many rows have larger values. Contribution limits
keep 10 rows of each, so noise intervals miss the truth. Counts, sums, means and variances have intervals for the true
value; the others have noise intervals, which hold what the limits leave. The rows are read once by the engine, and
answered in as many cells as there are runs, each with noise of its own.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import celosia as cl
from benchmarks.tables.statistics import EPSILONS, LEVEL, ROWS, RUNS
from celosia.noise import Seeded
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.planning.cells import Cells
from celosia.statistics import CutPersons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.query.engines.base import Request
    from celosia.query.plan.nodes import Plan
    from celosia.query.release import TableRelease
    from celosia.statistics import ContributionBounds

__all__ = ["BEGIN", "STATISTICS", "coverage", "table"]

BEGIN = "<!-- the table of coverage for persons: python -m benchmarks.tables.statistics -->"

MOST = 638
KEPT = 10
STATISTICS = {
    "count": "COUNT(*)",
    "sum": "SUM(x)",
    "mean": "AVG(x)",
    "variance": "VARIANCE(x)",
    "median": "MEDIAN(x)",
    "quantile 0.9": "QUANTILE(x, 0.9)",
    "minimum": "MIN(x)",
    "maximum": "MAX(x)",
}
SHARES = {"median": 0.5, "quantile 0.9": 0.9, "minimum": 0.0, "maximum": 1.0}


class Repeated(DuckDBEngine):
    """An engine that reads all rows into one cell, and answers with that for every cell."""

    def summaries(
        self, plan: Plan, requests: Sequence[Request], bounding: ContributionBounds, secret: Sequence[int], cells: Cells
    ) -> tuple[NDArray[Any], ...]:
        """Return what one cell would get, as often as there are cells."""
        alone = replace(plan, keys=(), outputs=plan.outputs[1:])
        found = super().summaries(alone, requests, replace(bounding, cells=1), secret, Cells.product([]))
        self.exact = found[0][0]
        return tuple(
            one if isinstance(request.measure, CutPersons) else np.repeat(one, len(cells), axis=0)
            for one, request in zip(found, requests, strict=True)
        )


@cache
def persons(rows: int, runs: int) -> Table:
    """Return a table of so many rows of skewed persons, with a column for the number of the run."""
    draw = np.random.default_rng(rows)
    size = np.rint(np.exp(draw.normal(np.log(4), 1.3, rows + 1))).clip(1, MOST).astype(np.int64)
    size[0] = MOST
    who = np.repeat(np.arange(rows + 1), size)[:rows]
    value = np.minimum(np.bincount(who, minlength=1)[who] // 4 + 2 / (1 - draw.random(rows)), 120).astype(np.int64)
    return cl.table(
        pa.table({"who": who, "x": value, "run": np.ones(rows, dtype=np.int64)}),
        schema=cl.Schema(x=cl.Integer(0, 120), run=cl.Integer(1, runs)),
        name="visits",
        person="who",
        max_groups_per_person=1,
        max_rows_per_group=KEPT,
        max_rows_per_person=MOST,
    )


def answers(name: str, rows: int, epsilon: str, runs: int) -> tuple[TableRelease, float | None]:
    """Return as many answers as there are runs, and what their intervals have to hold; None where there is no truth."""
    table = persons(rows, runs)
    seed = zlib.crc32(f"{name}, {rows}, {epsilon}".encode())
    with Repeated({"visits": table}) as engine:  # the noise is repeated, not the reading
        session = cl.Session(table, budget=cl.PureDP(epsilon=10), source=Seeded(seed), engine=engine)
        release = session.sql(f"SELECT run, {STATISTICS[name]} AS y FROM visits GROUP BY run", epsilon=epsilon)  # noqa: S608
        exact = engine.exact
    return release, truth(name, table, exact)


def truth(name: str, table: Table, exact: NDArray[Any]) -> float | None:
    """Return what the rows say; of order statistics, which have noise intervals, what the limits leave of them."""
    source: Any = table.source
    numbers = source.frame["x"].to_numpy()
    if name in ("count", "sum"):
        return float(len(numbers) if name == "count" else numbers.sum())
    if not len(numbers):
        return None
    if name in ("mean", "variance"):
        return float(numbers.mean() if name == "mean" else numbers.var())
    left = np.repeat(np.arange(len(exact)), exact.astype(np.int64))
    return float(np.quantile(left, SHARES[name]))


def coverage(name: str, rows: int, epsilon: str, runs: int = RUNS, *, noise: bool = False) -> float | None:
    """Return the share of runs whose interval holds; with ``noise`` the noise interval is taken for the true value."""
    release, true = answers(name, rows, epsilon, runs)
    if true is None:
        return None
    ends = release.confidence_interval(LEVEL) if noise or name in SHARES else release.true_interval(LEVEL)
    low, high = (np.asarray(end["y"].to_numpy(), dtype=np.float64) for end in ends)
    slack = 1e-9 * max(1.0, abs(true))  # of doubles
    return float(((low <= true + slack) & (true - slack <= high)).mean())


def table(runs: int = RUNS) -> str:
    """Return the table in Markdown, in whole percent."""
    heads = ["statistic", "interval for", *(f"{rows:,}; {epsilon}" for rows in ROWS for epsilon in EPSILONS)]
    lines = [heads, ["---"] * len(heads)]
    for name in STATISTICS:
        shares = [coverage(name, rows, epsilon, runs) for rows in ROWS for epsilon in EPSILONS]
        holds = "what the limits leave" if name in SHARES else "the true value"
        lines.append([name, holds, *("–" if share is None else f"{100 * share:.0f}" for share in shares)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
