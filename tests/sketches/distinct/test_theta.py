"""Theta sketches: the smallest digests, sets of sets, and no worse than Apache DataSketches."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from celosia.core import InputError, ParameterError
from celosia.sketches.distinct.theta import Theta
from celosia.sketches.hashing.digest import digest
from tests.sketches.set_laws import check_hostile, check_merging, check_round_trip, damages, filled, streams
from tests.sketches.streams_of_values import STREAMS, believable, different, relative_errors


def small() -> Theta:
    return Theta(32, seed=5)


@given(streams)
@settings(max_examples=40)
def test_merging_is_the_union(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_merging(small, *parts)
    assert filled(small, parts[0]) | filled(small, parts[1]) == filled(small, parts[0], parts[1])


@given(streams)
@settings(max_examples=30)
def test_bytes_come_back(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_round_trip(filled(small, *parts))
    check_round_trip(filled(small, parts[0]) & filled(small, parts[1]))
    check_round_trip(filled(small, parts[0]) - filled(small, parts[1]))


@given(damages)
@settings(max_examples=60)
def test_hostile_bytes(damage: tuple[int, int]) -> None:
    check_hostile(filled(small, list(range(10))), *damage)
    check_hostile(filled(small, list(range(100))), *damage)


@given(streams)
@settings(max_examples=40)
def test_what_is_kept_are_the_smallest_digests(parts: tuple[list[int], list[int], list[int]]) -> None:
    sketch = filled(small, *parts)
    values = [value for part in parts for value in part]
    smallest = np.unique(digest(values, seed=5)) if values else np.empty(0, dtype=np.uint64)
    assert sketch._sample().tolist() == smallest[:32].tolist()
    assert sketch.theta == (1.0 if smallest.size <= 32 else int(smallest[32]) / 2**64)


@given(streams)
@settings(max_examples=40)
def test_few_values_are_exact_sets(parts: tuple[list[int], list[int], list[int]]) -> None:
    a, b, c = (filled(lambda: Theta(4096), part) for part in parts)
    first, second, third = map(set, parts)
    assert (a | b).estimate() == len(first | second)
    assert (a & b).estimate() == len(first & second)
    assert (a - b).estimate() == len(first - second)
    assert ((a | b) & c).estimate() == len((first | second) & third)
    assert ((a - b) | (b & c)).estimate() == len((first - second) | (second & third))
    assert (a & b).bounds(3) == (len(first & second), len(first & second))
    if first | second:
        assert a.jaccard(b) == (len(first & second) / len(first | second),) * 3


@given(streams)
@settings(max_examples=30)
def test_sets_of_samples_are_samples_of_sets(parts: tuple[list[int], list[int], list[int]]) -> None:
    a, b, c = (filled(small, part) for part in parts)
    assert a | b == b | a
    assert a & b == b & a
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert (a & b)._theta == (a - b)._theta
    for made, truth in ((a & b, set(parts[0]) & set(parts[1])), (a - b, set(parts[0]) - set(parts[1]))):
        digests = np.unique(digest(list(truth), seed=5)) if truth else np.empty(0, dtype=np.uint64)
        assert made._sample().tolist() == [number for number in digests.tolist() if number < made._theta]


@pytest.mark.parametrize("values", [300, 1_000, 20_000])
def test_the_error_is_the_published_one(values: int) -> None:
    errors = relative_errors(lambda seed: Theta(128, seed=seed), Theta.estimate, values, 1_500)
    assert believable(errors, math.sqrt((1 - 128 / values) / 127))
    assert not believable(errors * 1.12, math.sqrt((1 - 128 / values) / 127))
    assert not believable((errors + 1) * 1.1 - 1, math.sqrt((1 - 128 / values) / 127))


@pytest.mark.parametrize("name", STREAMS)
def test_errors_are_within_bounds(name: str) -> None:
    outside = 0
    for seed in range(40):
        values = STREAMS[name](30_000, seed)
        sketch = Theta(512, seed=seed)
        sketch.update(values)
        low, high = sketch.bounds(3)
        outside += not low <= np.unique(values).size <= high
    assert outside <= 2


def test_intersections_and_differences_are_within_their_bounds() -> None:
    trials = 400
    outside, errors = np.zeros(4, dtype=np.int64), np.empty((trials, 2))
    for seed in range(trials):
        a, b = Theta(256, seed=seed), Theta(256, seed=seed)
        a.update(different(5_000, seed))
        b.update(different(5_000, seed)[3_500:])
        b.update(np.arange(10**9, 10**9 + 2_000))
        for i, (made, truth) in enumerate([(a & b, 1_500), (a - b, 3_500), (a | b, 7_000)]):
            low, high = made.bounds(2)
            outside[i] += not low <= truth <= high
        low, middle, high = a.jaccard(b, 2)
        assert low <= middle <= high
        outside[3] += not low <= 1_500 / 7_000 <= high
        errors[seed] = (a & b).estimate() / 1_500 - 1, (a - b).estimate() / 3_500 - 1
    for count in outside.tolist():
        assert stats.binomtest(count, trials, 0.0455, alternative="greater").pvalue > 1e-4
    assert (abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / math.sqrt(trials)).all()


def test_sizes_that_differ() -> None:
    a, b = Theta(64), Theta(128)
    a.update(range(1_000))
    b.update(range(500, 1_500))
    assert (a | b).size == 64
    assert a | b == b | a
    assert a & b == b & a
    assert len((b - a)._sample()) <= 64


@pytest.mark.parametrize("values", [100, 400])
def test_no_less_accurate_than_datasketches(values: int, *, thorough: bool) -> None:
    datasketches = pytest.importorskip("datasketches")
    trials = 8_000 if thorough else 2_000
    ours, theirs = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        stream = different(values, trial)
        sketch, peer = Theta(128), datasketches.update_theta_sketch(7)
        sketch.update(stream)
        for value in stream.tolist():
            peer.update(value)
        peer.trim()  # to the same number of digests
        ours[trial] = sketch.estimate() / values - 1
        theirs[trial] = peer.get_estimate() / values - 1
    assert math.sqrt(np.mean(ours**2)) <= math.sqrt(np.mean(theirs**2)) * (1.01 + 3 / math.sqrt(trials))


def test_suggestions_keep_their_word() -> None:
    size = Theta.suggest("0.05", "0.01").size
    assert 2.5758 / math.sqrt(size - 1) <= 0.05 < 2.5758 / math.sqrt(size - 3)


def test_bad_sizes() -> None:
    cases: list[Any] = [0, 15, 2**26 + 1, 64.0, True, "64"]
    for size in cases:
        with pytest.raises(ParameterError, match="size"):
            Theta(size)


def test_bad_input_leaves_the_state() -> None:
    sketch = filled(small, list(range(100)))
    before = sketch.serialize()
    with pytest.raises(InputError):
        sketch.update([1.5])
    for other in (Theta(32), Theta(64, seed=5), 3):
        with pytest.raises(ParameterError, match="same parameters"):
            sketch.merge(other)
        assert sketch != other
    with pytest.raises(ParameterError, match="seed"):
        _ = sketch | Theta(32)
    with pytest.raises(ParameterError, match="theta sketch"):
        sketch.jaccard(3)
    for operation in ("__or__", "__and__", "__sub__"):
        assert getattr(sketch, operation)(3) is NotImplemented
    assert sketch.serialize() == before
