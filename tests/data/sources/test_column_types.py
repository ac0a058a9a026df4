"""Names and types of columns, from footers, frames and catalogues, and never from rows."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celosia.core import ParameterError
from celosia.core.errors import EngineError
from celosia.data.sources.classify import Database, Frame, IbisSource, SparkSource, classify
from celosia.data.sources.column_types import ColumnType, column_types, query_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOMENT = dt.datetime(2021, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "small": pa.array([1], pa.uint8()),
        "large": pa.array([1], pa.int64()),
        "real": pa.array([1.5], pa.float32()),
        "money": pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2)),
        "flag": pa.array([True]),
        "text": pa.array(["x"]),
        "day": pa.array([dt.date(2021, 1, 2)]),
        "when": pa.array([MOMENT], pa.timestamp("us", tz="UTC")),
        "bytes": pa.array([b"x"]),
        "list": pa.array([[1]]),
    }
)
KINDS = {
    "small": "integer",
    "large": "integer",
    "real": "real",
    "money": "real",
    "flag": "boolean",
    "text": "text",
    "day": "date",
    "when": "timestamp",
    "bytes": None,
    "list": None,
}


def kinds(source: object) -> dict[str, str | None]:
    return {column.name: column.kind for column in column_types(classify(source))}


class Capsule:
    columns = tuple(TABLE.column_names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        pl.from_arrow(TABLE),
        pl.DataFrame(pl.from_arrow(TABLE)).lazy(),
        Capsule(),
        ibis.memtable(TABLE),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_library_says_the_same_kinds(source: object) -> None:
    assert kinds(source) == KINDS


def test_pandas_types() -> None:
    frame = pd.DataFrame(
        {
            "whole": [1],
            "nullable": pd.array([1], dtype="Int8"),
            "real": [1.5],
            "flag": [True],
            "text": ["x"],
            "object": pd.Series([1], dtype=object),
            "category": pd.Categorical(["x"]),
            "when": pd.to_datetime(["2021-01-01"]),
            "wave": [1 + 2j],
            7: [1],
        }
    )
    assert kinds(frame) == {
        "whole": "integer",
        "nullable": "integer",
        "real": "real",
        "flag": "boolean",
        "text": "text",
        "object": "text",
        "category": "text",
        "when": "timestamp",
        "wave": None,
    }


def test_a_dictionary_is_of_the_kind_of_its_values() -> None:
    table = pa.table({"x": pa.array(["a"]).dictionary_encode(), "y": pa.array([1]).dictionary_encode()})
    assert kinds(table) == {"x": "text", "y": "integer"}
    assert kinds(pl.DataFrame({"x": ["a"]}, schema={"x": pl.Categorical})) == {"x": "text"}
    assert kinds(pl.DataFrame({"x": [object()]})) == {"x": None}


def test_a_pandas_name_twice_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(ParameterError, match="different names"):
        column_types(Frame(frame))


def test_parquet_footers_and_csv_headers(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    assert kinds(tmp_path / "a.parquet") == KINDS
    (tmp_path / "a.csv").write_text("age;sex\n34;F\n", encoding="utf-8")
    assert column_types(classify(tmp_path / "a.csv")) == (ColumnType("age", None, None), ColumnType("sex", None, None))


def test_parquet_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [1], "a": [2]}), tmp_path / "2.parquet")
    assert kinds(tmp_path / "*.parquet") == {"a": "integer", "b": "integer"}
    pq.write_table(pa.table({"a": [1]}), tmp_path / "3.parquet")
    with pytest.raises(ParameterError, match="the same columns"):
        kinds(tmp_path / "*.parquet")
    (tmp_path / "3.parquet").write_bytes(b"Eulalia")
    with pytest.raises(ParameterError, match="no Parquet file") as caught:
        kinds(tmp_path / "*.parquet")
    assert "Eulalia" not in str(caught.value)


# ---- engines


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pgserver = pytest.importorskip("pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    server.psql(
        "CREATE TABLE deaths (id uuid, age smallint, weight double precision, fee numeric(8, 2), alive boolean, "
        "cause text, sex char(1), day date, at timestamp, at_zone timestamptz, raw bytea);"
        "INSERT INTO deaths VALUES (gen_random_uuid(), 108, 50.5, 1.5, false, 'Eulalia', 'F', '2021-01-02', "
        "'2021-01-02 03:04:05', '2021-01-02 03:04:05+00', 'x');"
        "CREATE SCHEMA other; CREATE TABLE other.codes (code text, beds bigint);"
        "INSERT INTO other.codes VALUES ('A', 10), ('B', 20);"
    )
    yield str(server.get_uri())
    server.cleanup()


def test_a_database_says_its_types(postgres: str) -> None:
    assert {column.name: column.kind for column in column_types(Database(postgres, "deaths"))} == {
        "id": None,
        "age": "integer",
        "weight": "real",
        "fee": "real",
        "alive": "boolean",
        "cause": "text",
        "sex": "text",
        "day": "date",
        "at": "timestamp",
        "at_zone": "timestamp",
        "raw": None,
    }
    found = column_types(classify(postgres, name="other.codes"))
    assert [column.kind for column in found] == ["text", "integer"]


def test_questions_to_a_database_leave_nothing_open(postgres: str) -> None:
    source = Database(postgres, "codes", "other")
    assert query_database(source, lambda table: table.to_pyarrow().num_rows) == 2
    open_now = "SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL"
    counts = [
        query_database(source, lambda table: table.get_backend().raw_sql(open_now).fetchone()[0]) for _ in range(3)
    ]
    assert counts[0] == counts[-1]


@pytest.mark.parametrize("table", ["nothing", "codes"])
def test_what_a_driver_says_is_kept_back(postgres: str, table: str) -> None:
    with pytest.raises(EngineError, match=f"has no table '{table}'") as caught:
        column_types(Database(postgres, table))
    assert caught.value.__suppress_context__
    with pytest.raises(EngineError, match="could not be opened") as caught:
        query_database(Database("postgresql://ana:hush@127.0.0.1:1/none", "deaths"), lambda table: table)
    assert "hush" not in str(caught.value)


def test_spark_types_go_by_their_names() -> None:
    from pyspark.sql import types

    fields = types.StructType(
        [
            types.StructField("a", types.ByteType()),
            types.StructField("b", types.LongType()),
            types.StructField("c", types.DoubleType()),
            types.StructField("d", types.DecimalType(8, 2)),
            types.StructField("e", types.BooleanType()),
            types.StructField("f", types.StringType()),
            types.StructField("g", types.DateType()),
            types.StructField("h", types.TimestampType()),
            types.StructField("i", types.TimestampNTZType()),
            types.StructField("j", types.BinaryType()),
            types.StructField("k", types.ArrayType(types.LongType())),
        ]
    )

    class Frameless:
        schema: Any = fields

    found = column_types(SparkSource(Frameless()))
    assert [column.kind for column in found] == [
        "integer", "integer", "real", "real", "boolean", "text", "date", "timestamp", "timestamp", None, None,
    ]  # fmt: skip
    assert found[3].type == "decimal(8,2)"


def test_an_ibis_table_is_not_run() -> None:
    expression = ibis.table({"age": "int64", "id": "uuid"}, name="deaths")  # of no backend: it could not be
    assert kinds(expression) == {"age": "integer", "id": None}
    assert column_types(IbisSource(expression))[0] == ColumnType("age", "int64", "integer")
