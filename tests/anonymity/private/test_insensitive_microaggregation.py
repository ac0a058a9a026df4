"""Insensitive microaggregation: exact sensitivities by brute force, and the unsound variant, which is convicted."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.anonymity.masking.microaggregation.mdav_kernels import group_by_mdav
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.private import InsensitiveMicroaggregation
from celosia.anonymity.private.insensitive_microaggregation import sum_groups
from celosia.audit import distinguish
from celosia.core import ComposedEvent, LaplaceEvent, PureDP, Release, ReplaceOne
from celosia.core.errors import CelosiaError
from celosia.mechanisms import Laplace
from celosia.noise import Seeded
from celosia.testing import check_mechanism


def read(columns: dict[str, Any], **roles: Any) -> Microdata:
    names = [name for name in columns if name not in itertools.chain.from_iterable(roles.values())]
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=names, **roles))


def measure(step: InsensitiveMicroaggregation, rows: Any, name: str) -> list[int]:
    """The exact sums that a column's noise is added to."""
    steps = {each: np.array(values) for each, values in zip(step.schema, zip(*rows, strict=True), strict=True)}
    return list(map(int, sum_groups(steps[name], step._sort(steps, name), step.size_groups(len(rows)))))


@pytest.mark.parametrize(("count", "k"), [(4, 2), (5, 2), (6, 3), (6, 1), (5, 3), (3, 5)])
def test_one_column_moves_by_one_range_at_most(count: int, k: int) -> None:
    """All tables of four values and all their neighbours; the bound is reached."""
    if count < k:
        with pytest.raises(CelosiaError, match="fewer than k=5"):
            InsensitiveMicroaggregation(schema={"x": cl.Integer(0, 3, null=0)}, k=k, epsilon=1).event_for(count)
        return
    step = InsensitiveMicroaggregation(schema={"x": cl.Integer(0, 3, null=0)}, k=k, epsilon=1)
    sums = {
        table: measure(step, [(value,) for value in table], "x") for table in itertools.product(range(4), repeat=count)
    }
    worst = 0
    for table, found in sums.items():
        for place, value in itertools.product(range(count), range(4)):
            other = sums[(*table[:place], value, *table[place + 1 :])]
            worst = max(worst, sum(abs(a - b) for a, b in zip(found, other, strict=True)))
    event = step.event_for(count)
    assert isinstance(event, LaplaceEvent)
    assert worst == event.sensitivity == 3


def test_columns_of_a_common_order_move_by_a_range_for_each_group() -> None:
    """All tables of five records of two bits, and all their neighbours; both bounds are reached."""
    schema = {"x": cl.Integer(0, 1, null=0), "y": cl.Integer(0, 1, null=0)}
    step = InsensitiveMicroaggregation(schema=schema, k=2, epsilon=1, order="x")
    records = list(itertools.product((0, 1), repeat=2))
    event = step.event_for(5)
    assert isinstance(event, ComposedEvent)
    for name, part in zip(schema, event.events, strict=True):
        sums = {table: measure(step, list(table), name) for table in itertools.product(records, repeat=5)}
        worst = 0
        for table, found in sums.items():
            for place, value in itertools.product(range(5), records):
                other = sums[(*table[:place], value, *table[place + 1 :])]
                worst = max(worst, sum(abs(a - b) for a, b in zip(found, other, strict=True)))
        assert isinstance(part, LaplaceEvent)
        assert worst == part.sensitivity == {"x": 1, "y": 2}[name]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=4, max_size=30),
    st.integers(0, 10**6),
    st.tuples(st.integers(0, 50), st.integers(0, 9)),
    st.integers(1, 4),
    st.sampled_from([None, "x", "y"]),
)
def test_neighbours_stay_within_the_stated_sensitivity(
    rows: list[tuple[int, int]], place: int, other: tuple[int, int], k: int, order: str | None
) -> None:
    schema = {"x": cl.Integer(0, 50, null=0), "y": cl.Integer(0, 9, null=0)}
    step = InsensitiveMicroaggregation(schema=schema, k=k, epsilon=2, order=order)
    changed = list(rows)
    changed[place % len(rows)] = other
    event = step.event_for(len(rows))
    assert isinstance(event, ComposedEvent)
    for name, part in zip(schema, event.events, strict=True):
        gap = sum(abs(a - b) for a, b in zip(measure(step, rows, name), measure(step, changed, name), strict=True))
        assert isinstance(part, LaplaceEvent)
        assert gap <= part.sensitivity
        assert part.sensitivity / part.scale == 1  # half of epsilon


