"""Records from noisy counts: exact sensitivity, event, and what is drawn."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import celosia as cl
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.private import NoisyHistogramSampling
from celosia.anonymity.private.noisy_histogram import fit_total
from celosia.core import AddRemove, LaplaceEvent, PureDP, Release, ReplaceOne
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded
from celosia.testing import check_mechanism

SCHEMA = {
    "sex": cl.Category("F", "M"),
    "age": cl.Integer(0, 99),
    "pay": cl.Real(0, 1, grid="0.01", null=0),
    "code": cl.Category(7, 3, null=3),
    "own": cl.Boolean(),
}
BINS = {"age": 3, "pay": 4}
records = st.tuples(
    st.sampled_from(["F", "M", "other", None]),
    st.one_of(st.none(), st.integers(-5, 130)),
    st.one_of(st.none(), st.floats(-1, 2), st.just(float("nan"))),
    st.one_of(st.none(), st.integers(1, 8)),
    st.one_of(st.none(), st.booleans()),
)
TYPES = [pa.string(), pa.int64(), pa.float64(), pa.int64(), pa.bool_()]


def read(rows: list[tuple[Any, ...]]) -> Microdata:
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(TYPES)]
    roles = Roles(quasi_identifiers=["sex", "age"], sensitive=["pay"], others=["code", "own"])
    return read_microdata(pa.table(dict(zip(SCHEMA, columns, strict=True))), roles=roles)


def place_plainly(record: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The cell of a record by the definition of its kinds; None if it is left out."""
    sex, age, pay, code, own = record
    if sex not in ("F", "M") or age is None or own is None:
        return None
    age = min(max(age, 0), 99)
    pay = 0.0 if pay is None or pay != pay else min(max(pay, 0.0), 1.0)  # noqa: PLR0124 - NaN
    steps = int(np.floor(pay / 0.01 + 0.5))
    lows = [place * 101 // 4 for place in range(4)]
    return (
        "FM".index(sex),
        max(place for place in range(3) if place * 100 // 3 <= age),
        max(place for place in range(4) if lows[place] <= steps),
        [7, 3].index(code) if code in (7, 3) else 1,
        int(own),
    )


@given(st.lists(records, min_size=1, max_size=30))
def test_cells_are_those_of_the_declared_kinds(rows: list[tuple[Any, ...]]) -> None:
    step = NoisyHistogramSampling(schema=SCHEMA, epsilon=1, bins=BINS)
    counts = step.count_cells(read(rows)).reshape(2, 3, 4, 2, 2)
    expected = Counter(cell for cell in map(place_plainly, rows) if cell is not None)
    assert {tuple(map(int, cell)): int(counts[tuple(cell)]) for cell in np.argwhere(counts)} == dict(expected)


@given(
    st.lists(records, min_size=2, max_size=12),
    records,
    st.sampled_from([None, [["sex", "age"], ["pay", "code"], ["own"]]]),
)
def test_neighbours_move_counts_by_the_stated_sensitivity(
    rows: list[tuple[Any, ...]], other: tuple[Any, ...], marginals: Any
) -> None:
    for adjacency, neighbour in ((AddRemove, rows[:-1]), (ReplaceOne, [*rows[:-1], other])):
        step = NoisyHistogramSampling(schema=SCHEMA, epsilon="0.5", bins=BINS, marginals=marginals, adjacency=adjacency)
        gap = int(np.abs(step.count_cells(read(rows)) - step.count_cells(read(neighbour))).sum())
        assert isinstance(step.event, LaplaceEvent)
        assert gap <= step.event.sensitivity
        assert step.event.sensitivity == (1 if adjacency is AddRemove else 2) * (1 if marginals is None else 3)
        assert step.event.sensitivity / step.event.scale == 0.5
        assert step.guarantee == PureDP(epsilon="0.5", adjacency=adjacency)
        assert step.event.dimension == (96 if marginals is None else 6 + 8 + 2)


def test_replacing_a_record_reaches_the_bound() -> None:
    step = NoisyHistogramSampling(schema={"sex": cl.Category("F", "M")}, epsilon=1, adjacency=ReplaceOne)
    frames = [pa.table({"sex": list(text)}) for text in ("FF", "FM")]
    counts = [step.count_cells(read_microdata(each, roles=Roles(others=["sex"]))) for each in frames]
    assert np.abs(counts[0] - counts[1]).sum() == 2


@given(st.lists(st.integers(-6, 12), min_size=1, max_size=12), st.integers(1, 40))
def test_fitted_counts_take_the_least_whole_number_from_all(noisy: list[int], total: int) -> None:
    found = fit_total(np.array(noisy), total).tolist()
    positive = [max(value, 0) for value in noisy]
    shift = next(shift for shift in itertools.count() if sum(max(value - shift, 0) for value in positive) <= total)
    expected = [max(value - shift, 0) for value in positive]
    assert found == (expected if any(expected) else [1] * len(noisy))


def test_many_records_keep_their_joint_distribution() -> None:
    lot = np.random.default_rng(2)
    age = lot.integers(0, 100, 50_000)
    sex = np.where(lot.random(50_000) < age / 100, "F", "M")
    frame = pa.table({"sex": sex, "age": age, "name": np.arange(50_000)})
    data = read_microdata(frame, roles=Roles(identifiers=["name"], quasi_identifiers=["sex", "age"]))
    schema = {"sex": cl.Category("F", "M"), "age": cl.Integer(0, 99)}
    made = NoisyHistogramSampling(schema=schema, epsilon=1, bins={"age": 10}).release(data, source=Seeded(3))
    assert made.data.table.column_names == ["sex", "age"]
    assert made.data.roles == Roles(quasi_identifiers=["sex", "age"])
    assert abs(len(made.data) - 50_000) < 100
    drawn = made.data.get_numbers("age")
    assert stats.ks_2samp(drawn, age).pvalue > 1e-6
    assert made.data.table.column("sex").to_pylist().count("F") == pytest.approx((sex == "F").sum(), abs=1500)
    for low in range(0, 100, 10):
        inside = (drawn >= low) & (drawn < low + 10)
        share = np.mean(np.array(made.data.table.column("sex").to_pylist())[inside] == "F")
        assert share == pytest.approx(low / 100 + 0.045, abs=0.05)


def test_empty_cells_do_not_swallow_the_records() -> None:
    frame = pa.table({"x": np.zeros(2000, dtype=int)})
    data = read_microdata(frame, roles=Roles(others=["x"]))
    made = NoisyHistogramSampling(schema={"x": cl.Integer(0, 9999)}, epsilon=1, records=1000).release(
        data, source=Seeded(4)
    )
    assert (made.data.get_numbers("x") == 0).sum() > 600  # setting negative counts to 0 alone would leave 250


def test_marginals_are_independent_and_each_is_kept() -> None:
    values = np.arange(20_000) % 4
    data = read_microdata(pa.table({"a": values, "b": values}), roles=Roles(others=["a", "b"]))
    schema = {"a": cl.Integer(0, 3), "b": cl.Integer(0, 3)}
    step = NoisyHistogramSampling(schema=schema, epsilon=1, marginals=[["a"], ["b"]])
    made = step.release(data, source=Seeded(5)).data
    assert abs(np.corrcoef(made.get_numbers("a"), made.get_numbers("b"))[0, 1]) < 0.05
    assert np.bincount(made.get_numbers("b").astype(int)) == pytest.approx([5000] * 4, rel=0.1)
    joint = NoisyHistogramSampling(schema=schema, epsilon=1).release(data, source=Seeded(5)).data
    assert np.corrcoef(joint.get_numbers("a"), joint.get_numbers("b"))[0, 1] > 0.99


def test_values_of_a_bin_are_uniform_and_of_the_kind() -> None:
    step = NoisyHistogramSampling(schema=SCHEMA, epsilon=5, bins=BINS, records=30_000)
    made = step.release(read([("F", 50, 0.3, 7, True)] * 50), source=Seeded(6)).data.table
    assert [str(kind) for kind in made.schema.types] == ["string", "int64", "double", "int64", "bool"]
    age = made.column("age").to_numpy()
    inside = age[(age >= 33) & (age < 66)] - 33
    assert stats.chisquare(np.bincount(inside, minlength=33)).pvalue > 1e-6
    assert 0 <= made.column("pay").to_numpy().min() <= made.column("pay").to_numpy().max() <= 1


@dataclass
class Adapter:
    """The step as a mechanism from a column of bits to the numbers of records drawn."""

    step: NoisyHistogramSampling

    @property
    def event(self) -> Any:
        return self.step.event

    @property
    def guarantee(self) -> Any:
        return self.step.guarantee

    def release(self, value: Any, /, *, source: Any = None) -> Release[Any]:
        frame = pa.table({"x": np.asarray(value)})
        made = self.step.release(read_microdata(frame, roles=Roles(others=["x"])), source=source)
        counts = np.bincount(made.data.get_numbers("x").astype(int), minlength=3).astype(np.int64)
        return Release(value=counts, event=made.event, guarantee=made.guarantee, seeded=made.seeded)


def test_the_conformance_kit_finds_nothing() -> None:
    step = NoisyHistogramSampling(schema={"x": cl.Integer(0, 2)}, epsilon=2, records=200, adjacency=ReplaceOne)
    check_mechanism(Adapter(step), [([0, 0, 1], [0, 0, 2])], samples=500, processes=2)


def test_a_ledger_pays() -> None:
    data = read([("F", 50, 0.3, 7, True)] * 5)
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon=1), dataset="d")
    step = NoisyHistogramSampling(schema={"sex": SCHEMA["sex"]}, epsilon="0.7")
    step.release(data, budget=ledger.account("d"))
    assert ledger.account("d").remaining == PureDP(epsilon="0.3")
    with pytest.raises(cl.core.errors.BudgetExceededError):
        step.release(data, budget=ledger.account("d"))


