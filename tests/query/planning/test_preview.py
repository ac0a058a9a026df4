"""Previews tell cost, mechanism, error, bounds and reasons, spend nothing, and look at nothing."""

from __future__ import annotations

import dataclasses
import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.query import context as desk_module
from tests.query.samples import FULL, Pretending, asking, persons_table, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.query.builder import Query
    from celosia.query.planning.preview import Preview

ASKED: list[Callable[[Query], Query]] = [
    lambda q: q.count(),
    lambda q: q.group_by("sex").count().mean("age"),
    lambda q: q.where("age < 18").median("weight"),
    lambda q: q.group_by("town").count_persons().mode("risk"),
    lambda q: q.correlation("age", "weight").variance("age").top_k("sex", 1),
    lambda q: q.histogram("age", [0, 60, 120]).having("count > 3").order_by("count").limit(1),
]


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening an engine is an error."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a preview opened the data")

    monkeypatch.setattr(desk_module, "open_engine", refuse)


@pytest.mark.usefixtures("blind")
def test_a_preview_spends_nothing_and_reads_nothing() -> None:
    table_cases: list[Any] = [rows_table(), persons_table()]
    for asked, table in product(ASKED, table_cases):
        session = asking(dataclasses.replace(table, source=None))
        before = session.remaining
        preview = asked(session.query()).preview(epsilon="0.5", rows=1000)
        assert session.remaining == before
        assert session.history == ()
        assert preview.cost.epsilon == cl.PureDP(epsilon="0.5").epsilon  # type: ignore[attr-defined]
        assert {line.name for line in preview.lines} == {a.name for a in asked(session.query()).plan.aggregates}
        assert all(line.error is not None and line.error > 0 for line in preview.lines)
        assert json.loads(json.dumps(preview.to_dict()))["affordable"] is True


def preview_of(asked: Callable[[Query], Query], table: Any = None, **target: Any) -> Preview:
    session = asking(*(() if table is None else (table,)))
    return asked(session.query()).preview(**(target or {"epsilon": 1}))


def test_it_names_the_mechanism_of_each_aggregate() -> None:
    lines = preview_of(lambda q: q.count().median("age").mode("sex"), rows_table(schema=FULL)).lines
    assert [line.mechanism.split(" ")[0] for line in lines] == ["Laplace", "exponential", "permute-and-flip"]
    assert [line.unit for line in lines] == ["value", "rank", "rank"]
    many = persons_table(groups=50, rows=1)
    (line,) = preview_of(lambda q: q.group_by("age").count(), many).lines
    assert line.mechanism.startswith("Gaussian noise of standard deviation")
    zero = asking(rows_table(), budget=cl.ZCDP(rho=1)).query().mode("sex").preview(rho="0.1")
    assert zero.lines[0].mechanism == "exponential choice among 2 candidates"


def test_the_error_of_a_count_is_that_of_its_noise() -> None:
    (line,) = preview_of(lambda q: q.count(), epsilon="0.5").lines
    assert (line.mechanism, line.error) == ("Laplace noise of scale 2", 6.0)


def test_the_error_of_a_mean_needs_a_guess() -> None:
    (line,) = preview_of(lambda q: q.mean("age")).lines
    assert line.error is None
    assert "give rows=" in str(preview_of(lambda q: q.mean("age")))
    (guessed,) = preview_of(lambda q: q.mean("age"), epsilon=1, rows=10_000).lines
    (public,) = preview_of(lambda q: q.mean("age"), rows_table(schema=FULL, adjacency=ReplaceOne)).lines
    assert guessed.error is not None
    assert guessed.error < 1
    assert public.error is None


def test_derived_columns_are_shown_with_their_bounds() -> None:
    preview = preview_of(lambda q: q.mean("2 * age - 5").sum("age / (weight + 1)"))
    assert dict(preview.bounds)["2 * age - 5"] == "Integer(-5, 235)"
    assert dict(preview.bounds)["age / (weight + 1)"].startswith("Real(0, 120")
    assert "2 * age - 5 is Integer(-5, 235)" in str(preview)


