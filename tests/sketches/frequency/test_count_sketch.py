"""The count sketch is off by more than it says as seldom as it says, by the second moment and not by the total."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from celosia.core import ParameterError
from celosia.sketches.frequency.count_sketch import CountSketch
from tests.sketches.frequencies import STREAMS, asked, frequencies, too_many, turnstile, zipf

TRIALS = 400
FAILURE = 0.2
every_stream = pytest.mark.parametrize("stream", STREAMS)


def misses(stream: str, width: int, claimed: CountSketch) -> int:
    values = STREAMS[stream]()
    truth = frequencies(values)
    margin = claimed.relative_error(FAILURE) * math.sqrt(float(truth @ truth))
    found = 0
    for trial in range(TRIALS):
        sketch = CountSketch(3, width, seed=trial)
        sketch.update(values)
        value = asked(trial)
        found += abs(sketch.estimate([value])[0] - truth[value]) > margin
    return found


@every_stream
def test_seldom_off(stream: str) -> None:
    assert not too_many(misses(stream, 60, CountSketch(3, 60)), TRIALS, FAILURE)


@every_stream
def test_a_twentieth_of_the_width_would_be_seen(stream: str) -> None:
    assert too_many(misses(stream, 3, CountSketch(3, 60)), TRIALS, FAILURE)


@every_stream
@pytest.mark.parametrize("value", [0, 3, 1_900])
def test_rows_are_unbiased_with_the_stated_variance(stream: str, value: int) -> None:
    values = STREAMS[stream]()
    truth = frequencies(values)
    sketch = CountSketch(4_000, 20, seed=value)
    sketch.update(values)
    rows = sketch.cells([value])[:, 0]
    variance = float(truth @ truth - truth[value] ** 2) / 20
    assert abs(rows.mean() - truth[value]) < 6 * math.sqrt(variance / 4_000)
    spread = np.std((rows - rows.mean()) ** 2) / math.sqrt(4_000)
    assert abs(rows.var() - variance) < 6 * spread
    assert abs(rows.var() - 2 * variance) > 6 * spread


def test_bounds_hold_the_truth_with_negative_weights_too() -> None:
    values, weights = turnstile()
    truth = frequencies(values, weights)
    found = 0
    for trial in range(TRIALS):
        sketch = CountSketch(5, 100, seed=trial)
        sketch.update(values, weights)
        value = asked(trial)
        low, high = sketch.bounds([value], FAILURE)
        found += not low[0] <= truth[value] <= high[0]
    assert not too_many(found, TRIALS, FAILURE)


def test_wide_tables_are_exact() -> None:
    values = zipf()
    sketch = CountSketch(5, 1 << 19, seed=1)
    sketch.update(values)
    assert np.array_equal(sketch.estimate(range(2_000)), frequencies(values))
    assert sketch.estimate([]).tolist() == []


def test_the_error_is_chebyshevs_and_the_binomials() -> None:
    chances = np.linspace(0, 0.5, 100_001)
    most = chances[binom.sf(2, 5, chances) <= 0.01].max()
    assert CountSketch(5, 1000).relative_error(0.01) == pytest.approx(math.sqrt(1 / 1000 / most), rel=1e-4)


@settings(max_examples=25)
@given(st.floats(1e-2, 0.9), st.floats(1e-6, 0.9))
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float) -> None:
    sketch = CountSketch.suggest(error, failure)
    assert sketch.relative_error(failure) <= error * (1 + 1e-9)
    assert sketch.width >= 3 / error**2 * (1 - 1e-6)


def test_errors_and_failures_are_shares() -> None:
    for error, failure in ((0, 0.1), (0.1, 1), (1e-9, 0.1)):
        with pytest.raises(ParameterError, match=r"error|failure"):
            CountSketch.suggest(error, failure)