def test_it_states_what_it_runs() -> None:
    schema: dict[str, cl.Integer | cl.Real] = {"x": cl.Integer(0, 100, null=0), "y": cl.Real(0, 1, grid="0.01", null=0)}
    step = InsensitiveMicroaggregation(schema=schema, k=10, epsilon="0.5", order="x", unit="visit")
    scope = {"dimension": 3, "adjacency": ReplaceOne, "unit": "visit"}
    parts = (LaplaceEvent(scale=400, sensitivity=100, **scope), LaplaceEvent(scale=1200, sensitivity=300, **scope))  # type: ignore[arg-type]
    assert step.event_for(35) == ComposedEvent(events=parts)
    assert step.guarantee == PureDP(epsilon="0.5", adjacency=ReplaceOne, unit="visit")
    assert step.compute_scales(35) == {"x": 40.0, "y": 1.2}
    assert step.size_groups(35).tolist() == [11, 12, 12]
    made = step.release(read({"x": list(range(35)), "y": [0.5] * 35}), source=Seeded(1))
    assert (made.event, made.guarantee, made.seeded) == (step.event_for(35), step.guarantee, True)


@dataclass
class Adapter:
    """The step as a mechanism from a column to the sorted released values."""

    step: InsensitiveMicroaggregation
    count: int

    @property
    def event(self) -> Any:
        return self.step.event_for(self.count)

    @property
    def guarantee(self) -> Any:
        return self.step.guarantee

    def release(self, value: Any, /, *, source: Any = None) -> Release[Any]:
        made = self.step.release(read({"x": np.asarray(value)}), source=source)
        found = np.sort(made.data.get_numbers("x"))
        return Release(value=found, event=made.event, guarantee=made.guarantee, seeded=made.seeded)


def test_the_conformance_kit_finds_nothing() -> None:
    step = InsensitiveMicroaggregation(schema={"x": cl.Integer(0, 4, null=0)}, k=2, epsilon=2)
    neighbours = [([0, 0, 2, 4, 4], [0, 0, 2, 4, 0]), ([0, 1, 2, 3, 4], [4, 1, 2, 3, 4])]
    check_mechanism(Adapter(step, 5), neighbours, samples=500, processes=2)


# ------------------------------------------------------------------------------------------------- the unsound variant


def list_mdav_sums(rows: list[tuple[int, int]], k: int) -> Any:
    """Sums of both columns over MDAV groups, in the order of the sums."""
    points = np.array(sorted(rows), dtype=np.float64)
    groups = group_by_mdav(points, k)
    sums = np.stack([np.bincount(groups, weights=column) for column in points.T], axis=1).astype(np.int64)
    return sums[np.lexsort(sums.T[::-1])]


def find_worst_neighbours(count: int, k: int, top: int) -> tuple[int, Any, Any]:
    """The neighbours whose MDAV sums are farthest apart, among seeded random tables."""
    lot = np.random.default_rng(1)
    best: tuple[int, Any, Any] = (0, [], [])
    for _ in range(1000):
        table = [tuple(row) for row in lot.integers(0, top + 1, (count, 2)).tolist()]
        other = [tuple((lot.integers(0, 2, 2) * top).tolist()), *table[1:]]
        gap = int(np.abs(list_mdav_sums(table, k) - list_mdav_sums(other, k)).sum())
        best = max(best, (gap, table, other))
    return best


def test_noise_of_one_range_on_mdav_sums_is_convicted() -> None:
    """MDAV regroups if one record changes: its sums move by many ranges, and noise for one a column is not private."""
    top, k, epsilon = 20, 3, Fraction(1)
    gap, table, other = find_worst_neighbours(30, k, top)
    claimed = 2 * top  # a range for each of two columns, which is what noise of R/k on the centers would hide
    assert gap > 3 * claimed  # exactly: the privacy loss of the Laplace noise is gap / claimed times epsilon
    noise = Laplace(epsilon=epsilon, sensitivity=claimed, adjacency=ReplaceOne)
    one, two = list_mdav_sums(table, k), list_mdav_sums(other, k)

    def run(rows: Any, count: int, source: Any) -> Any:
        return noise.release(np.tile(list_mdav_sums(rows, k), (count, 1, 1)), source=source).value

    def is_nearer(drawn: Any) -> Any:
        return np.abs(drawn - one).sum(axis=(1, 2)) < np.abs(drawn - two).sum(axis=(1, 2))

    found = distinguish(run, table, other, samples=40_000, events={"nearer to the first": is_nearer})
    assert found.epsilon > float(epsilon)

    schema = {"x": cl.Integer(0, top, null=0), "y": cl.Integer(0, top, null=0)}
    step = InsensitiveMicroaggregation(schema=schema, k=k, epsilon=1)
    assert (
        sum(
            abs(a - b)
            for name in schema
            for a, b in zip(measure(step, table, name), measure(step, other, name), strict=True)
        )
        <= claimed
    )

    def run_soundly(rows: Any, count: int, source: Any) -> Any:
        sums = np.array([measure(step, rows, name) for name in schema])
        return noise.release(np.tile(sums, (count, 1, 1)), source=source).value.reshape(count, -1)

    assert distinguish(run_soundly, table, other, samples=20_000).epsilon <= float(epsilon)