class Broken:
    """A source that fails when it is asked."""

    seeded = False

    def word(self) -> int:
        raise RuntimeError("secret value")

    def words(self, count: int) -> Any:  # noqa: ARG002 - the protocol of a source
        raise RuntimeError("secret value")


def test_a_failure_stays_paid_and_quotes_nothing() -> None:
    account = cl.ledger.InMemoryBudget(cl.PureDP(epsilon=1))
    step = NoisyHistogramSampling(schema={"sex": SCHEMA["sex"]}, epsilon="0.7")
    with pytest.raises(cl.core.errors.EngineError) as caught:
        step.release(read([("F", 50, 0.3, 7, True)]), budget=account, source=Broken())
    assert caught.value.code == "anonymity_private.failed_but_paid"
    assert "secret" not in str(caught.value)
    assert account.remaining == PureDP(epsilon="0.3")
    assert account.history[0].state == "failed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"schema": {"pay": cl.Real(0, 1)}}, "anonymity_private.bins_missing"),
        ({"schema": {"t": cl.Text()}}, "anonymity_private.kind_not_supported"),
        ({"bins": {"sex": 2}}, "anonymity_private.bins_of_other_column"),
        ({"bins": {"age": 101}}, "anonymity_private.more_bins_than_values"),
        ({"marginals": [["sex"]]}, "anonymity_private.marginals_not_a_partition"),
        ({"marginals": [["sex", "age"], ["age"]]}, "anonymity_private.marginals_not_a_partition"),
        ({"schema": {"age": cl.Integer(0, 10**7)}}, "anonymity_private.too_many_cells"),
        ({"records": 0}, "core.below_minimum"),
        ({"schema": {"gone": cl.Boolean()}}, "anonymity.unknown_column"),
        ({"schema": {"age": cl.Category("a")}}, "anonymity_private.type_not_of_kind"),
        ({"schema": {"sex": cl.Integer(0, 1)}}, "anonymity_private.type_not_of_kind"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_paid(fields: dict[str, Any], code: str) -> None:
    account = cl.ledger.InMemoryBudget(cl.PureDP(epsilon=10))
    schema = {"sex": SCHEMA["sex"], "age": SCHEMA["age"]}
    with pytest.raises(CelosiaError) as caught:
        NoisyHistogramSampling(**{"schema": schema, "epsilon": 1, **fields}).release(
            read([("F", 50, 0.3, 7, True)]), budget=account
        )
    assert caught.value.code == code
    assert account.history == ()
