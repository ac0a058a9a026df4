"""Intervals of computed columns enclose whatever the answers inside theirs can give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.noise import Seeded
from celosia.query.postprocessing.evaluate import evaluate
from celosia.query.postprocessing.output_intervals import output_interval
from celosia.query.serial.release import release_from_json, release_to_json
from celosia.query.sql.expressions import parse_expression
from tests.query.samples import Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [
    "100.0 * x / n",
    "x - n * 2",
    "-(x + 0.5)",
    "ROUND(x / n, 1)",
    "x * n - n / x",
    "FLOOR(x / 3)",
    "CAST(x AS DOUBLE)",
]
ENDS = st.tuples(st.integers(-50, 50), st.integers(0, 30), st.floats(0, 1))


def fixed(low: float, high: float) -> Callable[[float], Any]:
    return lambda _: (np.array([low]), np.array([high]))


@given(st.sampled_from(TEXTS), ENDS, ENDS)
def test_every_value_inside_is_enclosed(text: str, x: tuple[int, int, float], n: tuple[int, int, float]) -> None:
    expression = parse_expression(text)
    found = output_interval(expression, {name: fixed(one[0], one[0] + one[1]) for name, one in (("x", x), ("n", n))})
    assert found is not None
    (low,), (high,) = found(0.9)
    inside = {name: [one[0] + one[1] * one[2]] for name, one in (("x", x), ("n", n))}
    (value,) = evaluate(expression, inside, 1)
    assert value is None or low <= value <= high


def test_a_quotient_by_what_may_be_zero_is_unbounded() -> None:
    found = output_interval(parse_expression("x / n"), {"x": fixed(1, 2), "n": fixed(-1, 1)})
    assert found is not None
    assert [end.tolist() for end in found(0.5)] == [[-np.inf], [np.inf]]


def test_the_level_is_shared() -> None:
    asked: list[float] = []

    def seen(level: float) -> Any:
        asked.append(level)
        return np.array([1]), np.array([2])

    found = output_interval(parse_expression("x + y * 2 + x"), {"x": seen, "y": seen, "z": seen})
    assert found is not None
    found(0.9)
    assert asked == pytest.approx([0.95, 0.95])


def test_what_has_none() -> None:
    for text in ("x > 3", "1 + 2", "x + z", "COALESCE(x, 1)", "x % 2"):
        assert output_interval(parse_expression(text), {"x": fixed(0, 1)}) is None


def test_whole_numbers_stay_exact() -> None:
    found = output_interval(parse_expression("x * 2 + 1"), {"x": fixed(3, 5)})
    assert found is not None
    assert [end.tolist() for end in found(0.9)] == [[7], [11]]


def test_percentages_hold_the_truth_and_can_be_stored() -> None:
    rows = {"ill": [True] * 300 + [False] * 700, "cost": [2.0] * 1000}
    visits = cl.table(pa.table(rows), schema=cl.Schema(ill=cl.Boolean(), cost=cl.Real(0, 10)), name="visits")
    session = cl.Session(visits, budget=cl.PureDP(epsilon=1000), source=Seeded(108))
    share = "ROUND(100.0 * COUNT(*) FILTER (WHERE ill) / COUNT(*), 1) AS share"
    text = f"SELECT {share}, SUM(cost) / COUNT(*) AS each FROM visits"
    missed = 0
    for run in range(60):
        release = session.sql(text, epsilon=1)
        if run == 0:
            session._context.engine = Remembering(session._context.engine)  # type: ignore[arg-type] # it is open
        (row,) = release.to_arrow(level=0.9).to_pylist()
        missed += not row["share_low"] <= 30 <= row["share_high"]
        missed += not row["each_low"] <= 2 <= row["each_high"]
    assert missed <= 12  # of 120; with a seed
    again = release_from_json(release_to_json(release))
    assert again.to_arrow(level=0.9).to_pylist() == [row]