# --------------------------------------------------------------------------------------------------------- the released


def test_centers_are_near_the_truth_and_in_bounds() -> None:
    lot = np.random.default_rng(3)
    age = lot.integers(0, 100, 5000)
    step = InsensitiveMicroaggregation(schema={"age": cl.Integer(0, 100, null=0)}, k=500, epsilon=1)
    made = step.release(read({"age": age, "name": np.arange(5000)}, identifiers=["name"]), source=Seeded(2)).data
    assert len(made) == 5000
    released = made.get_numbers("age")
    assert 0 <= released.min() <= released.max() <= 100
    assert np.quantile(released, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(age, [0.1, 0.5, 0.9]), abs=8)
    assert made.table.column_names == ["age"]
    assert made.roles.identifiers == ()


def test_a_common_order_keeps_relations() -> None:
    lot = np.random.default_rng(4)
    age = lot.integers(0, 100, 20_000)
    pay = np.clip(age * 10 + lot.integers(-100, 100, 20_000), 0, 1000)
    schema = {"age": cl.Integer(0, 100, null=0), "pay": cl.Integer(0, 1000, null=0)}
    data = read({"age": age, "pay": pay})
    for order, low, high in (("age", 0.9, 1.0), (None, -0.1, 0.1)):
        step = InsensitiveMicroaggregation(schema=schema, k=2000, epsilon=2, order=order)
        made = step.release(data, source=Seeded(5)).data
        assert low < np.corrcoef(made.get_numbers("age"), made.get_numbers("pay"))[0, 1] < high


def test_nulls_and_outliers_follow_the_schema_and_the_order_of_rows_does_not_matter() -> None:
    step = InsensitiveMicroaggregation(schema={"x": cl.Real(0, 10, grid=1, null=5)}, k=2, epsilon=1000)
    values = [None, float("nan"), float("inf"), -1e300, 99.0, 5.4]
    made = [
        step.release(read({"x": pa.array(found, pa.float64())}), source=Seeded(6)).data
        for found in (values, values[::-1])
    ]
    assert made[0].table.equals(made[1].table)
    assert sorted(np.round(made[0].get_numbers("x"), 1)) == [2.5, 2.5, 5.0, 5.0, 7.5, 7.5]


def test_a_budget_pays_before_data_are_read() -> None:
    data = read({"x": [1, 2, 3, 4]})
    step = InsensitiveMicroaggregation(schema={"x": cl.Integer(0, 9, null=0)}, k=2, epsilon="0.4")
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon=1, adjacency=ReplaceOne), dataset="d")
    account = ledger.account("d", "ana")
    step.release(data, budget=account)
    assert account.remaining == PureDP(epsilon="0.6", adjacency=ReplaceOne)
    assert account.history[0].state == "committed"
    assert "Insensitive microaggregation of x" in account.history[0].question
    with pytest.raises(CelosiaError) as caught:
        step.release(data, budget=account, source=Seeded(1))
    assert caught.value.code == "anonymity_private.repeatable_noise_in_ledger"
    step.release(data, budget=account)
    with pytest.raises(cl.core.errors.BudgetExceededError):
        step.release(data, budget=account)
    assert len(account.history) == 2


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"schema": {}}, "anonymity_private.schema_not_a_mapping"),
        ({"schema": {"x": cl.Category("a")}}, "anonymity_private.kind_not_supported"),
        ({"schema": {"x": cl.Integer(0, 9)}}, "anonymity_private.null_rule_missing"),
        ({"order": "y"}, "anonymity_private.order_not_declared"),
        ({"k": 0}, "core.below_minimum"),
        ({"epsilon": 0}, "core.not_positive"),
        ({"k": 5}, "anonymity_private.too_few_records"),
        ({"schema": {"z": cl.Integer(0, 9, null=0)}}, "anonymity.unknown_column"),
        ({"schema": {"t": cl.Integer(0, 9, null=0)}}, "anonymity_private.type_not_of_kind"),
        ({"schema": {"name": cl.Integer(0, 9, null=0)}}, "anonymity_private.role_not_released"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_paid(fields: dict[str, Any], code: str) -> None:
    data = read({"x": [1, 2, 3], "t": list("abc"), "name": [7, 8, 9]}, identifiers=["name"])
    account = cl.ledger.InMemoryBudget(cl.PureDP(epsilon=10, adjacency=ReplaceOne))
    with pytest.raises(CelosiaError) as caught:
        InsensitiveMicroaggregation(
            **{"schema": {"x": cl.Integer(0, 9, null=0)}, "k": 2, "epsilon": 1, **fields}
        ).release(data, budget=account)
    assert caught.value.code == code
    assert account.history == ()
    assert math.isclose(float(account.remaining.epsilon), 10)  # type: ignore[attr-defined]
