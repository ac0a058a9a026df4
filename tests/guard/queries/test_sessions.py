from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import celosia as cl
from celosia.core.errors import BudgetExceededError, EngineError
from celosia.guard.config.sections import Limits
from celosia.guard.datasets.dataset import Dataset
from celosia.guard.queries.sessions import Sessions
from celosia.guard.schema.requests import QueryRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.ledger import Ledger
    from celosia.query import Session

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with cl.open_ledger("memory://") as opened:
        yield opened


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "deaths.csv").write_text("age\n34\n71\n", encoding="utf-8")
    return Dataset(name="deaths", source=str(tmp_path / "deaths.csv"), schema=SCHEMA)


def borrow(sessions: Sessions, dataset: Dataset) -> Session:
    with sessions.open(dataset).borrow_session() as session:
        return session


def test_a_data_set_without_a_budget_cannot_be_asked_about(ledger: Ledger, dataset: Dataset) -> None:
    with pytest.raises(BudgetExceededError, match="has no budget yet"):
        borrow(Sessions(ledger), dataset)


def test_one_session_serves_until_the_data_set_or_its_budget_changes(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    first = borrow(sessions, dataset)
    assert borrow(sessions, dataset) is first
    changed = Dataset(name="deaths", source=dataset.source, schema=SCHEMA.replace("120", "100"), revision=2)
    second = borrow(sessions, changed)
    assert second is not first
    assert second.tables["deaths"].schema == cl.Schema(age=cl.Integer(0, 100))
    ledger.set_budget(cl.PureDP(epsilon=2), dataset="deaths")
    third = borrow(sessions, changed)
    assert third is not second
    assert third.budget == cl.PureDP(epsilon=2)
    sessions.forget("deaths")
    sessions.forget("deaths")
    assert borrow(sessions, changed) is not third
    sessions.close()


def test_files_that_change_are_opened_anew(ledger: Ledger, dataset: Dataset) -> None:
    sessions = Sessions(ledger)
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    first = borrow(sessions, dataset)
    file = Path(dataset.source)
    file.write_bytes(file.read_bytes() + b"71\n")
    assert not first.is_current()
    second = borrow(sessions, dataset)
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
        with sessions.open(dataset).borrow_session() as session:
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
    assert borrow(sessions, dataset) in found  # and lent again
    sessions.close()


def test_what_is_wrong_with_a_data_set_is_not_told_to_whoever_asks(ledger: Ledger, dataset: Dataset) -> None:
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="deaths")
    moved = Dataset(name="deaths", source="secret/place/deaths.csv", schema=SCHEMA)
    with pytest.raises(EngineError, match="cannot be opened now") as caught:
        borrow(Sessions(ledger), moved)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    person = "[table]\nperson = 'id'\nmax_groups_per_person = 1\nmax_rows_per_group = 1\n" + SCHEMA
    other = Dataset(name="deaths", source=dataset.source, schema=person)  # whose budget is for rows
    with pytest.raises(EngineError, match="cannot be opened now"):
        borrow(Sessions(ledger), other)
