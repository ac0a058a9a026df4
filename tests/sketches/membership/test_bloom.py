"""Bloom filters: no false negatives, the stated rate of false positives, and the laws of sets."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from celosia.core import FormatError, ParameterError
from celosia.sketches.membership.bloom import BloomFilter, best_shape, fill_bounds, shape_of_filter
from tests.sketches.set_laws import check_hostile, check_merging, check_round_trip, damages, filled, streams


def small() -> BloomFilter:
    return BloomFilter(777, 3, seed=5)


@given(streams)
@settings(max_examples=40)
def test_merging_is_the_union(parts: tuple[list[int], list[int], list[int]]) -> None:
    check_merging(small, *parts)


@given(streams)
@settings(max_examples=30)
def test_bytes_come_back_and_members_are_found(parts: tuple[list[int], list[int], list[int]]) -> None:
    sketch = filled(small, *parts)
    check_round_trip(sketch)
    for part in parts:
        assert sketch.contains(part).all()


@given(damages)
@settings(max_examples=60)
def test_hostile_bytes(damage: tuple[int, int]) -> None:
    check_hostile(filled(small, list(range(100))), *damage)


@pytest.mark.parametrize(("items", "error"), [(1_000, "0.01"), (5_000, "0.1"), (2_000, "0.0005"), (30, "0.02")])
def test_the_rate_of_false_positives_is_the_stated_one(items: int, error: str) -> None:
    trials, strangers, found, stated = 20, 100_000, 0, 0.0
    for seed in range(trials):
        sketch = BloomFilter.suggest(error, items=items, seed=seed)
        sketch.update(range(items))
        found += int(sketch.contains(np.arange(items, items + strangers)).sum())
        stated += sketch.false_positive_rate() * strangers
    # Given the fill, each stranger is a coin of the stated rate.
    assert abs(found - stated) < 5 * math.sqrt(stated)
    assert stated / (trials * strangers) == pytest.approx(float(error), rel=0.25 if items < 100 else 0.06)
    k = BloomFilter.suggest(error, items=items).hashes
    m = BloomFilter.suggest(error, items=items).bits
    assert (1 - math.exp(-items * k / m)) ** k <= float(error) * (1 + 1e-9)
    assert abs(k - m / items * math.log(2)) <= 1


def test_a_suggestion_holds_for_few_members_too() -> None:
    """The number of bits that are set after a number of positions, position by position."""
    items_cases: list[int] = [1, 2, 3, 10, 40]
    error_cases: list[float] = [0.5, 0.1, 0.01, 1e-6]
    for items in items_cases:
        for error in error_cases:
            bits, hashes = best_shape(error, items)
            filled_share = np.arange(bits + 1) / bits
            law = np.zeros(bits + 1)
            law[0] = 1
            for _ in range(items * hashes):
                law = law * filled_share + np.concatenate([[0], (law * (1 - filled_share))[:-1]])
            assert law @ filled_share**hashes <= error * (1 + 1e-12)
            assert bits <= 1.5 * -items * hashes / math.log1p(-(error ** (1 / hashes))) + 1


def test_a_suggestion_is_found_soon() -> None:
    assert best_shape("1e-300", 2) == (7_555_757, 64)


def test_progressions_of_two_hashes_would_be_caught() -> None:
    # The mutant that the positions are not: x, x + y, x + 2y mod a small number of bits.
    rng = np.random.default_rng(7)
    bits, hashes, items, trials, found, stated = 64, 5, 9, 4_000, 0, 0.0
    for _ in range(trials):
        x, y = rng.integers(0, bits, (2, items + 50))
        places = (x[:, None] + np.arange(hashes) * y[:, None]) % bits
        full = np.isin(np.arange(bits), places[:items])
        found += int(full[places[items:]].all(axis=1).sum())
        stated += full.mean() ** hashes * 50
    assert abs(found - stated) > 5 * math.sqrt(stated)
    found, stated = 0, 0.0
    for seed in range(trials):
        sketch = BloomFilter(bits, hashes, seed=seed)
        sketch.update(range(items))
        found += int(sketch.contains(range(100, 150)).sum())
        stated += sketch.false_positive_rate() * 50
    assert abs(found - stated) < 5 * math.sqrt(stated)


@pytest.mark.parametrize(("bits", "hashes", "items"), [(4096, 1, 3_000), (4096, 4, 500), (1000, 7, 400)])
def test_the_number_of_members_lies_within_its_bounds(bits: int, hashes: int, items: int) -> None:
    errors, outside = [], 0
    for seed in range(300):
        sketch = BloomFilter(bits, hashes, seed=seed)
        sketch.update(range(items))
        errors.append(sketch.estimate() - items)
        low, high = sketch.bounds(2)
        outside += not low <= items <= high
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(300) + 0.01 * items
    assert stats.binomtest(outside, 300, 0.0455).pvalue > 1e-4


def test_full_and_empty_filters() -> None:
    assert fill_bounds(0, 100, 3, 2) == (0.0, 0.0)
    full = BloomFilter(64, 2)
    full.update(range(2_000))
    assert full.fill == 1
    assert full.estimate() == math.inf
    low, high = full.bounds(3)
    assert 50 < low < 2_000
    assert high == math.inf
    for filled_places in (1, 50, 98, 99):
        low, high = fill_bounds(filled_places, 100, 3, 3)
        assert low <= -100 / 3 * math.log1p(-filled_places / 100) <= high < math.inf


def test_unions_and_intersections() -> None:
    a, b = BloomFilter(1 << 16, 4), BloomFilter(1 << 16, 4)
    a.update(range(4_000))
    b.update(range(3_000, 6_000))
    assert a.estimate_union(b) == pytest.approx(6_000, rel=0.02)
    assert a.estimate_intersection(b) == pytest.approx(1_000, rel=0.1)
    union = filled(lambda: BloomFilter(1 << 16, 4), list(range(6_000)))
    assert a.estimate_union(b) == union.estimate()
    assert BloomFilter(1 << 16, 4).estimate_intersection(a) == 0


def test_bad_shapes() -> None:
    cases: list[Any] = [(0, 1), (2**32 + 1, 1), (10, 0), (10, 65), (True, 1), (10.0, 1), ("9", 1)]
    for bits, hashes in cases:
        with pytest.raises(ParameterError):
            shape_of_filter(bits, hashes)


def test_bad_wishes() -> None:
    cases: list[Any] = [(0, 10), (1, 10), ("0.01", 0), ("0.01", 10**9), (math.nan, 10)]
    for error, items in cases:
        with pytest.raises(ParameterError):
            best_shape(error, items)


def test_filters_that_do_not_fit_are_not_merged() -> None:
    for other in (BloomFilter(776, 3, seed=5), BloomFilter(777, 2, seed=5), BloomFilter(777, 3), "no filter"):
        with pytest.raises(ParameterError, match="same parameters"):
            small().merge(other)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="same parameters"):
            small().estimate_intersection(other)  # type: ignore[arg-type]
        assert small() != other


def test_words_are_copied() -> None:
    words = np.zeros(1, dtype=np.uint64)
    words.flags.writeable = False
    sketch = BloomFilter.from_words(words, 64, 2)
    sketch.update([1])
    assert sketch.fill > 0
    assert words[0] == 0


def test_words_beyond_the_end_are_refused() -> None:
    with pytest.raises(FormatError):
        BloomFilter.from_words(np.array([2**63], dtype=np.uint64), 63, 1)
    with pytest.raises(FormatError):
        BloomFilter.from_words(np.array([1], dtype=np.int64), 64, 1)
