"""Ranges are never too low and seldom much too high; quantiles and frequent values follow from them."""

from __future__ import annotations

import math
import struct
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import FormatError, InputError, ParameterError
from celosia.sketches.frequency.dyadic import DyadicCountMin
from celosia.sketches.hashing.digest import digest_bytes
from tests.sketches.frequencies import too_many

LOW, HIGH = -1_000, 50_000
FAILURE = 0.2
TRIALS = 150
few = settings(max_examples=25)
streams = st.lists(st.tuples(st.integers(-4, 60), st.integers(-9, 9)), max_size=20)
Stream = list[tuple[int, int]]


def values(seed: int, size: int = 3_000) -> Any:
    return np.clip(np.random.default_rng(seed).normal(20_000, 5_000, size), LOW, HIGH).astype(np.int64)


def exact(numbers: Any, low: int, high: int) -> int:
    return int(np.count_nonzero((numbers >= low) & (numbers <= high)))


def small(*parts: Stream) -> DyadicCountMin:
    made = DyadicCountMin(-4, 60, rows=2, width=5, seed=3)
    for part in parts:
        made.update([value for value, _ in part], [weight for _, weight in part])
    return made


def misses(rows: int, width: int, claimed: DyadicCountMin) -> int:
    numbers = values(1)
    margin = claimed.relative_error(FAILURE) * numbers.size
    found = 0
    for trial in range(TRIALS):
        sketch = DyadicCountMin(LOW, HIGH, rows=rows, width=width, seed=trial)
        sketch.update(numbers)
        low, high = sorted(np.random.default_rng(trial).integers(LOW, HIGH + 1, 2).tolist())
        error = int(sketch.range(low, high)[0]) - exact(numbers, low, high)
        assert error >= 0
        found += error > margin
    return found


def test_ranges_are_seldom_too_high() -> None:
    assert not too_many(misses(2, 150, DyadicCountMin(LOW, HIGH, rows=2, width=150)), TRIALS, FAILURE)


def test_a_tenth_of_the_width_would_be_seen() -> None:
    assert too_many(misses(2, 15, DyadicCountMin(LOW, HIGH, rows=2, width=150)), TRIALS, FAILURE)


