"""What the caller passes is sorted out without being opened, and without being shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.core import ParameterError
from celosia.data.sources.classify import (
    Database,
    Frame,
    IbisSource,
    SparkFiles,
    SparkPath,
    SparkSource,
    SparkTable,
    classify,
    has_tables,
    suggest_name,
)
from celosia.data.sources.files import Files

ROWS = {"age": [108], "name": ["Eulalia"]}
SECRETS = ("108", "Eulalia", "hush", "s3cr3t")


class Capsule:
    """Another library's frame, which speaks nothing but Arrow's protocol."""

    columns = ("age", "name")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(ROWS).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(ROWS),
        pa.table(ROWS).to_batches()[0],
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
        Capsule(),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_frames_of_any_library(frame: object) -> None:
    found = classify(frame)
    assert isinstance(found, Frame)
    assert found.frame is frame
    assert not any(secret in repr(found) for secret in SECRETS)
    assert classify(found) is found
    assert found == found  # noqa: PLR0124 - frames compare by identity, not by their own ==
    assert found != Frame(frame)


def test_a_relation_of_duckdb_is_a_frame() -> None:
    with duckdb.connect() as connection:
        assert isinstance(classify(connection.sql("SELECT 108 AS age")), Frame)


def test_an_ibis_table_is_kept_as_it_is() -> None:
    expression = ibis.memtable(pa.table(ROWS))
    found = classify(expression)
    assert isinstance(found, IbisSource)
    assert found.expression is expression
    assert repr(found) == "<IbisSource>"
    with pytest.raises(ParameterError, match="not a ibis"):
        classify(expression.age)


def test_a_spark_frame_is_known_by_its_class() -> None:
    from pyspark.sql.dataframe import DataFrame

    class Frameless(DataFrame):
        """A DataFrame without a Java machine behind it."""

        def __new__(cls) -> Self:
            return object.__new__(cls)

        def __init__(self) -> None:
            pass

        def __repr__(self) -> str:
            raise AssertionError

    found = classify(Frameless())
    assert isinstance(found, SparkSource)
    assert repr(found) == "<SparkSource>"


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "deaths.parquet"
    file.touch()
    expected = Files((str(file),), "parquet")
    assert classify(file) == classify(str(file)) == classify(f"{tmp_path}/*.parquet") == expected


def test_what_can_be_read_once_is_refused() -> None:
    cases: list[object] = [pa.table(ROWS).to_reader(), iter([pa.table(ROWS)])]
    for reader in cases:
        with pytest.raises(ParameterError, match="is read once"):
            classify(reader)


def test_what_is_no_table_is_refused_without_being_shown() -> None:
    cases: list[object] = [
        None,
        108,
        1.5,
        True,
        b"108",
        ["Eulalia"],
        ("Eulalia",),
        {"name": ["Eulalia"]},
        {"Eulalia"},
        np.array([108]),
        pd.Series(["Eulalia"]),
        pl.Series(["Eulalia"]),
        pa.array(["Eulalia"]),
        pa.chunked_array([["Eulalia"]]),
        pd,
        object(),
    ]
    for source in cases:
        with pytest.raises(ParameterError, match=r"^source must be a path") as caught:
            classify(source)
        assert not any(secret in str(caught.value) for secret in SECRETS)


# ---- databases


@pytest.mark.parametrize(
    ("name", "table", "schema"),
    [("deaths", "deaths", None), ("public.deaths", "deaths", "public"), ("a b", "a b", None)],
)
def test_a_table_of_a_database(name: str, table: str, schema: str | None) -> None:
    for scheme in ("postgresql", "postgres"):
        url = f"{scheme}://ana:hush@db.example:5432/registry"
        assert classify(url, name=name) == Database(url, table, schema)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:hush@db.example:5432/registry", "postgresql://ana:***@db.example:5432/registry"),
        ("postgresql://ana:hu%40sh@db.example/registry", "postgresql://ana:***@db.example/registry"),
        ("postgresql://ana:hush:hush@db.example/registry", "postgresql://ana:***@db.example/registry"),
        ("postgresql://ana:hush@hush@db.example/registry", "postgresql://ana:***@db.example/registry"),
        ("postgresql://ana@db.example/registry", "postgresql://ana@db.example/registry"),
        ("postgresql:///registry?host=/tmp/pg", "postgresql:///registry?host=/tmp/pg"),
        ("postgresql://db/r?user=ana&password=hush", "postgresql://db/r?user=ana&password=***"),
        ("postgresql://db/r?sslpassword=hush&PASSWORD=hush&x=1", "postgresql://db/r?sslpassword=***&PASSWORD=***&x=1"),
        ("postgresql://db/r#hush", "postgresql://db/r"),
    ],
)
def test_no_password_is_ever_shown(url: str, shown: str) -> None:
    found = classify(url, name="deaths")
    assert isinstance(found, Database)
    assert found.url == url
    assert repr(found) == f"Database({shown!r}, 'deaths')"
    assert str(found) == repr(found)


def test_other_addresses_are_refused_without_being_shown() -> None:
    cases: list[str] = [
        "mysql://ana:hush@db/registry",
        "s3://hush/deaths.parquet",
        "https://ana:hush@example.org/deaths.csv",
        "postgresq://ana:hush@db/registry",
        "postgresql://ana:hush@db:port/registry",
        "postgresql://ana:hush@[db/registry",
        "://ana:hush@db",
    ]
    for url in cases:
        with pytest.raises(ParameterError, match="pass an Ibis table") as caught:
            classify(url, name="deaths")
        assert "hush" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_a_database_needs_the_name_of_a_table() -> None:
    cases: list[Any] = [None, "", ".", "a.", ".a", "a.b.c", "a\nb", "x" * 64, 3]
    for name in cases:
        with pytest.raises(ParameterError, match="name must be") as caught:
            classify("postgresql://ana:hush@db/registry", name=name)
        assert "hush" not in str(caught.value)


# ---- Spark


def test_files_that_spark_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.parquet", "b.parquet", "c.csv"):
        Path(name).write_text("age\n34\n", encoding="utf-8")
    both = SparkFiles((f"{tmp_path}/a.parquet", f"{tmp_path}/b.parquet"), "parquet")
    assert classify("spark:*.parquet") == classify(f"spark:{tmp_path}/?.parquet") == both
    assert both != Files(both.paths, "parquet")
    with pytest.raises(ParameterError, match="there is no file"):
        classify("spark:nowhere.parquet")
    for source in (
        "spark:c.csv",
        f"spark:{Path('a.parquet').absolute().as_uri()}",
        "spark:FILE:///a",
        "spark:hdfs://[bad/x",
    ):
        with pytest.raises(ParameterError, match="source must be spark: and a path"):
            classify(source)


def test_files_elsewhere_are_left_to_spark() -> None:
    for path in ("hdfs://host:9000/visits/*.parquet", "s3a://bucket/visits", "abfss://box@account.example/visits"):
        assert repr(classify(f"spark:{path}", name="visits")) == f"SparkPath({path!r})"
    found = classify("spark:s3a://ana:hush@bucket/visits")
    assert found == SparkPath("s3a://ana:hush@bucket/visits")
    assert repr(found) == "SparkPath('s3a://ana:***@bucket/visits')"


def test_a_table_of_sparks_catalogue() -> None:
    assert classify("spark:", name="registry.visits") == SparkTable(("registry", "visits"))
    assert classify("spark:", name="main.registry.visits") == SparkTable(("main", "registry", "visits"))
    with pytest.raises(ParameterError, match="name must be given for a database, or for Spark's catalogue"):
        classify("spark:")
    cases: list[Any] = ["", "a.", "a.b.c.d", "parquet.`/data/visits`", "parquet./data", "a b", "x" * 256, 3]
    for name in cases:
        with pytest.raises(ParameterError, match="name must be a table of Spark's catalogue"):
            classify("spark:", name=name)


def test_databases_and_the_catalogue_have_tables() -> None:
    assert all(map(has_tables, ("spark:", "postgresql://db/registry")))
    assert not any(map(has_tables, ("spark:/a.parquet", "spark:hdfs://host/a", "a.parquet", "spark.parquet")))


# ---- names


def test_names_are_made_identifiers() -> None:
    cases: list[tuple[object, str]] = [
        ("deaths.parquet", "deaths"),
        ("registers/deaths-2021.CSV", "deaths_2021"),
        (Path("registers") / "deaths 2021.tsv.gz", "deaths_2021"),
        ("defunción.pq", "defunción"),
        ("2021.parquet", "_2021"),
        ("part_*.parquet", "part"),
        ("*.parquet", "data"),
        ("x" * 100 + ".csv", "x" * 63),
        ("a.b.c.csv", "a_b_c"),
        (pa.table(ROWS), "data"),
        (Database("postgresql://db/r", "Deaths of 2021"), "Deaths_of_2021"),
        (Files(("a/deaths.csv",), "csv"), "deaths"),
        (SparkTable(("registry", "Deaths")), "Deaths"),
        ("spark:deaths.parquet", "deaths"),
        ("spark:hdfs://host/deaths/", "deaths"),
        (Files(("a.csv", "b.csv"), "csv"), "data"),
    ]
    for source, name in cases:
        assert suggest_name(source) == name
        assert name.isidentifier()
