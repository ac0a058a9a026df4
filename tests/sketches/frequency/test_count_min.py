"""Count-min is never too low, and seldom too high by more than it says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.sketches.frequency.count_min import CountMin
from tests.sketches.frequencies import STREAMS, asked, frequencies, too_many, turnstile, uniform, zipf

TRIALS = 400
FAILURE = 0.2
every_stream = pytest.mark.parametrize("stream", STREAMS)


def misses(stream: str, rows: int, width: int, claimed: CountMin) -> int:
    """In how many trials a sketch of this shape is too high by more than the claimed one says."""
    values = STREAMS[stream]()
    truth = frequencies(values)
    margin = claimed.relative_error(FAILURE) * values.size
    found = 0
    for trial in range(TRIALS):
        sketch = CountMin(rows, width, seed=trial)
        sketch.update(values)
        value = asked(trial)
        error = int(sketch.estimate([value])[0]) - int(truth[value])
        assert error >= 0
        found += error > margin
    return found


@every_stream
def test_seldom_too_high(stream: str) -> None:
    assert not too_many(misses(stream, 2, 50, CountMin(2, 50)), TRIALS, FAILURE)


@every_stream
def test_a_row_too_few_and_a_tenth_of_the_width_would_be_seen(stream: str) -> None:
    assert too_many(misses(stream, 1, 5, CountMin(2, 50)), TRIALS, FAILURE)


def test_the_shape_is_the_textbooks() -> None:
    for error, failure in ((0.01, 0.01), (0.001, 0.05), (0.1, 0.3), (1e-6, 1e-9)):
        sketch = CountMin.suggest(error, failure)
        assert sketch.rows == math.ceil(math.log(1 / failure))
        assert math.ceil(math.e / error) <= sketch.width <= math.ceil(math.e / error * 1.001)


@given(st.floats(1e-6, 0.9), st.floats(1e-9, 0.9))
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float) -> None:
    sketch = CountMin.suggest(error, failure)
    assert sketch.relative_error(failure) <= error * (1 + 1e-12)


def test_the_error_is_markovs() -> None:
    """A row is too high by more than t with probability total/(width t) at most, and all rows must be."""
    sketch = CountMin(4, 1000)
    assert sketch.relative_error(0.01) == pytest.approx(0.01**-0.25 / 1000, rel=1e-6)
    assert CountMin(1, 100).relative_error(0.5) == pytest.approx(0.02, rel=1e-6)


def test_wide_tables_are_exact() -> None:
    values = zipf()
    sketch = CountMin(4, 1 << 20, seed=1)
    sketch.update(values)
    assert np.array_equal(sketch.estimate(range(2_000)), frequencies(values))


def test_bounds_hold_the_truth() -> None:
    values = zipf()
    sketch = CountMin(5, 200, seed=1)
    sketch.update(values)
    low, high = sketch.bounds(range(2_000), "0.001")
    truth = frequencies(values)
    assert (low >= 0).all()
    assert (high >= truth).all()
    assert (low <= truth).mean() > 0.99
    assert (high - low).max() <= math.floor(sketch.relative_error("0.001") * values.size)


def test_negative_weights_take_the_median() -> None:
    """With both signs a counter may be too low, and the error goes to both sides, within its bounds."""
    values, weights = turnstile()
    truth = frequencies(values, weights)
    found, low_side = 0, 0
    for trial in range(TRIALS):
        sketch = CountMin(5, 100, seed=trial)
        sketch.update(values, weights)
        value = asked(trial)
        low, high = sketch.bounds([value], FAILURE)
        found += not low[0] <= truth[value] <= high[0]
        low_side += int(sketch.estimate([value])[0]) < truth[value]
        assert sketch.estimate([value]) == np.sort(sketch.cells([value])[:, 0])[2]
    assert not too_many(found, TRIALS, FAILURE)
    assert low_side > 0


def test_strict_says_that_nothing_is_negative_in_the_end() -> None:
    values = uniform()
    truth = frequencies(values[1_000:])
    sketch = CountMin(5, 300, seed=1)
    sketch.update(values)
    sketch.update(values[:1_000], weights=-1)
    kept = CountMin(5, 300, seed=1)
    kept.update(values[1_000:])
    assert np.array_equal(sketch.estimate(range(2_000), strict=True), kept.estimate(range(2_000)))
    low, high = sketch.bounds(range(2_000), "0.001", strict=True)
    assert (high >= truth).all()
    assert (low <= truth).mean() > 0.99
    assert sketch.relative_error("0.05", strict=True) < sketch.relative_error("0.05")


def test_of_an_even_number_the_lower_middle_is_taken() -> None:
    sketch = CountMin(4, 10)
    sketch.update([1, 2], weights=[-5, 9])
    assert sketch.estimate([1]) == np.sort(sketch.cells([1])[:, 0])[1]


def test_inner_products() -> None:
    left, right = zipf(seed=1), uniform(seed=2)
    truth = int(frequencies(left) @ frequencies(right))
    found = 0
    for trial in range(TRIALS):
        one, two = CountMin(2, 200, seed=trial), CountMin(2, 200, seed=trial)
        one.update(left)
        two.update(right)
        error = one.inner_product(two) - truth
        assert error >= 0
        found += error > one.relative_error(FAILURE) * left.size * right.size
    assert not too_many(found, TRIALS, FAILURE)
    wide = CountMin(3, 1 << 20, seed=1)
    wide.update(left)
    other = CountMin(3, 1 << 20, seed=1)
    other.update(right)
    assert wide.inner_product(other) == truth
    other.update(right, weights=-2)
    assert wide.inner_product(other) == -truth


def test_inner_products_beyond_64_bits_are_floats() -> None:
    one = CountMin(2, 10)
    one.update([1], weights=2**40)
    assert one.inner_product(one) == pytest.approx(2.0**80, rel=1e-12)


def test_errors_and_failures_are_shares() -> None:
    cases: list[Any] = [0, 1, -0.1, 2, float("nan"), True, "x"]
    for bad in cases:
        for ask in (
            lambda bad=bad: CountMin.suggest(bad, 0.1),
            lambda bad=bad: CountMin.suggest(0.1, bad),
            lambda bad=bad: CountMin(2, 10).relative_error(bad),
            lambda bad=bad: CountMin(2, 10).bounds([1], bad),
        ):
            with pytest.raises(ParameterError, match=r"error|failure"):
                ask()
        with pytest.raises(ParameterError, match="error is too small"):
            CountMin.suggest(1e-12, 0.1)


def test_nothing_asked_nothing_answered() -> None:
    assert CountMin(2, 10).estimate([]).tolist() == []
    assert [bound.tolist() for bound in CountMin(2, 10).bounds([])] == [[], []]
