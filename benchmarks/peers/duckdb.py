"""DuckDB without any privacy: what the engine itself takes for the question, on the table and on the Parquet file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import duckdb

from benchmarks.peers.question import LIMIT, ROWS, path
from benchmarks.peers.stopwatch import main, peak_megabytes, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

PARQUET, LARGE = f"'{path()}'", f"'{path(4 * ROWS)}'"


def by_group(source: str, column: str, key: str = "g") -> str:
    """The question, as plain SQL."""
    return f"SELECT {key}, count(*), sum({column}), avg({column}) FROM {source} GROUP BY {key}"  # noqa: S608 - our names


def by_person(source: str, column: str) -> str:
    """Each person's rows added up in each group, then the groups: the least that bounding a person's part takes."""
    inner = f"SELECT person, g, count(*) c, sum({column}) s FROM {source} GROUP BY person, g"  # noqa: S608
    return f"SELECT g, sum(c), sum(s), sum(s) / sum(c) FROM ({inner}) GROUP BY g"  # noqa: S608


def timed(sql: str, *, memory: bool = False, repeats: int = 7) -> float:
    """Seconds of a statement, on a connection that is open; ``memory`` reads the file into a table before."""
    connection = duckdb.connect()
    if memory:
        connection.execute(f"CREATE TABLE visits AS FROM {PARQUET}")
    return seconds(lambda: connection.execute(sql).fetchall(), repeats=repeats)


def peak(sql: str, *, limit: bool = False) -> float:
    """Most memory held while answering; ``limit`` is on what DuckDB may take."""
    connection = duckdb.connect(config={"memory_limit": LIMIT} if limit else {})
    connection.execute(sql).fetchall()
    return peak_megabytes()


CASES: dict[str, Callable[[], float]] = {
    "memory-age": partial(timed, by_group("visits", "age"), memory=True),
    "memory-weight": partial(timed, by_group("visits", "weight"), memory=True),
    "parquet-age": partial(timed, by_group(PARQUET, "age")),
    "parquet-weight": partial(timed, by_group(PARQUET, "weight")),
    "text-age": partial(timed, by_group(PARQUET, "age", "code")),
    "person-age": partial(timed, by_person(PARQUET, "age"), repeats=3),
    "person-weight": partial(timed, by_person(PARQUET, "weight"), repeats=3),
    "peak": partial(peak, by_group(PARQUET, "age")),
    "peak-person": partial(peak, by_person(PARQUET, "age")),
    "peak-large": partial(peak, by_group(LARGE, "age"), limit=True),
    "peak-large-person": partial(peak, by_person(LARGE, "age"), limit=True),
}

if __name__ == "__main__":
    main(CASES)
