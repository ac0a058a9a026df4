"""The examples of the documentation's first page, run on tables of any engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

import celosia as cl

if TYPE_CHECKING:
    from celosia.data.table import Table

CODES = ("E10", "I21", "U07")
TOWNS = ("  Lima", "lima ", "Cusco")
SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 300, grid="0.1"),
    sex=cl.Category("F", "M"),
    cause=cl.Category(CODES),
    town=cl.Text(),
)
LIMITS: dict[str, Any] = {"max_groups_per_person": 2, "max_rows_per_group": 3, "max_rows_per_person": 2}


def people() -> pa.Table:
    """Six hundred persons with two rows each."""
    rows = range(1200)
    return pa.table(
        {
            "person_id": pa.array([row // 2 for row in rows], pa.int64()),
            "age": pa.array([row % 100 for row in rows], pa.int64()),
            "weight": pa.array([50 + row % 7 / 10 for row in rows], pa.float64()),
            "sex": ["F" if row % 4 < 2 else "M" for row in rows],
            "cause": [CODES[row % 3] for row in rows],
            "town": [TOWNS[row // 2 % 3] for row in rows],
        }
    )


def ask_everything(deaths: Table, *, briefly: bool = False) -> None:
    """Ask by builder and in SQL, and hold the answers, at an epsilon that hides nothing, against the truth.

    ``briefly``: one query, where each takes an engine seconds.
    """
    session = cl.Session(deaths, budget=cl.ApproxDP(epsilon=5000, delta=1e-6))
    query = session.query().where("age < 18 AND cause = 'E10'").group_by("sex").count()
    assert query.preview(epsilon="0.5").affordable
    assert session.spent.epsilon == 0  # type: ignore[attr-defined] # of an ApproxDP
    frame = people().to_pandas()
    minors = frame[(frame.age < 18) & (frame.cause == "E10")].groupby("sex").size()
    release = query.release(epsilon=1000)
    assert release.to_arrow().to_pydict() == {"sex": ["F", "M"], "count": minors.tolist()}
    low, high = release.confidence_interval(0.95)
    assert low["count"].to_pylist() <= minors.tolist() <= high["count"].to_pylist()
    if briefly:
        return
    answer = session.sql(
        f"SELECT cause, COUNT(*), AVG(age), MEDIAN(age), SUM(weight) FROM {deaths.name} WHERE sex = 'F' GROUP BY cause",
        epsilon=2000,
    ).to_pandas()
    truth = frame[frame.sex == "F"].groupby("cause").agg(n=("age", "size"), m=("age", "mean"), w=("weight", "sum"))
    assert answer["cause"].tolist() == list(CODES)
    assert (answer["count"] - truth.n.to_numpy()).abs().max() <= 1
    assert (answer["mean_age"] - truth.m.to_numpy()).abs().max() < 1
    assert (answer["sum_weight"] - truth.w.to_numpy()).abs().max() < 100
    assert answer["median_age"].between(35, 65).all()
    texts = session.sql(
        "SELECT sex, TOP_K(UPPER(TRIM(town)), 2) AS towns, COUNT(DISTINCT cause) AS causes, COUNT(*) AS n, "
        f"100.0 * COUNT(*) FILTER (WHERE age < 18) / COUNT(*) AS minors FROM {deaths.name} GROUP BY sex",
        epsilon=900,
    )
    assert texts.to_arrow()["towns"].to_pylist() == [["LIMA", "CUSCO"]] * 2
    low, high = (end.to_pylist() for end in texts.true_interval(1 - 1e-8))
    for sex, least, most in zip(("F", "M"), low, high, strict=True):
        own = frame[frame.sex == sex]
        truth = {"causes": 3, "n": len(own), "minors": 100 * (own.age < 18).mean()}
        assert {name: least[name] <= value <= most[name] for name, value in truth.items()} == dict.fromkeys(truth, True)
    assert len(session.history) == 3
    assert session.remaining.epsilon >= 1000  # type: ignore[attr-defined] # of an ApproxDP; divergences may leave more
