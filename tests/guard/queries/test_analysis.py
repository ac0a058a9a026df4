from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import CelosiaError, QueryError
from celosia.data.sources.classify import Frame
from celosia.guard.config.sections import Limits
from celosia.guard.queries.analysis import count_nodes, read_plan
from celosia.guard.schema.requests import QueryRequest
from celosia.query.serial.plan import plan_to_json
from celosia.query.sql.parser import parse_sql

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'
DEATHS = cl.data.Table(
    name="deaths", source=Frame(None), schema=cl.Schema(age=cl.Integer(0, 120), sex=cl.Category("F", "M"))
)
TABLES = {"deaths": DEATHS}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def test_sql_and_json_become_the_same_plan() -> None:
    sql = "SELECT sex, AVG(age) FROM deaths WHERE age < 18 GROUP BY sex"
    plan = parse_sql(sql, TABLES)
    assert read_plan(QueryRequest(dataset="deaths", sql=sql), TABLES, Limits()) == plan
    assert read_plan(QueryRequest(dataset="deaths", plan=plan_to_json(plan)), TABLES, Limits()) == plan


def test_a_question_that_is_too_long_is_refused_in_either_form() -> None:
    sql = f"SELECT COUNT(*) FROM deaths WHERE {' OR '.join(f'age = {n}' for n in range(100))}"
    plan = plan_to_json(parse_sql(sql, TABLES))
    nodes = count_nodes(plan, most=10**6)
    assert nodes > 200
    for ask in (QueryRequest(dataset="deaths", sql=sql), QueryRequest(dataset="deaths", plan=plan)):
        read_plan(ask, TABLES, Limits(plan_nodes=nodes))
        with pytest.raises(QueryError, match=f"more than {nodes - 1} parts"):
            read_plan(ask, TABLES, Limits(plan_nodes=nodes - 1))


def test_an_ordinary_question_is_far_from_the_limit() -> None:
    sql = (
        "SELECT sex, COUNT(*), AVG(age), MEDIAN(age), SUM(age * 2 + 1) FROM deaths "
        "WHERE age BETWEEN 18 AND 65 AND sex IN ('F', 'M') GROUP BY sex HAVING COUNT(*) > 10 ORDER BY 2 DESC LIMIT 5"
    )
    assert count_nodes(plan_to_json(parse_sql(sql, TABLES)), most=10**6) < 100


def test_too_many_cells_are_refused() -> None:
    ask = QueryRequest(dataset="deaths", sql="SELECT sex, age, COUNT(*) FROM deaths GROUP BY sex, age")
    read_plan(ask, TABLES, Limits(cells=242))
    with pytest.raises(QueryError, match="would have 242 cells, and 241 are allowed"):
        read_plan(ask, TABLES, Limits(cells=241))


@given(JSON)
def test_counting_stops_and_sees_every_part(value: Any) -> None:
    def count_recursively(one: Any) -> int:
        if isinstance(one, dict):
            return 1 + sum(count_recursively(inner) for inner in one.values() if isinstance(inner, dict | list))
        return sum(count_recursively(inner) if isinstance(inner, dict | list) else 1 for inner in one)

    expected = count_recursively(value) if isinstance(value, dict | list) else 0
    assert count_nodes(value, most=10**6) == expected
    assert (count_nodes(value, most=3) > 3) == (expected > 3)


@given(st.dictionaries(st.sampled_from(["version", "relation", "aggregates", "filter", "keys", "cells"]), JSON))
def test_hostile_plans_are_refused_with_our_own_errors(plan: dict[str, Any]) -> None:
    with pytest.raises(CelosiaError):
        read_plan(QueryRequest(dataset="deaths", plan=plan), TABLES, Limits())


def test_deep_plans_are_refused() -> None:
    deep: Any = {"kind": "base", "table": "deaths"}
    for _ in range(10_000):
        deep = {"kind": "projected", "relation": deep}
    for limits in (Limits(), Limits(plan_nodes=100_000)):
        with pytest.raises(CelosiaError):
            read_plan(
                QueryRequest(dataset="deaths", plan={"version": 1, "relation": deep, "aggregates": []}), TABLES, limits
            )
