"""Count-mean is right on average, and off by more than it says as seldom as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.sketches.frequency.count_mean import CountMean
from tests.sketches.frequencies import STREAMS, asked, frequencies, too_many, turnstile

TRIALS = 400
FAILURE = 0.2
every_stream = pytest.mark.parametrize("stream", STREAMS)


def misses(stream: str, width: int, claimed: CountMean) -> int:
    values = STREAMS[stream]()
    truth = frequencies(values)
    margin = claimed.relative_error(FAILURE) * math.sqrt(float(truth @ truth))
    found = 0
    for trial in range(TRIALS):
        sketch = CountMean(3, width, seed=trial)
        sketch.update(values)
        value = asked(trial)
        found += abs(sketch.estimate([value])[0] - truth[value]) > margin
    return found


@every_stream
def test_seldom_off(stream: str) -> None:
    assert not too_many(misses(stream, 60, CountMean(3, 60)), TRIALS, FAILURE)


@every_stream
def test_a_sixth_of_the_width_would_be_seen(stream: str) -> None:
    assert too_many(misses(stream, 6, CountMean(3, 60)), TRIALS, FAILURE)


def test_bounds_hold_the_truth_with_negative_weights_too() -> None:
    values, weights = turnstile()
    truth = frequencies(values, weights)
    for stream, amounts, counts in ((values, weights, truth), (values, None, frequencies(values))):
        found = 0
        for trial in range(TRIALS):
            sketch = CountMean(3, 60, seed=trial)
            sketch.update(stream, amounts)
            value = asked(trial)
            low, high = sketch.bounds([value], FAILURE)
            found += not low[0] <= counts[value] <= high[0]
        assert not too_many(found, TRIALS, FAILURE)


def test_the_mean_of_the_rows() -> None:
    sketch = CountMean(4, 50, seed=1)
    sketch.update(range(300))
    cells = sketch.cells([7, 8]).astype(float)
    assert np.allclose(sketch.estimate([7, 8]), ((50 * cells - 300) / 49).mean(axis=0))


def test_the_error_is_chebyshevs() -> None:
    assert CountMean(4, 1001).relative_error(0.01) == pytest.approx(math.sqrt(1001 / 1000**2 / 4 / 0.01), rel=1e-6)


@given(st.floats(1e-3, 0.9), st.floats(1e-3, 0.9))
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float) -> None:
    assert CountMean.suggest(error, failure).relative_error(failure) <= error * (1 + 1e-12)


def test_errors_and_failures_are_shares() -> None:
    for error, failure in ((0, 0.1), (0.1, 1), (1e-9, 0.1)):
        with pytest.raises(ParameterError, match=r"error|failure"):
            CountMean.suggest(error, failure)
