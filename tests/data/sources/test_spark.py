"""Spark starts when a source is opened, opens files and tables, and its messages are withheld."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core.errors import EngineError
from celosia.data.sources.classify import SparkPath, SparkTable, classify
from celosia.data.sources.column_types import column_types
from celosia.data.sources.spark import open_frame, start_spark

if TYPE_CHECKING:
    from pathlib import Path


def run(script: str, **environment: str) -> str:
    """Return what a script prints in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=os.environ | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_without_java_spark_does_not_start(tmp_path: Path) -> None:
    script = """
        import sys
        import celosia as cl
        table = cl.table("spark:", schema=cl.Schema(age=cl.Integer(0, 120)), name="registry.visits")
        print(table, "pyspark" in sys.modules)
        try:
            cl.Session([table], budget=cl.PureDP(epsilon=1))
        except cl.CelosiaError as error:
            print(error.code)
    """
    assert run(script, JAVA_HOME=str(tmp_path)).splitlines() == [
        "<Table visits(age), unit row> False",
        "data.spark_not_started",
    ]


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_files_and_tables_are_opened(spark: Any, tmp_path: Path) -> None:
    assert start_spark() is spark
    for name in ("a[1]{b,c}*.parquet", "a1b.parquet", r"\\ %20#.parquet"):
        pq.write_table(pa.table({"name": [name]}), tmp_path / name)
        found: Any = classify(f"spark:{tmp_path / name}")
        assert open_frame(found).collect() == [(name,)]
    path = SparkPath((tmp_path / "a1b.parquet").as_uri())
    assert [(one.name, one.kind) for one in column_types(path)] == [("name", "text")]
    public = cl.table(path, public=True, key="name", name="names")
    assert public.source.frame.to_pydict() == {"name": ["a1b.parquet"]}  # type: ignore[union-attr] # a frame
    spark.createDataFrame([(34,)], "age int").createOrReplaceTempView("celosia_ages")
    assert open_frame(SparkTable(("celosia_ages",))).collect() == [(34,)]
    assert spark.catalog.dropTempView("celosia_ages")


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_what_cannot_be_opened_is_not_quoted(spark: Any, tmp_path: Path) -> None:
    assert spark is not None
    (tmp_path / "rows.parquet").write_text("Eulalia", encoding="utf-8")
    found: Any = classify(f"spark:{tmp_path}/rows.parquet")
    for source in (found, SparkTable(("Eulalia",)), SparkPath("eulalia://Eulalia/x")):
        with pytest.raises(EngineError, match="Spark could not open the source") as caught:
            open_frame(source)
        assert "Eulalia" not in str(caught.value)


@pytest.mark.thorough
@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_spark_is_started_again_if_its_java_ends(tmp_path: Path) -> None:
    """Spark's own configuration comes first: here it enables the log, and the page of Spark stays disabled."""
    (tmp_path / "spark-defaults.conf").write_text("spark.log.level ERROR\nspark.master local[1]\n", encoding="utf-8")
    script = """
        from pyspark import SparkContext
        from celosia.data.sources.spark import start_spark
        for _ in range(2):
            session = start_spark()
            read = session.sparkContext.getConf().get
            names = ("spark.master", "spark.log.level", "spark.ui.enabled", "spark.driver.bindAddress")
            print(session.range(3).count(), *map(read, names))
            SparkContext._gateway.proc.kill()
            SparkContext._gateway.proc.wait()
    """
    lines = run(script, SPARK_CONF_DIR=str(tmp_path)).splitlines()
    assert lines == ["3 local[1] ERROR false 127.0.0.1"] * 2
