"""HyperLogLog: exact while few, within its bounds when many, and no worse than Apache DataSketches."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from celosia.core import InputError, ParameterError
from celosia.sketches.distinct.hyperloglog import HyperLogLog
from tests.sketches.set_laws import check_hostile, check_merging, check_round_trip, damages, filled, streams
from tests.sketches.streams_of_values import STREAMS, believable, different, relative_errors

ONE_STREAM, MERGED = math.sqrt(math.log(2)), math.sqrt(3 * math.log(2) - 1)  # 0.8326 and 1.0390, as published


def small() -> HyperLogLog:
    return HyperLogLog(6, seed=5)


@given(streams)
@settings(max_examples=40)
def test_merging_is_the_union(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_merging(small, *parts)
    check_merging(lambda: HyperLogLog(9), *parts)


@given(streams)
@settings(max_examples=30)
def test_bytes_come_back(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_round_trip(filled(small, *parts))
    check_round_trip(filled(small, parts[0]).merge(filled(small, parts[1])))


@given(damages)
@settings(max_examples=100)
def test_hostile_bytes(damage: tuple[int, int]) -> None:
    check_hostile(filled(small, [1, 2, 3]), *damage)
    check_hostile(filled(small, list(range(100))), *damage)
    check_hostile(filled(small, list(range(100))).merge(filled(small, list(range(50, 200)))), *damage)


@given(streams)
@settings(max_examples=30)
def test_few_values_are_counted_exactly(parts: tuple[list[int], list[int], list[int]]) -> None:
    sketch = filled(lambda: HyperLogLog(15), *parts)
    number = len(set(parts[0]) | set(parts[1]) | set(parts[2]))
    assert sketch.estimate() == number
    assert sketch.bounds(3) == (number, number)
    assert sketch.error == 0


@pytest.mark.parametrize("name", STREAMS)
def test_errors_are_within_bounds(name: str) -> None:
    outside = 0
    for seed in range(40):
        values = STREAMS[name](30_000, seed)
        number = np.unique(values).size
        sketch = HyperLogLog(10, seed=seed)
        sketch.update(values)
        half = HyperLogLog(10, seed=seed)
        half.update(values[:15_000])
        merged = HyperLogLog(10, seed=seed)
        merged.update(values[15_000:])
        merged.merge(half)
        assert merged == sketch
        for each in (sketch, merged):
            low, high = each.bounds(3)
            outside += not low <= number <= high
            assert each.bounds(1)[0] <= each.estimate() <= each.bounds(1)[1]
    assert outside <= 3  # of 80, where 0.2 are expected


@pytest.mark.parametrize("values", [100, 1_000, 8_000])
def test_one_stream_has_the_published_error(values: int) -> None:
    errors = relative_errors(
        lambda seed: HyperLogLog(7, seed=seed), HyperLogLog.estimate, values, 3_000 if values == 8_000 else 2_000
    )
    assert believable(errors, ONE_STREAM / math.sqrt(128))
    # Able to fail: an error of a tenth more, or an estimate that is off by as much.
    assert values < 8_000 or not believable(errors * 1.1, ONE_STREAM / math.sqrt(128))
    assert not believable(errors * 1.1 + 0.1, ONE_STREAM / math.sqrt(128))


def test_merged_streams_have_the_published_error() -> None:
    errors = np.empty(3_000)
    for seed in range(errors.size):
        values = different(8_000, seed)
        sketch = HyperLogLog(7, seed=seed)
        sketch.update(values[:5_000])
        other = HyperLogLog(7, seed=seed)
        other.update(values[3_000:])
        errors[seed] = sketch.merge(other).estimate() / 8_000 - 1
        assert sketch.error == pytest.approx(MERGED / math.sqrt(128))
    assert believable(errors, MERGED / math.sqrt(128), bias=0.002)
    assert not believable(errors * 1.1, MERGED / math.sqrt(128), bias=0.002)


def test_merging_few_into_many_keeps_the_better_estimate() -> None:
    errors = np.empty(1_500)
    for seed in range(errors.size):
        values = different(1_000, seed)
        many, few = HyperLogLog(9, seed=seed), HyperLogLog(9, seed=seed)
        many.update(values[24:])
        few.update(values[:32])
        few = HyperLogLog.deserialize(few.serialize())
        merged = many.merge(few) if seed % 2 else few.merge(many)
        assert merged.error == pytest.approx(ONE_STREAM / math.sqrt(512))
        errors[seed] = merged.estimate() / 1_000 - 1
    assert believable(errors, ONE_STREAM / math.sqrt(512))


def test_the_estimate_of_one_stream_survives_what_adds_nothing() -> None:
    sketch = filled(lambda: HyperLogLog(8), list(range(5_000)))
    before = sketch.estimate()
    assert sketch.merge(filled(lambda: HyperLogLog(8), list(range(3_000)))).estimate() == before
    assert sketch.merge(sketch).estimate() == before
    assert HyperLogLog(8).merge(sketch).estimate() == before
    grown = HyperLogLog.deserialize(sketch.serialize())
    grown.update(range(5_000, 9_000))
    assert grown.estimate() == filled(lambda: HyperLogLog(8), list(range(9_000))).estimate()


def test_few_values_are_read_in_an_order_that_says_nothing() -> None:
    # In the order of their digests the highest ranks would come first, and later ones would go unseen.
    errors = np.empty(1_500)
    for seed in range(errors.size):
        values = different(108, seed)
        many, few = HyperLogLog(9, seed=seed), HyperLogLog(9, seed=seed)
        many.update(values[32:])
        few.update(values[:32])
        errors[seed] = many.merge(few).estimate() / 108 - 1
    assert believable(errors, 0.03)


@pytest.mark.parametrize(("values", "merged"), [(10, False), (400, False), (400, True)])
def test_no_less_accurate_than_datasketches(values: int, *, merged: bool, thorough: bool) -> None:
    datasketches = pytest.importorskip("datasketches")
    trials, cut = 8_000 if thorough else 2_000, values // 2
    ours, theirs = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        stream = different(values, trial)
        halves = [HyperLogLog(7), HyperLogLog(7)]
        peers = [datasketches.hll_sketch(7), datasketches.hll_sketch(7)]
        split = cut if merged else values
        for half, peer, part in zip(halves, peers, (stream[:split], stream[split:]), strict=True):
            half.update(part)
            for value in part.tolist():
                peer.update(value)
        if merged:
            union = datasketches.hll_union(7)
            union.update(peers[0])
            union.update(peers[1])
            halves[0].merge(halves[1])
        ours[trial] = halves[0].estimate() / values - 1
        theirs[trial] = (union if merged else peers[0]).get_estimate() / values - 1
    ratio = math.sqrt(np.mean(ours**2) / np.mean(theirs**2))
    assert ratio < 1.01 + 3 / math.sqrt(trials)


def test_suggestions_keep_their_word() -> None:
    sketch = HyperLogLog.suggest("0.05", "0.01")
    assert 2.5758 * MERGED / math.sqrt(1 << sketch.precision) <= 0.05
    assert 2.5758 * MERGED / math.sqrt(1 << (sketch.precision - 1)) > 0.05
    assert HyperLogLog.suggest("0.9").precision == 4
    with pytest.raises(ParameterError, match="precision"):
        HyperLogLog.suggest("0.0001")


def test_bytes_and_error_are_those_of_datasketches() -> None:
    datasketches = pytest.importorskip("datasketches")
    sketch, peer = HyperLogLog(13), datasketches.hll_sketch(13, datasketches.tgt_hll_type.HLL_4)  # its smallest
    sketch.update(range(50_000))
    for value in range(50_000):
        peer.update(value)
    assert len(sketch.serialize()) < 1.02 * len(peer.serialize_compact()) < 4_300
    assert sketch.error < 1.001 * abs(datasketches.hll_sketch.get_rel_err(True, False, 13, 1))  # noqa: FBT003 - their face
    assert sketch.error == pytest.approx(0.0092, rel=0.01)


def test_a_written_sketch_has_its_size_at_every_load() -> None:
    sketch = HyperLogLog(12)
    for values in (100, 250, 256, 257, 3_000, 10_000):
        sketch.update(range(values))
        assert len(sketch.serialize()) <= 4096 // 2 + 100
    assert sketch.memory == 4096


def test_bad_precisions() -> None:
    cases: list[Any] = [3, 22, 12.0, True, "12", None]
    for precision in cases:
        with pytest.raises(ParameterError, match="precision"):
            HyperLogLog(precision)


def test_bad_input_leaves_the_state() -> None:
    sketch = filled(small, list(range(100)))
    before = sketch.serialize()
    for values in ([1.5], ["a", 1], None, "text", [None]):
        with pytest.raises(InputError):
            sketch.update(values)
    for other in (HyperLogLog(7, seed=5), HyperLogLog(6), 3):
        with pytest.raises(ParameterError, match="same parameters"):
            sketch.merge(other)
        assert sketch != other
    assert sketch.serialize() == before
