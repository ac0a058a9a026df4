"""Intervals for the true values of computed columns: enclosed together, and consistent for parts of the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import celosia as cl
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.query.release import TableRelease

ROWS = 3_000


def ask(sql: str, *, epsilon: int = 1000, seed: int = 5, rows: int = 8) -> TableRelease:
    """Ask about persons with 1 to 60 rows, of which every fifth is bad: few of those with few rows."""
    person = np.repeat(np.arange(ROWS // 30), np.arange(ROWS // 30) % 60 + 1)
    bad = np.arange(len(person)) % 5 == 0
    table = cl.table(
        pa.table({"who": person, "bad": bad, "cost": person % 7}),
        schema=cl.Schema(bad=cl.Boolean(), cost=cl.Integer(0, 10)),
        name="stays",
        person="who",
        max_groups_per_person=1,
        max_rows_per_group=rows,
        max_rows_per_person=60,
    )
    release: Any = cl.Session(table, budget=cl.PureDP(epsilon=epsilon), source=Seeded(seed)).sql(sql, epsilon=epsilon)
    return release  # type: ignore[no-any-return] # with a target it is one


SHARES = (
    "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE bad) AS k, 100.0 * COUNT(*) FILTER (WHERE bad) / COUNT(*) AS bad, "
    "100.0 * COUNT(*) FILTER (WHERE NOT bad) / COUNT(*) AS good FROM stays"
)


def test_shares_are_of_the_same_rows() -> None:
    """Each person's rows are averaged down before it is looked which are bad: no share is too large, they make 100."""
    row = ask(SHARES).to_arrow().to_pylist()[0]
    assert isinstance(row["k"], int)
    assert abs(row["bad"] - 20) < 2
    assert abs(row["bad"] + row["good"] - 100) < 1
    assert row["k"] < row["n"] / 4
    alone = ask("SELECT COUNT(*) FILTER (WHERE bad) AS k FROM stays").item()
    assert alone > row["k"] + 50  # by itself, all of few bad rows of many count


def test_a_share_is_enclosed_with_what_was_cut_off_from_both_parts() -> None:
    release = ask(SHARES)
    low, high = (end.to_pylist()[0] for end in release.true_interval())
    bad = (np.arange(sum(i % 60 + 1 for i in range(ROWS // 30))) % 5 == 0).mean() * 100
    assert low["bad"] <= bad <= high["bad"]
    assert low["good"] <= 100 - bad <= high["good"]
    assert high["good"] < 101  # numerator and denominator miss the same rows
    apart = 100 * high["k"] / low["n"]
    assert high["bad"] < apart


def test_stretches_enclose_all_that_can_be() -> None:
    """Compare with a fine grid of numbers of rows that may be missing, of which any part may be bad."""
    release = ask(SHARES, epsilon=20)
    low, high = (end.to_pylist()[0] for end in release.true_interval(0.8))
    row = release.to_arrow().to_pylist()[0]
    missing = np.linspace(0, max(0.0, high["n"] - row["n"]), 1000)
    shares = np.concatenate([100 * (row["k"] + part * missing) / (row["n"] + missing) for part in (0.0, 0.5, 1.0)])
    inside = missing <= 0.9 * (high["n"] - row["n"])  # the ends of n allow for its noise as well
    kept = shares[np.tile(inside, 3)]
    assert low["bad"] <= kept.min()
    assert kept.max() <= high["bad"]


def test_what_cannot_be_enclosed_has_no_interval() -> None:
    release = ask("SELECT COUNT(*) AS n, MEDIAN(cost) AS m, MEDIAN(cost) + COUNT(*) AS x, COUNT(*) * 2 AS y FROM stays")
    assert release.true_interval()[0].column_names == ["n", "y"]