def test_wide_tables_are_exact() -> None:
    numbers = values(2)
    sketch = DyadicCountMin(LOW, HIGH, rows=4, width=1 << 12, seed=1)
    assert sketch.levels == 2
    sketch.update(numbers)
    generator = np.random.default_rng(3)
    lows, highs = generator.integers(LOW, HIGH + 1, (2, 300))
    expected = [exact(numbers, low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    assert np.mean(sketch.range(lows, highs) == expected) > 0.9
    whole = DyadicCountMin(LOW, HIGH, rows=1, width=1 << 16)
    whole.update(numbers)
    assert whole.levels == 0
    assert whole.relative_error(0.01) == 0
    assert whole.range(lows, highs).tolist() == expected
    ranks = ["0", "0.1", "0.5", "0.99", "1"]
    expected = np.quantile(numbers, [float(rank) for rank in ranks], method="inverted_cdf").tolist()
    assert whole.quantile(ranks).tolist() == expected


def test_quantiles_have_ranks_near_to_what_was_asked() -> None:
    numbers = values(4)
    sketch = DyadicCountMin.suggest("0.02", "0.001", low=LOW, high=HIGH, seed=2)
    assert sketch.levels > 0
    sketch.update(numbers)
    for share in (0.01, 0.25, 0.5, 0.75, 0.99):
        found = int(sketch.quantile([share])[0])
        assert exact(numbers, LOW, found - 1) / numbers.size - 0.02 <= share
        assert exact(numbers, LOW, found) / numbers.size + 0.02 >= share


def test_frequent_values_are_all_found() -> None:
    numbers = np.concatenate([values(5), np.repeat([7, 7_000, 40_000], [100, 200, 400])])
    sketch = DyadicCountMin.suggest("0.01", "0.001", low=LOW, high=HIGH, seed=2)
    sketch.update(numbers)
    found, counts = sketch.frequent("0.02")
    assert found.tolist() == [40_000, 7_000, 7]
    assert (counts >= [400, 200, 100]).all()
    none, _ = sketch.frequent(1)
    assert none.size == 0


def test_too_many_frequent_values_are_refused() -> None:
    sketch = DyadicCountMin(0, 2**40, rows=1, width=2)
    sketch.update(range(0, 2**40, 2**34))
    with pytest.raises(ParameterError, match="share"):
        sketch.frequent("1e-12")


def test_negative_weights_take_the_median() -> None:
    numbers, weights = values(6), np.random.default_rng(1).integers(-3, 4, 3_000)
    found = 0
    for trial in range(TRIALS):
        sketch = DyadicCountMin(LOW, HIGH, rows=5, width=300, seed=trial)
        sketch.update(numbers, weights)
        low, high = sorted(np.random.default_rng(trial).integers(LOW, HIGH + 1, 2).tolist())
        truth = int(weights[(numbers >= low) & (numbers <= high)].sum())
        found += abs(int(sketch.range(low, high)[0]) - truth) > sketch.relative_error(FAILURE) * sketch.volume
    assert not too_many(found, TRIALS, FAILURE)


@few
@given(streams, streams, streams)
def test_merging(a: Stream, b: Stream, c: Stream) -> None:
    together = small(a, b, c)
    assert small(a).merge(small(b)).merge(small(c)) == together
    assert small(c).merge(small(a).merge(small(b))) == together
    assert small(a + b + c) == together
    other = small(b)
    small(a).merge(other)
    assert other == small(b)


@few
@given(streams)
def test_round_trip(stream: Stream) -> None:
    made = small(stream)
    data = made.serialize()
    back = DyadicCountMin.deserialize(data)
    assert back == made
    assert back.serialize() == data
    assert back.range(-4, 60).tolist() == made.range(-4, 60).tolist()
    back.update([1])
    assert back != made


@few
@given(streams, st.data())
def test_hostile_bytes_are_refused_or_are_a_sketch(stream: Stream, data: st.DataObject) -> None:
    good = small(stream).serialize()
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(good) - 9))] = data.draw(st.integers(0, 255))
    for broken in (good[: data.draw(st.integers(0, len(good) - 1))], good + b"\0"):
        with pytest.raises(FormatError):
            DyadicCountMin.deserialize(broken)
    try:
        back = DyadicCountMin.deserialize(bytes(bad[:-8]) + struct.pack("<Q", digest_bytes(bytes(bad[:-8]))))
    except FormatError:
        return
    assert DyadicCountMin.deserialize(back.serialize()) == back


def check_parameters_that_do_not_fit_are_refused(place: int, field: int) -> None:
    data = bytearray(small([(1, 5)]).serialize())
    struct.pack_into("<Q", data, 8 + 8 * place, field)
    sealed = bytes(data[:-8]) + struct.pack("<Q", digest_bytes(bytes(data[:-8])))
    if place == 4:  # any seed is one
        assert DyadicCountMin.deserialize(sealed).total == 5
        return
    with pytest.raises(FormatError):
        DyadicCountMin.deserialize(sealed)


def test_parameters_that_do_not_fit_are_refused() -> None:
    field_cases: list[int] = [2**64 - 1, 2**63, 2**62, 2**32, 12_346, 0]
    for place, field in product(range(7), field_cases):
        check_parameters_that_do_not_fit_are_refused(place, field)


def test_one_record_changes_as_many_counters_as_stated() -> None:
    made = DyadicCountMin(0, 10_000, rows=3, width=100)
    made.update([77])
    assert sum(int(sketch.counters.sum()) for sketch in made._sketches) == made.levels * 3
    assert made._exact.sum() == 1
    assert made.memory == 8 * (made.levels * 300 + made._exact.size)


