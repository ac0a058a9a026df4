"""Intervals for true values hold them as often as they say, on persons with very different numbers of rows.

The rows are read once, for exact numbers; what is repeated is the noise. The same test must fail for the noise
interval, which leaves out what the limits cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import celosia as cl
from celosia.noise import Seeded
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.planning.analysis import analyze_plan
from celosia.query.sql.parser import parse_sql
from tests.query.samples import Pretending

if TYPE_CHECKING:
    from celosia.data.table import Table

MOST = 638
LEVEL = 0.95
NAMES = ("n", "s", "m", "v", "r")
ASKED = (
    "COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m, VARIANCE(cost) AS v, "
    "COUNT(*) FILTER (WHERE cost > 25) / COUNT(*) AS r FROM stays"
)
TOTAL = f"SELECT {ASKED}"
BY_MONTH = f"SELECT month, {ASKED} GROUP BY month"


def stays(persons: int, *, groups: int, rows: int, low: int = 0) -> Table:
    """Persons with 4 rows in the median and 638 at most; those with many rows cost more."""
    numbers = np.random.default_rng(11)
    size = np.minimum(MOST, np.ceil(np.exp(numbers.normal(np.log(4), 1.3, persons)))).astype(int)
    size[0] = MOST
    who = np.repeat(np.arange(persons), size)
    cost = np.clip(np.repeat(size, size) + numbers.integers(low, 20, len(who)), low, 100)
    source = pa.table({"who": who, "month": numbers.integers(1, 7, len(who)), "cost": cost})
    schema = cl.Schema(month=cl.Integer(1, 6), cost=cl.Integer(low, 100, null=0))
    limits: dict[str, Any] = {"max_groups_per_person": groups, "max_rows_per_group": rows, "max_rows_per_person": MOST}
    return cl.table(source, schema=schema, name="stays", person="who", **limits)


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The exact numbers of a query: what the limits leave and cut off, and the truth."""

    table: Table
    sql: str
    found: list[Any]
    truth: dict[str, Any]

    def misses(self, runs: int, *, epsilon: str) -> tuple[dict[str, int], dict[str, int]]:
        """How often the truth is outside its interval, and outside the noise interval."""
        missed = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
        for seed in range(runs):
            session = cl.Session(
                self.table, budget=cl.PureDP(epsilon=10), source=Seeded(seed), engine=Pretending(self.found)
            )
            answer = session.sql(self.sql, epsilon=epsilon)
            place = seed % answer.value.num_rows  # one cell of each run, so that misses are independent
            intervals = answer.true_interval(LEVEL), answer.confidence_interval(LEVEL)
            for found, (low, high) in zip(missed, intervals, strict=True):
                for name in NAMES:
                    inside = low[name][place].as_py() <= self.truth[name][place] <= high[name][place].as_py()
                    found[name] += not inside
        return missed


def exact(table: Table, sql: str) -> Exact:
    question = analyze_plan(parse_sql(sql, {"stays": table}), {"stays": table})
    assert question.cells is not None
    with DuckDBEngine({"stays": table}) as engine:
        found = engine.summaries(question.plan, question.measurements, question.bounding, (1, 2, 3, 4), question.cells)
    rows: Any = table.source
    month, cost = (rows.frame[name].to_numpy() for name in ("month", "cost"))
    groups = [month == each for each in range(1, 7)] if "GROUP" in sql else [month > 0]
    truth = {
        "n": [int(group.sum()) for group in groups],
        "s": [int(cost[group].sum()) for group in groups],
        "m": [float(cost[group].mean()) for group in groups],
        "v": [float(cost[group].var()) for group in groups],
        "r": [float((cost[group] > 25).mean()) for group in groups],
    }
    return Exact(table=table, sql=sql, found=list(found), truth=truth)


def allowed(runs: int) -> int:
    """The misses that intervals of the level exceed with a probability of at most 1e-6."""
    return int(stats.binom.isf(1e-6, runs, 1 - LEVEL))


@pytest.mark.parametrize("sql", [TOTAL, BY_MONTH], ids=["total", "by month"])
def test_true_values_are_covered(sql: str, *, thorough: bool) -> None:
    runs, numbers = 30 if thorough else 20, exact(stays(1500, groups=3, rows=10), sql)
    assert int(numbers.found[-2][:, 1].sum()) > 0.1 * sum(numbers.truth["n"])
    missed, mutant = numbers.misses(runs, epsilon="1")
    assert max(missed.values()) <= allowed(runs)
    biased = NAMES if sql == TOTAL else ("n", "s")  # a month has few rows: there the noise hides the bias of a ratio
    assert min(mutant[name] for name in biased) > allowed(runs)


@pytest.mark.thorough
@pytest.mark.parametrize("low", [0, -50])
@pytest.mark.parametrize("limits", [(3, 10), (1, 1), (2, 40)])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
@pytest.mark.parametrize("sql", [TOTAL, BY_MONTH], ids=["total", "by month"])
def test_true_values_are_covered_for_many_limits(sql: str, epsilon: str, limits: tuple[int, int], low: int) -> None:
    runs, numbers = 400, exact(stays(1500, groups=limits[0], rows=limits[1], low=low), sql)
    missed, _ = numbers.misses(runs, epsilon=epsilon)
    assert max(missed.values()) <= allowed(runs)
