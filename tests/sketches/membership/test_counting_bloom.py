"""Counting Bloom filters: what is put in is found until it is taken out, and full counters never lose a member."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.sketches.membership.bloom import BloomFilter
from celosia.sketches.membership.counting_bloom import CountingBloomFilter
from tests.sketches.set_laws import check_hostile, check_merging, check_round_trip, damages, filled, streams


def small() -> CountingBloomFilter:
    return CountingBloomFilter(777, 3, seed=5)


@given(streams)
@settings(max_examples=40)
def test_merging_is_the_sum(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_merging(small, *parts, idempotent=False)


@given(streams, st.sampled_from([8, 16]))
@settings(max_examples=30)
def test_bytes_come_back(parts: tuple[list[int], list[int], list[int]], width: int) -> None:
    check_round_trip(filled(lambda: CountingBloomFilter(500, 4, width=width), *parts))


@given(damages)
@settings(max_examples=60)
def test_hostile_bytes(damage: tuple[int, int]) -> None:
    check_hostile(filled(small, list(range(100))), *damage)


@given(streams)
@settings(max_examples=40)
def test_taking_out_undoes_putting_in(parts: tuple[list[int], list[int], list[int]]) -> None:
    a, b, _ = parts
    sketch = filled(lambda: CountingBloomFilter(777, 3, width=16, seed=5), a)
    before = sketch.serialize()
    sketch.update(b)
    assert sketch.remove(b) == 0
    assert sketch.serialize() == before
    assert sketch.contains(a).all()


@given(st.lists(st.integers(0, 30), max_size=200))
def test_counts_are_never_too_small(values: list[int]) -> None:
    sketch = filled(lambda: CountingBloomFilter(60, 3), values)
    true = np.bincount(np.array(values, dtype=np.int64), minlength=31)
    assert (sketch.count(range(31)) >= np.minimum(true, 255)).all()


def test_full_counters_stay_and_no_member_is_lost() -> None:
    sketch = CountingBloomFilter(100, 3)
    sketch.update(["sun", "rain"], weights=[300, 1])
    assert sketch.saturated >= 1
    for _ in range(400):
        sketch.remove(["sun"])
    assert sketch.contains(["rain", "sun"]).all()  # "sun" is a false member now, as it must be
    wide = CountingBloomFilter(100, 3, width=16)
    wide.update(["sun"], weights=300)
    assert wide.remove(["sun"] * 300) == 0
    assert not wide.contains(["sun"])[0]
    merged = CountingBloomFilter(100, 3).merge(sketch).merge(sketch)
    assert merged.saturated >= sketch.saturated


def test_strangers_are_left_alone() -> None:
    sketch = filled(small, ["sun"])
    before = sketch.serialize()
    assert sketch.remove(["snow", "hail"]) == 2
    assert sketch.serialize() == before


def test_it_agrees_with_the_plain_filter() -> None:
    counting, plain = CountingBloomFilter(1_000, 4, seed=3), BloomFilter(1_000, 4, seed=3)
    counting.update(range(150))
    plain.update(range(150))
    assert counting.as_filter() == plain
    assert counting.estimate() == plain.estimate()
    assert counting.bounds(2) == plain.bounds(2)
    assert math.isclose(counting.false_positive_rate(), plain.false_positive_rate())
    assert CountingBloomFilter.suggest("0.01", items=50).counters == BloomFilter.suggest("0.01", items=50).bits


def test_weights_of_each_value() -> None:
    each, all_alike = CountingBloomFilter(2**17, 4), CountingBloomFilter(2**17, 4)
    values = np.arange(40_000)
    each.update(values, weights=np.full(40_000, 2))
    all_alike.update(values, weights=2)
    assert each == all_alike


def test_bad_weights() -> None:
    cases: list[object] = [[-1, 1], [1], [0.5, 1], [[1, 1]], "ab"]
    for weights in cases:
        with pytest.raises(InputError):
            small().update(["a", "b"], weights=weights)  # type: ignore[arg-type]


def test_bad_widths() -> None:
    cases: list[Any] = [0, 4, 32, "8", True, 8.0]
    for width in cases:
        with pytest.raises(ParameterError):
            CountingBloomFilter(100, 3, width=width)


def test_filters_that_do_not_fit_are_not_merged() -> None:
    for other in (CountingBloomFilter(777, 3, width=16, seed=5), CountingBloomFilter(776, 3, seed=5), 3):
        with pytest.raises(ParameterError, match="same parameters"):
            small().merge(other)  # type: ignore[arg-type]
        assert small() != other
