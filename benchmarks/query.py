"""Private queries: what privacy costs over plain DuckDB, how other libraries fare with the same question, how exact.

The tables (see :mod:`benchmarks.peers.question`) are written once and kept in the cache of the benchmarks, 800 MB;
``--rows`` makes them smaller. On ten million rows everything takes some nine minutes. Where a peer is slow it is asked
about a tenth or a hundredth of the rows, and so are we: the column of the parameters says so.

``python -m benchmarks.query CASE`` is one of our own cases in a process of its own, for what it holds in memory.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

import celosia as cl
from benchmarks.harness import ROOT, Case
from benchmarks.peers.question import BOUNDS, FEW, GROUPS, LIMIT, MAX_GROUPS, MAX_ROWS, REPEATS, ROWS, path
from benchmarks.peers.stopwatch import main, peak_megabytes, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core import Guarantee

SCHEMA = {
    "g": cl.Category(*range(GROUPS)),
    "code": cl.Category(*(f"C{group:02}" for group in range(GROUPS))),
    "age": cl.Integer(*BOUNDS["age"]),
    "weight": cl.Real(*BOUNDS["weight"]),
}
PLENTY = cl.PureDP(epsilon=10**6)  # nobody is protected here: the same question is asked again and again
KINDS = {"age": "integers", "weight": "reals"}


def write(rows: int) -> None:
    """Write the table of so many rows, unless it is there. The values are hashes, so that it is always the same."""
    import duckdb

    file = path(rows)
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    drawn = f"""SELECT (hash(5 * i) % {max(rows // 10, 1)})::BIGINT AS person,
        (hash(5 * i + 1) % {GROUPS})::INTEGER AS g, (hash(5 * i + 2) % 60 + hash(5 * i + 3) % 60)::INTEGER AS age,
        hash(5 * i + 4) % 1000000 / 1e6 * 320 - 10 AS weight FROM range({rows}) AS numbers (i)"""  # noqa: S608 - our own
    columns = "person, g, format('C{:02d}', g) AS code, age, weight"
    duckdb.sql(f"COPY (SELECT {columns} FROM ({drawn})) TO '{unfinished}' (FORMAT parquet)")  # noqa: S608
    unfinished.rename(file)  # last, so that an interrupted run leaves no half of a table


def opened(
    source: Any,
    *,
    person: bool = False,
    budget: Guarantee = PLENTY,
    without: tuple[str, ...] = (),
) -> cl.Session:
    """A session on the table, by row or by person; columns may be left out."""
    schema = {name: kind for name, kind in SCHEMA.items() if name not in without}
    limits: dict[str, Any] = (
        {"person": "person", "max_groups_per_person": MAX_GROUPS, "max_rows_per_group": MAX_ROWS} if person else {}
    )
    return cl.Session(cl.table(source, schema=cl.Schema(schema), name="visits", **limits), budget=budget)


def in_duckdb(rows: int = ROWS, *, memory: bool, **settings: str) -> Any:
    """An Ibis table over DuckDB: read into memory, or the file with settings of the engine."""
    import ibis

    connection = ibis.duckdb.connect(**settings)
    if not memory:
        return connection.read_parquet(path(rows))
    connection.raw_sql(f"CREATE TABLE visits AS FROM '{path(rows)}'")
    return connection.table("visits")


def question(column: str, key: str = "g") -> str:
    """The question in SQL."""
    return f"SELECT {key}, COUNT(*) AS n, SUM({column}) AS s, AVG({column}) AS m FROM visits GROUP BY {key}"  # noqa: S608


def ask(session: cl.Session, column: str, key: str = "g") -> Callable[[], object]:
    """One question to an open session, as an action."""
    return lambda: session.sql(question(column, key), epsilon=1).to_arrow()


def from_nothing(column: str, rows: int = ROWS, *, person: bool = False) -> Callable[[], object]:
    """Table, session and question, as an action: what peers without sessions do."""

    def action() -> object:
        return ask(opened(path(rows), person=person), column)()

    return action


def over_plain(session: cl.Session, column: str, *, source: str, key: str = "g", person: bool = False) -> float:
    """Our time over that of plain DuckDB in the same process, in turns: both meet the same disturbances."""
    from benchmarks.peers.duckdb import by_group, by_person

    connection = _plain(source)
    sql = by_person(source, column) if person else by_group(source, column, key)
    private = ask(session, column, key)

    def plain() -> object:
        return connection.execute(sql).fetchall()

    times = [
        [seconds(action, repeats=1, warm=turn == 0) for action in (private, plain)]
        for turn in range(3 if person else 9)
    ]
    return min(ours for ours, _ in times) / min(theirs for _, theirs in times)


@cache
def _plain(source: str) -> Any:
    import duckdb

    connection = duckdb.connect()
    if source == "visits":
        connection.execute(f"CREATE TABLE visits AS FROM '{path()}'")
    return connection


def excess_of_noise(column: str) -> float:
    """Standard deviation of released sums over the ideal, that of Laplace noise of scale bound / epsilon."""
    query = opened(path(FEW)).query().group_by("g").sum(column, name="s")
    sums = np.array([query.release(epsilon=1).to_arrow()["s"].to_numpy() for _ in range(REPEATS)], dtype=np.float64)
    return float(np.sqrt(sums.var(axis=0, ddof=1).mean() / 2)) / max(BOUNDS[column])


def errors(column: str, qs: list[str]) -> NDArray[np.float64]:
    """Errors at epsilon 1 of the mean, or of these quantiles, one row for each run."""
    import pyarrow.parquet as pq

    exact = np.clip(pq.read_table(path(FEW), columns=[column])[column].to_numpy(), *BOUNDS[column])
    true = np.quantile(exact, [float(q) for q in qs], method="inverted_cdf") if qs else [exact.mean()]
    query = opened(path(FEW)).query()
    query = query.quantiles(column, qs) if qs else query.mean(column)
    answers = [list(query.release(epsilon=1).to_arrow().to_pylist()[0].values()) for _ in range(REPEATS)]
    found: NDArray[np.float64] = np.abs(np.array(answers, dtype=np.float64) - true)
    return found


def most(found: NDArray[np.float64]) -> float:
    """The worst error of a run, such that 95 % of the runs stay below."""
    return float(np.sort(found.max(axis=1))[math.ceil(0.95 * len(found)) - 1])


def accuracy(column: str) -> list[Case]:
    """How far off mean, deciles and median are, against OpenDP's."""
    unit = "years" if column == "age" else "kg"
    parameters = {"n": FEW, "epsilon": 1, "runs": REPEATS, "column": KINDS[column]}
    deciles = [f"0.{tenth}" for tenth in range(1, 10)]
    rows: list[tuple[str, Callable[[], float], str, str]] = [
        ("error of a mean, 95 % of runs below", lambda: most(errors(column, [])), "mean", "< 0.1"),
        (
            "worst error of deciles, 95 % of runs below",
            lambda: most(errors(column, deciles)),
            "deciles",
            "< 1",
        ),
        ("mean error of a median", lambda: float(errors(column, ["0.5"]).mean()), "median", "no worse"),
    ]
    return [
        Case.number(
            what,
            measure,
            unit=unit,
            parameters=parameters,
            peers={"opendp_polars": f"{peer}-{column}"},
            aim=aim if column == "age" else "no worse",
        )
        for what, measure, peer, aim in rows
    ]


def alone(case: str) -> Callable[[], float]:
    """One of our cases in a process of its own, as an action."""
    command = [sys.executable, "-m", "benchmarks.query", case]

    def measure() -> float:
        answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        return float(json.loads(answer.stdout.splitlines()[-1])["value"])

    return measure


def peak(column: str, rows: int = ROWS, *, person: bool = False, limit: bool = False) -> Callable[[], float]:
    """Most memory held while the question is answered, as an action; ``limit`` is on what DuckDB may take."""

    def measure() -> float:
        source = in_duckdb(rows, memory=False, memory_limit=LIMIT) if limit else path(rows)
        # Doubles and texts of a file that Ibis reads are refused; the files that we read have no such settings.
        ask(opened(source, person=person, without=("weight", "code") if limit else ()), column)()
        return peak_megabytes()

    return measure


OURS = {
    "peak": peak("age"),
    "peak-person": peak("age", person=True),
    "peak-hundredth": peak("age", ROWS // 100),
    "peak-large": peak("age", 4 * ROWS, limit=True),
    "peak-large-person": peak("age", 4 * ROWS, person=True, limit=True),
}


def memory() -> list[Case]:
    """What is held in memory: flat for rows, and within a limit on DuckDB for a table that is larger."""
    limited = {"n": 4 * ROWS, "DuckDB's limit": LIMIT}
    rows: list[tuple[str, dict[str, object], dict[str, str]]] = [
        ("peak", {"n": ROWS}, dict.fromkeys(("duckdb", "opendp_polars", "diffprivlib", "tumult"), "peak")),
        ("peak-hundredth", {"n": ROWS // 100}, {"pipelinedp": "peak-hundredth"}),
        ("peak-person", {"n": ROWS, "by": "person"}, {"duckdb": "peak-person", "opendp_polars": "peak-person"}),
        ("peak-large", limited, {"duckdb": "peak-large"}),
        ("peak-large-person", limited | {"by": "person"}, {"duckdb": "peak-large-person"}),
    ]
    return [
        Case.number("peak memory, Parquet", alone(case), unit="MB", parameters=parameters, peers=peers)
        for case, parameters, peers in rows
    ]


def by_row() -> list[Case]:
    """Where a row is protected: over plain DuckDB, and against the peers."""
    cases = []
    places = [("memory", "g", "age"), ("memory", "g", "weight"), ("Parquet", "g", "age"), ("Parquet", "g", "weight")]
    for place, key, column in [*places, ("Parquet", "code", "age")]:
        session = opened(in_duckdb(memory=True) if place == "memory" else path())
        parameters = {"n": ROWS, "in": place, "of": KINDS[column], "keys": "text" if key == "code" else "integers"}
        source = "visits" if place == "memory" else f"'{path()}'"
        cases += [
            Case.timed(
                "count, sum, mean by group, open session",
                ask(session, column, key),
                parameters=parameters,
                peers={"duckdb": f"{'text' if key == 'code' else place.lower()}-{column}"},
                aim="duckdb: 0.4 x",
            ),
            Case.number(
                "the same over plain DuckDB, in turns",
                partial(over_plain, session, column, source=source, key=key),
                unit="x plain",
                parameters=parameters,
                aim="<= 2.5",
            ),
        ]
    return cases


def by_person() -> list[Case]:
    """Where a person is protected, with at most two groups and three rows in each."""
    cases = []
    peers = {"age": ("duckdb", "opendp_polars"), "weight": ("duckdb",)}
    for column, kind in KINDS.items():
        session = opened(path(), person=True)
        parameters = {"n": ROWS, "persons": ROWS // 10, "in": "Parquet", "of": kind}
        cases += [
            Case.timed(
                "count, sum, mean by group, by person",
                ask(session, column),
                repeats=3,
                parameters=parameters,
                peers=dict.fromkeys(peers[column], f"person-{column}"),
                aim="duckdb: 0.33 x; others: 5 x",
            ),
            Case.number(
                "the same over plain adding up by person",
                partial(over_plain, session, column, source=f"'{path()}'", person=True),
                unit="x plain",
                parameters=parameters,
                aim="<= 3",
            ),
        ]
    return cases


def against_peers() -> list[Case]:
    """Table, session and question, against libraries that promise what we promise."""
    fast = {"age": ("opendp_polars", "diffprivlib", "tumult"), "weight": ("opendp_polars", "diffprivlib")}
    cases = [
        Case.timed(
            "table, session, count, sum, mean by group",
            from_nothing(column),
            parameters={"n": ROWS, "in": "Parquet", "of": kind},
            peers=dict.fromkeys(fast[column], f"parquet-{column}"),
            aim="5 x, but diffprivlib, by hand",
        )
        for column, kind in KINDS.items()
    ]
    tenth, hundredth = {"n": ROWS // 10, "in": "Parquet"}, {"n": ROWS // 100, "in": "Parquet"}
    return [
        *cases,
        Case.timed(
            "table, session, count, sum, mean by group",
            from_nothing("age", ROWS // 10),
            parameters=tenth | {"of": "integers"},
            peers={"pipelinedp": "tenth-age"},
            aim="5 x",
        ),
        Case.timed(
            "table, session, count, sum, mean by group, by person",
            from_nothing("age", ROWS // 10, person=True),
            repeats=3,
            parameters=tenth | {"of": "integers", "persons": ROWS // 100},
            peers={"pipelinedp": "tenth-person-age"},
            aim="5 x",
        ),
        Case.timed(
            "table, session, count, sum, mean by group; Tumult: its average only",
            from_nothing("age", ROWS // 100),
            parameters=hundredth | {"of": "integers"},
            peers={"tumult": "hundredth-average-age"},
            aim="5 x",
        ),
    ]


def cases() -> list[Case]:
    """Return the cases of the room."""
    for rows in {FEW, ROWS // 100, ROWS // 10, ROWS, 4 * ROWS}:
        write(rows)
    noise = [
        Case.number(
            "noise of a sum over bound / epsilon",
            partial(excess_of_noise, column),
            unit="x ideal",
            parameters={"of": KINDS[column], "OpenDP's most rows": ROWS},
            peers={"opendp_polars": f"noise-{column}"},
            aim="1",
        )
        for column in KINDS
    ]
    return [*by_row(), *by_person(), *against_peers(), *noise, *accuracy("age"), *accuracy("weight"), *memory()]


if __name__ == "__main__":
    main(OURS)