@given(st.floats(1e-3, 0.5), st.floats(1e-3, 0.5), st.integers(0, 40))
@few
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float, bits: int) -> None:
    sketch = DyadicCountMin.suggest(error, failure, low=0, high=2**bits - 1)
    assert sketch.relative_error(failure) <= error * (1 + 1e-12)


def test_the_error_is_markovs_for_two_nodes_of_each_level() -> None:
    sketch = DyadicCountMin(0, 2**20 - 1, rows=4, width=1 << 10)
    assert sketch.levels == 8
    assert sketch.relative_error(0.01) == pytest.approx(2 * 8 / 1024 * 0.01**-0.25, rel=1e-5)
    assert math.isclose(sketch.relative_error(0.02), sketch.relative_error(0.32) * 2)


def test_bad_input_leaves_the_state_as_it_was() -> None:
    sketch = small([(1, 2)])
    before = sketch.serialize()
    for bad in (["a"], [61], [-5], [1.5], 7, [1, None], [2**63]):
        with pytest.raises(InputError):
            sketch.update(bad)
    with pytest.raises(InputError, match="weights"):
        sketch.update([1, 2], [1])
    with pytest.raises(InputError, match=r"2\^62"):
        sketch.update([1], 2**62)
    for low, high in ((-5, 0), (0, 61), (0.5, 1), ("a", "b")):
        with pytest.raises(InputError, match=r"lows|highs"):
            sketch.range(low, high)
    for share in (-0.1, 1.1, float("nan"), True):
        with pytest.raises(ParameterError, match="share"):
            sketch.quantile([share])
    for stranger in (DyadicCountMin(-4, 60, rows=2, width=5), DyadicCountMin(-4, 61, rows=2, width=5, seed=3), None):
        with pytest.raises(ParameterError, match="same parameters"):
            sketch.merge(stranger)  # type: ignore[arg-type]
        assert sketch != stranger
    assert sketch.serialize() == before


@pytest.mark.parametrize("weight", [2**62, 2**61, -(2**62)])
def test_sums_of_many_nodes_stay_whole_numbers(weight: int) -> None:
    for seed in range(10):
        sketch = DyadicCountMin(0, 2**60, rows=1, width=2, seed=seed)
        sketch.update([7], weight)
        assert 0 <= sketch.range(1, 2**60 - 5)[0] / weight <= 1
        if weight > 0:
            assert sketch.range(1, 2**60 - 5)[0] == weight


def test_no_frequent_value_is_beyond_the_largest() -> None:
    for seed in range(60):
        sketch = DyadicCountMin(0, 2**20, rows=1, width=16, seed=seed)
        sketch.update([2**20] * 1_000 + list(range(1_000)))
        found, _ = sketch.frequent("0.3")
        assert 2**20 in found
        assert found.max() == 2**20


def test_a_few_bytes_ask_for_little_memory() -> None:
    with pytest.raises(ParameterError, match="rows times width"):
        DyadicCountMin(0, 0, rows=10**12, width=10**12)
    exact = DyadicCountMin(0, 0, rows=2**31, width=2)
    exact.update([0, 0], [5, -1])
    assert DyadicCountMin.deserialize(exact.serialize()).range(0, 0).tolist() == [4]


def test_ranges_must_go_together() -> None:
    cases: list[tuple[Any, Any]] = [([1, 2], [3, 4, 5]), ([[1], [2]], [3]), ([], [1, 2])]
    for lows, highs in cases:
        with pytest.raises(InputError, match="lows and highs"):
            small().range(lows, highs)


def test_nothing_is_no_change() -> None:
    sketch = small()
    sketch.update([])
    sketch.update(np.array([], dtype=int), weights=[])
    assert sketch == small()
    assert sketch.quantile(["0.5"]).size == 1
    assert sketch.range([], []).tolist() == []
    assert DyadicCountMin(5, 5, rows=1, width=2).range(5, 5).tolist() == [0]