def test_a_median_is_explained() -> None:
    notes = " ".join(preview_of(lambda q: q.median("age")).notes)
    assert "Laplace noise would be hopeless" in notes
    assert "Laplace" not in " ".join(preview_of(lambda q: q.mode("sex")).notes)


def test_private_keys_and_bounded_persons_are_explained() -> None:
    notes = " ".join(preview_of(lambda q: q.group_by("town").count(), persons_table()).notes)
    assert "Keys are private" in notes
    assert "at most 3 rows in each of at most 2 cells" in notes
    assert "The limits may cut off more" in notes
    assert preview_of(lambda q: q.group_by("town").count()).cells is None
    assert "private keys" in str(preview_of(lambda q: q.group_by("town").count()))


def test_aggregates_that_share_a_measurement_are_named() -> None:
    preview = preview_of(lambda q: q.count().mean("weight"))
    assert any("come from one measurement" in note for note in preview.notes)
    assert preview.lines[0].share == preview.lines[1].share == 1


def test_aggregates_come_in_the_order_of_the_query() -> None:
    preview = preview_of(lambda q: q.median("age").count().mode("sex").mean("age"))
    assert [line.name for line in preview.lines] == ["median_age", "count", "mode_sex", "mean_age"]


def test_what_does_not_fit_is_shown_and_refused() -> None:
    session = asking(budget=cl.PureDP(epsilon=1))
    preview = session.query().count().preview(epsilon=2)
    assert not preview.affordable
    assert preview.cost == cl.PureDP(epsilon=2)
    assert "DOES NOT FIT" in str(preview)


def test_wrong_levels_and_guesses_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"level": 1},
        {"level": "much"},
        {"rows": -1},
        {"rows": "many"},
        {"rows": float("nan")},
    ]
    for wrong in cases:
        with pytest.raises(ParameterError):
            asking().query().mean("age").preview(epsilon=1, **wrong)


@settings(max_examples=50)
@given(st.sampled_from(ASKED), st.integers(1, 40).map(lambda n: n / 8))
def test_the_cost_of_a_preview_is_what_is_paid(asked: Any, epsilon: float) -> None:
    """Through an engine that pretends: what it says is of no matter here."""
    session = asking(budget=cl.ApproxDP(epsilon=100, delta="1e-4"), engine=Pretending(keys={("A",): 10**9}))
    query = asked(session.query())
    preview = query.preview(epsilon=epsilon)
    release = query.release(epsilon=epsilon)
    assert preview.cost == release.guarantee
    assert session.spent <= preview.cost  # divergences may leave more than the sum
    assert session.history[0].cost == preview.cost


def test_errors_of_persons_are_called_those_of_the_noise() -> None:
    assert "; noise within ±" in str(preview_of(lambda q: q.count(), persons_table()))
    assert "noise within" not in str(preview_of(lambda q: q.count()))


def test_it_says_where_limits_can_cut_something_off() -> None:
    cut = "The limits may cut off more: the true number can lie outside the noise interval."
    whole = "SELECT AVG(n) FROM (SELECT who, CLIP(COUNT(*), 0, 9) AS n FROM deaths GROUP BY who)"
    session = asking(persons_table(groups=2, rows=3))
    for query, expected in (
        (session.query().count(), True),
        (session.query().median("age"), True),
        (session.query().group_by("risk").count_persons(), True),
        (session.query().group_by("sex").count_persons(), False),  # two groups, and both count
        (session.query().count_persons(), False),
        (session.query().count_persons().count(), True),
        (session.sql(whole), False),
    ):
        assert (cut in query.preview(epsilon=1).notes) is expected
    assert cut not in asking().query().count().preview(epsilon=1).notes


def test_it_names_the_columns_that_are_clipped() -> None:
    def clipped(make: Any) -> list[str]:
        return [note for note in preview_of(make).notes if "moved to them first" in note]

    assert clipped(lambda q: q.mean("age + weight").count()) == [
        "Values beyond their bounds are moved to them first (age, weight): intervals are for the values inside."
    ]
    for make in (lambda q: q.count(), lambda q: q.count("age"), lambda q: q.mean("alive"), lambda q: q.mode("sex")):
        assert clipped(make) == []
