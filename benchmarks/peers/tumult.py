"""Tumult Analytics on a local Spark with two cores; the JVM is started and warm before anything is timed.

Its own average takes minutes on the whole table (exact arithmetic in Python, a group at a time), so there the mean is
the quotient of its count and its sum, two of its queries; the average itself is asked about a hundredth of the rows.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Spark's workers are to be this Python, and not the first in the path.
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

from benchmarks.peers.question import BOUNDS, GROUPS, ROWS, path
from benchmarks.peers.stopwatch import main, peak_megabytes, seconds

if TYPE_CHECKING:
    import pandas as pd

warnings.simplefilter("ignore")


@cache
def spark() -> SparkSession:
    """A Spark of two cores that leaves nothing in the repository."""
    folder = Path(tempfile.mkdtemp(prefix="celosia-tumult-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session: SparkSession = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def opened(rows: int) -> tuple[Session, Any]:
    """A session on the file, and the grouped query that aggregates are added to."""
    frame = spark().read.parquet(str(path(rows))).select("g", *BOUNDS)
    session = Session.from_dataframe(PureDPBudget(1), "rows", frame, protected_change=AddOneRow())
    return session, QueryBuilder("rows").groupby(KeySet.from_dict({"g": list(range(GROUPS))}))


def answer(column: str, rows: int = ROWS) -> pd.DataFrame:
    """Count and sum, and the mean from them."""
    session, query = opened(rows)
    half = PureDPBudget(0.5)
    counts = session.evaluate(query.count(name="n"), half).toPandas()
    sums = session.evaluate(query.sum(column, *BOUNDS[column], name="s"), half).toPandas()
    answers = counts.merge(sums, on="g")
    means: pd.DataFrame = answers.assign(m=answers["s"] / answers["n"])
    return means


def average(column: str) -> pd.DataFrame:
    """Its own average."""
    session, query = opened(ROWS // 100)
    averages: pd.DataFrame = session.evaluate(query.average(column, *BOUNDS[column]), PureDPBudget(1)).toPandas()
    return averages


def average_seconds(column: str) -> float:
    """Time of its own average, once, when counts and sums have warmed the JVM."""
    answer(column, ROWS // 100)
    return seconds(lambda: average(column), repeats=1, warm=False)


def peak() -> float:
    """Most memory held while answering, the JVM's included."""
    answer("age")
    return peak_megabytes()


CASES = {
    "parquet-age": lambda: seconds(lambda: answer("age"), repeats=2),
    "hundredth-average-age": lambda: average_seconds("age"),
    "peak": peak,
}

if __name__ == "__main__":
    main(CASES)
