"""Spark gives the integers of the reference, whatever its time zone, and keeps its session as it was."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import EngineError, QueryError, SchemaError
from celosia.data.sources.classify import SparkSource
from celosia.query.engines.registry import open_engine
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, FirstMoments, RowCount, Total
from celosia.testing.engines import check
from celosia.testing.engines.cases import Case, cases
from celosia.testing.engines.check import check_engine
from tests.query.face import LIMITS, SCHEMA, ask_everything, people

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from celosia.data.table import Table
    from celosia.query.engines.base import Engine

pytestmark = [pytest.mark.needs_java, pytest.mark.xdist_group("spark")]

QUICK = (
    {"expressions", "private texts", "left join", "written texts"},
    {"beyond 3 by 2", "text keys", "per person"},
)
"""Cases about rows and persons with what Spark does its own way: functions, texts, dates, ranks, joins and sums."""
PLAN = Plan(relation=Base("t"), aggregates=(Aggregate(kind="count", name="count"),))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


def moved(spark: Any, table: Table) -> Table:
    if table.public:
        return table
    rows: pa.Table = table.source.frame  # type: ignore[union-attr] # a frame
    if "seen" in rows.column_names:  # Spark would take times without a zone for those of its own
        place = rows.column_names.index("seen")
        rows = rows.set_column(place, "seen", rows.column("seen").cast(pa.timestamp("us", tz="UTC")))
    frame = spark.createDataFrame(rows)
    return dataclasses.replace(table, source=SparkSource(frame))


def totals(table: Table, measure: Any) -> list[list[int]]:
    needs = [Measurement(measure=measure, columns=(Column("x"),), answers=())]
    with open_engine({"t": table}) as engine:
        (found,) = engine.summaries(PLAN, needs, ContributionBounds(), (1, 2), Cells.product([]))
    return found.tolist()  # type: ignore[no-any-return]


def quick_cases(*, persons: bool) -> list[Case]:
    """Return some cases, each with every third of its many requests."""
    few = [case for case in cases(persons=persons) if case.name in QUICK[persons]]
    return [dataclasses.replace(case, requests=case.requests[:: 3 if len(case.requests) > 20 else 1]) for case in few]


def test_it_agrees_with_the_reference(spark: Any, monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    if not thorough:  # a query takes a second, and random plans are tried on Spark as well
        monkeypatch.setattr(check, "cases", quick_cases)
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone not in ("UTC", "Etc/UTC")

    def opened(tables: Mapping[str, Table]) -> Engine:
        return open_engine({name: moved(spark, table) for name, table in tables.items()})

    assert len(check_engine(opened)) > 25 if thorough else len(check_engine(opened)) == sum(map(len, QUICK))
    assert spark.conf.get("spark.sql.session.timeZone") == zone
    assert not [table.name for table in spark.catalog.listTables() if table.name.startswith("celosia")]


@pytest.mark.parametrize("type_", ["TIMESTAMP_NTZ", "TIMESTAMP", "DATE"])
def test_times_are_instants(spark: Any, type_: str) -> None:
    kind = cl.Timestamp("1969-12-01", "1970-02-01")
    text = {"TIMESTAMP_NTZ": "1970-01-01 00:00:05.9", "TIMESTAMP": "1970-01-01 00:00:05.9Z", "DATE": "1970-01-02"}[
        type_
    ]
    frame = spark.sql(f"SELECT CAST('{text}' AS {type_}) AS x UNION ALL SELECT CAST(NULL AS {type_})")
    table = cl.table(frame, schema=cl.Schema(x=kind), name="t")
    assert totals(table, Total(kind.axis)) == [[86_400 if type_ == "DATE" else 5]]


def test_sums_do_not_overflow(spark: Any) -> None:
    kind = cl.Real(0, 1)
    frame = spark.range(3).selectExpr("CAST(1 AS DOUBLE) AS x")
    table = cl.table(frame, schema=cl.Schema(x=kind), name="t")
    assert totals(table, FirstMoments(kind.axis)) == [[3 * 2**30, 0]]


def test_types_that_cannot_serve_are_refused(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"x": [1]}))
    table = cl.table(frame, schema=cl.Schema(x=cl.Date("2021-01-01", "2021-12-31")), name="t")
    with pytest.raises(SchemaError, match="'x' of 't' is of the type int64"):
        totals(table, RowCount())


def test_errors_do_not_repeat_messages_of_spark(spark: Any) -> None:
    frame = spark.range(3).selectExpr("CAST(id AS STRING) || 'secret' AS y").selectExpr("CAST(y AS BIGINT) AS x")
    table = cl.table(frame, schema=cl.Schema(x=cl.Integer(0, 9)), name="t")
    with open_engine({"t": table}) as engine, pytest.raises(EngineError) as caught:
        engine.summaries(
            PLAN,
            [Measurement(measure=RowCount(), columns=(Column("x"),), answers=())],
            ContributionBounds(),
            (1,),
            Cells.product([]),
        )
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_columns_made_by_python_need_a_python(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    table = cl.table(spark.createDataFrame([(1,)], "x int"), schema=cl.Schema(x=cl.Integer(0, 9)), name="t")
    with pytest.raises(EngineError, match="set PYSPARK_PYTHON to the Python of this process"):
        totals(table, RowCount())


def test_an_ibis_table_is_queried_in_its_own_session(spark: Any) -> None:
    import ibis

    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.createDataFrame(pa.table({"x": [1, 50]})).createOrReplaceTempView("ages")
    backend = ibis.pyspark.connect(spark)
    table = cl.table(backend.table("ages"), schema=cl.Schema(x=cl.Integer(0, 9)), name="t")
    assert totals(table, Total(cl.Integer(0, 9).axis)) == [[10]]
    assert spark.catalog.dropTempView("ages")
    spark.conf.set("spark.sql.session.timeZone", zone)


def test_tables_must_be_in_one_session(spark: Any) -> None:
    first, second = (session.createDataFrame(pa.table({"x": [1]})) for session in (spark, spark.newSession()))
    schema = cl.Schema(x=cl.Integer(0, 1))
    with pytest.raises(QueryError, match="different Spark sessions"):
        open_engine({"a": cl.table(first, schema=schema, name="a"), "b": cl.table(second, schema=schema, name="b")})


def test_a_date_is_the_same_in_any_zone(spark: Any) -> None:
    kind = cl.Date("2020-01-01", "2020-12-31")
    late = dt.datetime(2020, 6, 30, 23, 59, 59, tzinfo=dt.UTC)
    frame = spark.createDataFrame(pa.table({"x": pa.array([late], pa.timestamp("us", tz="UTC"))}))
    table = cl.table(frame, schema=cl.Schema(x=kind), name="t")
    day = (dt.date(2020, 6, 30) - dt.date(1970, 1, 1)).days
    assert totals(table, Total(kind.axis)) == [[day]]


def test_a_session_asks_spark(spark: Any, *, thorough: bool) -> None:
    table = cl.table(spark.createDataFrame(people()), name="face", schema=SCHEMA, person="person_id", **LIMITS)
    ask_everything(table, briefly=not thorough)


def test_texts_are_compared_by_bytes_whatever_their_collation(spark: Any) -> None:
    rows = "VALUES ('f', 1), ('F', 2), ('F', 4) AS t(c, v)"
    frame = spark.sql(f"SELECT c COLLATE UTF8_LCASE AS c, c COLLATE UTF8_LCASE AS who, v FROM {rows}")
    schema = cl.Schema(c=cl.Text(), v=cl.Integer(0, 10))
    book = cl.table(pa.table({"k": ["f", "F"]}), name="book", public=True, key="k")
    with cl.Session([cl.table(frame, schema=schema, name="t"), book], budget=cl.PureDP(epsilon=60_000)) as session:
        (found,) = session.sql("SELECT SUM(v) AS s FROM t JOIN book ON c = k", epsilon=9_000).to_arrow().to_pylist()
    assert round(found["s"]) == 7  # and not 14
    limits: dict[str, Any] = {"max_groups_per_person": 1, "max_rows_per_group": 1}
    persons = cl.table(frame, schema=cl.Schema(v=cl.Integer(0, 10)), name="t", person="who", **limits)
    with pytest.raises(SchemaError, match="person column 'who' of 't' has a collation"):
        open_engine({"t": persons})
    frame.createOrReplaceTempView("collated")
    import ibis

    stored = ibis.pyspark.connect(spark).table("collated")
    with pytest.raises(SchemaError, match="The column 'c' of 't' has a collation"):
        open_engine({"t": cl.table(stored, schema=schema, name="t")})
    zeros = cl.table(pa.table({"k": [0.0, -0.0]}), schema=cl.Schema(k=cl.Boolean()), name="z", public=True, key="k")
    with pytest.raises(SchemaError, match="key twice"):
        open_engine({"t": cl.table(frame, schema=schema, name="t"), "z": zeros})


def test_it_is_interrupted(spark: Any) -> None:
    engine: Any = open_engine({"t": cl.table(spark.range(3), name="t", schema=cl.Schema(id=cl.Integer(0, 9)))})
    plain, asked = engine.backend.compile, threading.Event()

    def compile_endless(_: Any) -> str:
        asked.set()
        engine.backend.compile = plain
        return "SELECT max(hash(id)) AS n FROM range(0, 1000000000000, 1, 1)"

    engine.backend.compile = compile_endless
    session = cl.Session(
        list(engine.tables.values()), budget=cl.PureDP(epsilon=1), engine=engine, is_cancelled=lambda _: asked.is_set()
    )
    with pytest.raises(EngineError, match="cancelled"):
        session.query().count().release(epsilon="0.5")
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
    asked.clear()
    assert session.query().count().release(epsilon="0.5").to_arrow().num_rows == 1
    engine.close()
