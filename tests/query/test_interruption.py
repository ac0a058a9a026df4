"""A read that takes too long, or that was cancelled, is interrupted: the cost stays spent, the engine stays usable."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import EngineError, ParameterError
from celosia.query import interruption
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.postgres import PostgresEngine
from celosia.query.engines.registry import open_engine
from celosia.query.execution.dialect import engine_function
from tests.query.samples import Pretending, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

ENDLESS = "SELECT max(hash(a.range, b.range)) FROM range(1000000000) a, range(1000000000) b"


@pytest.fixture(autouse=True)
def _polls_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_POLL_SECONDS", 0.01)


def endless_once(engine: Any, endless: Callable[[], object]) -> None:
    """Let the next read of an engine run a statement that never ends."""
    plain = engine.execute

    def execute(*args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        engine.execute = plain
        endless()
        yield from plain(*args, **options)

    engine.execute = execute


def session_on(engine: Any, **options: Any) -> cl.Session:
    return cl.Session(list(engine.tables.values()), budget=cl.PureDP(epsilon=1), engine=engine, **options)


def count(session: cl.Session) -> Any:
    return session.query().count().release(epsilon="0.25")


def test_duckdb_is_interrupted() -> None:
    cancelled: list[str] = []

    def is_cancelled(reservation: str) -> bool:
        cancelled.append(reservation)
        return len(cancelled) > 2

    cases: list[tuple[dict[str, Any], str]] = [
        ({"time_limit": 0.05}, "query.time_limit_reached"),
        ({"is_cancelled": is_cancelled}, "query.question_cancelled"),
        ({"time_limit": 3600, "is_cancelled": is_cancelled}, "query.question_cancelled"),
    ]
    for options, code in cases:
        engine = open_engine({"deaths": rows_table()})
        assert isinstance(engine, DuckDBEngine)
        session = session_on(engine, **options)
        cancelled.clear()
        endless_once(engine, lambda engine=engine: engine.backend.con.execute(ENDLESS).fetchall())  # type: ignore[misc]
        with pytest.raises(EngineError) as error:
            count(session)
        assert error.value.code == code
        assert session.spent == cl.PureDP(epsilon="0.25")
        assert [entry.state for entry in session.history] == ["failed"]
        if "is_cancelled" in options:
            assert set(cancelled) == {session.account.history[0].id}
        else:
            assert count(session).to_arrow().num_rows == 1


def test_postgres_is_interrupted_by_us_and_by_itself(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE endless (age bigint)")
    table = cl.table(postgres, name="endless", schema=cl.Schema(age=cl.Integer(0, 120)))
    engine = open_engine({"endless": table})
    assert isinstance(engine, PostgresEngine)
    session = session_on(engine, is_cancelled=lambda _: True)
    endless_once(engine, lambda: engine.backend.con.execute("SELECT pg_sleep(36000)"))
    with pytest.raises(EngineError) as error:
        count(session)
    assert error.value.code == "query.question_cancelled"
    engine.backend.con.rollback()
    engine.time_limit = 0.05  # as if this process had died
    setting = engine_function("current_setting", ("string",), "string")("statement_timeout")
    seen = list(engine.run(setting.name("t").as_table()))
    assert [batch.to_pylist() for batch in seen] == [[{"t": "50ms"}]]


def test_a_quick_read_is_left_alone() -> None:
    session = cl.Session(
        rows_table(), budget=cl.PureDP(epsilon=1), time_limit=3600, is_cancelled=lambda _: 1 // 0 == 0
    )  # the question whether it is cancelled may fail
    before = threading.active_count()
    assert count(session).to_arrow().num_rows == 1
    assert threading.active_count() == before


def test_duplicates_share_the_budget_and_read_at_once() -> None:
    """Two reads are inside of their engines at the same time, which one engine does not allow."""
    session = cl.Session(rows_table(), budget=cl.PureDP(epsilon=1))
    both = threading.Barrier(2)
    sessions = [session, session.duplicate()]
    for one in sessions:
        count(one)  # opens the engine
        endless_once(one._context.engine, lambda: both.wait(600))
    assert sessions[0]._context.engine is not sessions[1]._context.engine
    threads = [threading.Thread(target=count, args=(one,)) for one in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.spent == cl.PureDP(epsilon=1)


def test_bad_input() -> None:
    for wrong in (0, -1, "soon", float("nan")):
        with pytest.raises(ParameterError, match="time_limit"):
            cl.Session(rows_table(), budget=cl.PureDP(epsilon=1), time_limit=wrong)  # type: ignore[arg-type]
    given = cl.Session(rows_table(), budget=cl.PureDP(epsilon=1), engine=Pretending())
    with pytest.raises(ParameterError, match="duplicate"):
        given.duplicate()
