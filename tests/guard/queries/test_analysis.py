from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import BudgetExceededError, CelosiaError, EngineError, QueryError
from celosia.data.sources.classify import Frame
from celosia.guard.config.settings import Limits
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.queries.analysis import Sessions, count_nodes, read_plan
from celosia.guard.schema.requests import QueryRequest
from celosia.query.serial.plan import plan_to_json
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger
    from celosia.query import Session

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


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with cl.open_ledger("memory://") as opened:
        yield opened


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "deaths.csv").write_text("age\n34\n71\n", encoding="utf-8")
    return Dataset(name="deaths", source=str(tmp_path / "deaths.csv"), schema=SCHEMA)


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


def lent(sessions: Sessions, dataset: Dataset) -> Session:
    with sessions.open(dataset).lend() as session:
        return session


def test_a_data_set_without_a_budget_cannot_be_asked_about(ledger: Ledger, dataset: Dataset) -> None:
    with pytest.raises(BudgetExceededError, match="has no budget yet"):
        lent(Sessions(ledger), dataset)


def test_one_session_serves_until_the_data_set_or_its_budget_changes(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    first = lent(sessions, dataset)
    assert lent(sessions, dataset) is first
    changed = Dataset(name="deaths", source=dataset.source, schema=SCHEMA.replace("120", "100"), revision=2)
    second = lent(sessions, changed)
    assert second is not first
    assert second.tables["deaths"].schema == cl.Schema(age=cl.Integer(0, 100))
    ledger.set_budget(cl.PureDP(epsilon=2), dataset="deaths")
    third = lent(sessions, changed)
    assert third is not second
    assert third.budget == cl.PureDP(epsilon=2)
    sessions.forget("deaths")
    sessions.forget("deaths")
    assert lent(sessions, changed) is not third
    sessions.close()


def test_files_that_change_are_opened_anew(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    first = lent(sessions, dataset)
    file = Path(dataset.source)
    file.write_bytes(file.read_bytes() + b"71\n")
    assert not first.is_current()
    second = lent(sessions, dataset)
    assert second is not first
    assert second.is_current()
    sessions.close()


def test_a_query_is_prepared_once_while_nothing_changes(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.ApproxDP(epsilon=1, delta="1e-6"), dataset="deaths")
    ask, limits = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1"), Limits()
    opened = sessions.open(dataset)
    first = opened.prepare(ask, ask.digest, limits)
    assert opened.prepare(ask, ask.digest, limits) is first
    dearer = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.2")
    assert opened.prepare(dearer, dearer.digest, limits).guarantee != first.guarantee
    assert opened.prepare(ask, ask.digest, Limits(plan_nodes=100)) is not first
    file = Path(dataset.source)
    file.write_bytes(file.read_bytes() + b"71\n")
    other = sessions.open(dataset).prepare(ask, ask.digest, limits)
    assert other.guarantee == first.guarantee
    assert other.fingerprint != first.fingerprint  # the stored answer is of the old file
    sessions.close()


def test_a_query_priced_under_another_budget_is_not_kept(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.ApproxDP(epsilon=1, delta="1e-6"), dataset="deaths")
    ask = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")
    opened = sessions.open(dataset)
    ledger.set_budget(cl.ApproxDP(epsilon=1, delta="1e-5"), dataset="deaths")
    changed = opened.prepare(ask, ask.digest, Limits())
    ledger.set_budget(cl.ApproxDP(epsilon=1, delta="1e-6"), dataset="deaths")
    assert sessions.open(dataset) is opened
    assert opened.prepare(ask, ask.digest, Limits()) is not changed
    sessions.close()


def test_data_sets_with_a_budget_are_opened_before_the_first_question(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    sessions.open_all([dataset])  # has no budget yet
    assert not sessions._open
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    sessions.open_all([Dataset(name="gone", source="nowhere.csv", schema=SCHEMA), dataset])
    assert list(sessions._open) == ["deaths"]
    sessions.close()


def test_questions_at_the_same_time_have_sessions_of_their_own(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    found: list[Session] = []
    all_lent = threading.Barrier(4)

    def hold() -> None:
        with sessions.open(dataset).lend() as session:
            found.append(session)
            all_lent.wait(600)

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 4
    prepared = {id(session._context._prepared) for session in found}
    assert len(prepared) == 1  # the rows are checked, and copied if need be, once
    assert lent(sessions, dataset) in found  # and lent again
    sessions.close()


def test_what_is_wrong_with_a_data_set_is_not_told_to_whoever_asks(ledger: Ledger, dataset: Dataset) -> None:
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    moved = Dataset(name="deaths", source="secret/place/deaths.csv", schema=SCHEMA)
    with pytest.raises(EngineError, match="cannot be opened now") as caught:
        lent(Sessions(ledger), moved)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    person = "[table]\nperson = 'id'\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n" + SCHEMA
    other = Dataset(name="deaths", source=dataset.source, schema=person)  # whose budget is for rows
    with pytest.raises(EngineError, match="cannot be opened now"):
        lent(Sessions(ledger), other)
