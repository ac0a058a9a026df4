"""No query skips rows by a file's statistics: its time would show whether one row lies apart from the others.

DuckDB's plan shows a condition that is pushed into a scan as "Filters", and what statistics decide as an empty result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.query.engines.duckdb import DuckDBDialect, DuckDBEngine
from celosia.query.execution.raw_ranges import compare_raw
from celosia.query.execution.rows import rows_of
from celosia.query.plan.nodes import Base
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = cl.Schema({
    "x": cl.Real(0, 300),
    "i": cl.Integer(0, 300),
    "filled": cl.Integer(0, 300, null=0),
    "g": cl.Category(["north", "south", "west"]),
    "code": cl.Category([1, 2, 9]),
    "day": cl.Date("2020-01-01", "2020-12-31"),
    "sure": cl.Boolean(),
})  # fmt: skip
CONDITIONS = (
    "x > 250", "x BETWEEN 250 AND 260", "i > 250", "i = 290", "290 = i", "filled > 250", "x + i > 500", "g = 'west'",
    "g IN ('west')", "NOT g <> 'west'", "code = 9", "code IN (9)", "day > DATE '2020-06-01'", "x > 250 AND g = 'west'",
    "x > 250 OR g = 'west'", "x > 250 OR i > 250", "NOT (x <= 250)", "sure", "NOT sure", "g LIKE 'w%'",
    "CASE WHEN i > 250 THEN TRUE ELSE FALSE END", "g IS NULL", "x IS NULL OR i > 250",
)  # fmt: skip


def write(path: Path, *, apart: bool) -> str:
    """Write neighbours: in one of them a single row lies apart from all others, in every column."""
    n = 5_000
    chance = np.random.default_rng(1)
    columns = {
        "who": chance.integers(0, 500, n),
        "x": chance.uniform(10, 200, n),
        "i": chance.integers(10, 200, n),
        "filled": chance.integers(10, 200, n),
        "g": chance.choice(["north", "south"], n).astype(object),
        "code": chance.integers(1, 3, n),
        "day": chance.integers(18262, 18300, n).astype("datetime64[D]"),
        "sure": np.full(n, fill_value=False),
    }
    if apart:
        row = {
            "x": 290,
            "i": 290,
            "filled": 290,
            "g": "west",
            "code": 9,
            "day": np.datetime64("2020-12-01"),
            "sure": True,
        }
        for name, value in row.items():
            columns[name][n // 2] = value
    pq.write_table(pa.table(columns), path, row_group_size=500)
    return str(path)


def explain(engine: DuckDBEngine, condition: str) -> str:
    parsed = compare_raw(parse_expression(condition), SCHEMA, engine.read("t").schema())
    rows = rows_of(Base("t"), engine).where(parsed)
    query = rows.table.aggregate(n=rows.table.count(), x=rows.number(parse_expression("x")).sum())
    plan = engine.backend.con.execute(f"EXPLAIN {engine.backend.compile(query)}").fetchall()[0][1]
    return re.sub(r"~[\d,]+ rows?|/\S*parquet", "", plan)


def check_plans(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{apart}.parquet", apart=apart) for apart in (False, True)]
    for unit in ({}, {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}):
        tables = [cl.table(file, schema=SCHEMA, name="t", **unit) for file in files]  # type: ignore[arg-type]
        with DuckDBEngine({"t": tables[0]}) as without, DuckDBEngine({"t": tables[1]}) as with_one:
            for condition in CONDITIONS:
                plan = explain(without, condition)
                assert "EMPTY_RESULT" not in plan, condition
                assert re.findall(r"Filters:\s*│\s*│\s*(.*?)\s*│", plan) in ([], ["who IS NOT NULL"]), (condition, plan)
                assert plan == explain(with_one, condition), condition


def test_no_condition_skips_rows(tmp_path: Path) -> None:
    check_plans(tmp_path)


@pytest.mark.parametrize("shown", ["hide_condition", "hide_number"])
def test_a_condition_that_is_not_hidden_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str) -> None:
    monkeypatch.setattr(DuckDBDialect, shown, lambda _, value: value)
    with pytest.raises(AssertionError):
        check_plans(tmp_path)


def test_statistics_of_the_rows_decide_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.query.engines.duckdb._SKIPPING", ())
    with pytest.raises(AssertionError):
        check_plans(tmp_path)
