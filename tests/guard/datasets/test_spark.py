"""Data sets that Spark reads, in the Spark of this process."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core.errors import EngineError, ParameterError, SchemaError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.service import Guard
from celosia.query import interruption
from celosia.query.engines.spark import SparkEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.needs_java, pytest.mark.xdist_group("spark")]

LOCAL = Identity.local()
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""
ENDLESS = "SELECT max(hash(id)) AS n FROM range(0, 1000000000000, 1, 1)"
BY_SEX = "SELECT sex, COUNT(*), AVG(age) FROM visits GROUP BY sex"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits").mkdir()
    for part in range(2):
        rows = {"age": [40 + part] * 500, "sex": ["FM"[n % 2] for n in range(500)]}
        pq.write_table(pa.table(rows), tmp_path / "visits" / f"{part}.parquet")
    return tmp_path


@pytest.fixture
def guard(folder: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    monkeypatch.chdir(folder)
    assert spark is not None  # the guard uses this session, and starts none
    with Guard.open(Config(store=f"sqlite:///{folder}/ledger.db", slot_milliseconds=0)) as guard:
        guard.add_dataset(LOCAL, "visits", "spark:visits/*.parquet", SCHEMA)
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1000), dataset="visits")
        yield guard


@pytest.fixture
def ana(guard: Guard) -> Identity:
    return guard.authenticate(guard.add_user(LOCAL, "ana", "analyst"))


def ask(guard: Guard, who: Identity, key: str, sql: str = BY_SEX) -> Any:
    return guard.ask(who, QueryRequest(dataset="visits", sql=sql, epsilon="200"), key)


def columns(answer: Any) -> dict[str, list[Any]]:
    return {column["name"]: column["values"] for column in answer.release["columns"]}


def test_a_data_set_of_files_is_asked(guard: Guard, ana: Identity, folder: Path) -> None:
    assert guard.catalogue.all()[0].source == f"spark:{folder}/visits/*.parquet"
    first = ask(guard, ana, "first")
    assert first.state == "committed"
    found = columns(first)
    assert found["sex"] == ["F", "M"]
    assert found["count"] == pytest.approx([500, 500], abs=5)
    assert found["mean_age"] == pytest.approx([40.5, 40.5], abs=2)
    spent = guard.ledger.account("visits").spent
    again = ask(guard, ana, "again")
    assert again.repeated
    assert again.release == first.release
    assert guard.ledger.account("visits").spent == spent
    with pytest.raises(ParameterError, match="part of the data set 'visits' already"):
        guard.add_dataset(LOCAL, "again", str(folder / "visits" / "1.parquet"), SCHEMA)
    with pytest.raises(ParameterError, match="part of the data set 'visits' already"):
        guard.add_dataset(LOCAL, "again", "spark:visits/1.parquet", SCHEMA)
    pq.write_table(pa.table({"age": [40] * 500, "sex": ["F"] * 500}), folder / "visits" / "1.parquet")
    changed = ask(guard, ana, "changed")
    assert columns(changed)["count"] == pytest.approx([750, 250], abs=5)


def test_a_table_of_the_catalogue_is_asked(guard: Guard, folder: Path, spark: Any) -> None:
    where = (folder / "stored").as_uri()
    rows = spark.createDataFrame(pa.table({"age": [50] * 300, "sex": ["F"] * 300}))
    rows.write.option("path", where).saveAsTable("celosia_registry")
    try:
        with pytest.raises(ParameterError, match="name must be given for a database, or for Spark's catalogue"):
            guard.add_dataset(LOCAL, "registry", "spark:", SCHEMA)
        with pytest.raises(EngineError, match="no such table"):
            guard.add_dataset(LOCAL, "registry", "spark:", SCHEMA, table="celosia_nowhere")
        with pytest.raises(SchemaError, match="'weight'"):
            guard.add_dataset(
                LOCAL, "registry", "spark:", SCHEMA.replace("age", "weight"), table="default.celosia_registry"
            )
        guard.add_dataset(LOCAL, "registry", "spark:", SCHEMA, table="default.celosia_registry")
        with pytest.raises(ParameterError, match="part of the data set 'registry' already"):
            guard.add_dataset(LOCAL, "again", "spark:", SCHEMA, table="Celosia_Registry")
        guard.set_budget(LOCAL, cl.PureDP(epsilon=1000), dataset="registry")
        who = guard.authenticate(guard.add_user(LOCAL, "eva", "analyst"))
        query = QueryRequest(dataset="registry", sql="SELECT COUNT(*) FROM registry", epsilon="200")
        assert columns(guard.ask(who, query, "a"))["count"] == pytest.approx([300], abs=5)
    finally:
        spark.sql("DROP TABLE celosia_registry")


def test_reading_is_cancelled(guard: Guard, ana: Identity, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_POLL_SECONDS", 0.01)
    plain, reading = SparkEngine._collect, threading.Event()

    def collect_endlessly(engine: Any, query: Any) -> Any:
        with engine._group_jobs():
            reading.set()
            engine._session.sql(ENDLESS).collect()
        return plain(engine, query)

    monkeypatch.setattr(SparkEngine, "_collect", collect_endlessly)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            ask(guard, ana, "endless")
        except EngineError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert reading.wait(600)
    [answer] = guard.answers(ana)
    assert guard.cancel(ana, answer.id).state == "reserved"
    thread.join()
    assert [getattr(error, "code", "") for error in caught] == ["query.question_cancelled"]
    assert guard.answer(ana, answer.id).state == "failed"
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    monkeypatch.setattr(SparkEngine, "_collect", plain)
    assert ask(guard, ana, "after").state == "committed"  # in the same session
