"""Sums of squares and of products of signed rows are unbiased, with at most the stated variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from celosia.sketches.frequency.ams import AMS
from celosia.sketches.frequency.count_sketch import CountSketch
from tests.sketches.frequencies import STREAMS, frequencies, too_many, turnstile, uniform, zipf

ROWS = 2_000
WIDTH = 20


@pytest.mark.parametrize("stream", STREAMS)
def test_the_rows_sums_of_squares(stream: str) -> None:
    values = STREAMS[stream]()
    truth = frequencies(values).astype(float)
    moment = truth @ truth
    sketch = AMS(ROWS, WIDTH, seed=3)
    sketch.update(values)
    sums = sketch._products(sketch)
    variance = 2 * (moment**2 - np.sum(truth**4)) / WIDTH
    assert variance <= 2 * moment**2 / WIDTH
    assert abs(sums.mean() - moment) < 6 * math.sqrt(variance / ROWS)
    spread = np.std((sums - sums.mean()) ** 2) / math.sqrt(ROWS)
    assert abs(sums.var() - variance) < 6 * spread
    assert abs(sums.var() - variance / 2) > 6 * spread


def test_the_rows_sums_of_products() -> None:
    left, right = zipf(seed=1), uniform(seed=2)
    one, two = AMS(ROWS, WIDTH, seed=3), AMS(ROWS, WIDTH, seed=3)
    one.update(left)
    two.update(right)
    a, b = frequencies(left).astype(float), frequencies(right).astype(float)
    products = one._products(two)
    bound = 2 * (a @ a) * (b @ b) / WIDTH
    assert abs(products.mean() - a @ b) < 6 * math.sqrt(bound / ROWS)
    assert products.var() < bound * (1 + 6 * math.sqrt(2 / ROWS))


def test_the_median_is_taken() -> None:
    one, two = CountSketch(5, 20, seed=3), CountSketch(5, 20, seed=3)
    one.update(zipf())
    two.update(uniform())
    assert one.second_moment() == np.median(np.sum(one.counters.astype(float) ** 2, axis=1))
    expected = np.median(np.sum(one.counters.astype(float) * two.counters, axis=1))
    assert one.inner_product(two) == two.inner_product(one) == expected


def test_inner_products_with_negative_weights() -> None:
    values, weights = turnstile()
    sketch, other = CountSketch(5, 1 << 18, seed=3), CountSketch(5, 1 << 18, seed=3)
    sketch.update(values, weights)
    other.update(zipf(seed=2))
    assert sketch.inner_product(other) == frequencies(values, weights) @ frequencies(zipf(seed=2))
    difference = CountSketch.deserialize(sketch.serialize())
    difference.update(values, -weights)
    assert difference.second_moment() == 0


def test_the_error_is_chebyshevs_and_the_binomials() -> None:
    chances = np.linspace(0, 0.5, 100_001)
    most = chances[binom.sf(2, 5, chances) <= 0.01].max()
    assert AMS(5, 1000).second_moment_error(0.01) == pytest.approx(math.sqrt(2 / 1000 / most), rel=1e-4)


def test_bounds_hold_the_truth() -> None:
    values = zipf()
    truth = float(np.sum(frequencies(values).astype(float) ** 2))
    found = 0
    for trial in range(400):
        sketch = AMS(3, 100, seed=trial)
        sketch.update(values)
        low, high = sketch.second_moment_bounds(0.2)
        assert low <= sketch.second_moment() <= high
        assert high <= values.size**2
        found += not low <= truth <= high
    assert not too_many(found, 400, 0.2)


def test_a_table_too_small_bounds_nothing_but_the_volume() -> None:
    sketch = AMS(1, 2)
    sketch.update(range(10))
    assert sketch.second_moment_error(0.01) > 1
    assert sketch.second_moment_bounds(0.01)[1] == 100
