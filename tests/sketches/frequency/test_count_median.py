"""Count-median is off by more than it says as seldom as it says, with negative weights too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from celosia.core import ParameterError
from celosia.sketches.frequency.count_mean import CountMean
from celosia.sketches.frequency.count_median import CountMedian
from tests.sketches.frequencies import STREAMS, asked, frequencies, too_many, turnstile, uniform

TRIALS = 400
FAILURE = 0.2
every_stream = pytest.mark.parametrize("stream", STREAMS)


def misses(stream: str, width: int, claimed: CountMedian) -> int:
    values = STREAMS[stream]()
    truth = frequencies(values)
    margin = claimed.relative_error(FAILURE) * math.sqrt(float(truth @ truth))
    found = 0
    for trial in range(TRIALS):
        sketch = CountMedian(3, width, seed=trial)
        sketch.update(values)
        value = asked(trial)
        found += abs(sketch.estimate([value])[0] - truth[value]) > margin
    return found


@every_stream
def test_seldom_off(stream: str) -> None:
    assert not too_many(misses(stream, 60, CountMedian(3, 60)), TRIALS, FAILURE)


@every_stream
def test_a_tenth_of_the_width_would_be_seen(stream: str) -> None:
    assert too_many(misses(stream, 6, CountMedian(3, 60)), TRIALS, FAILURE)


def test_bounds_hold_the_truth_with_negative_weights_too() -> None:
    values, weights = turnstile()
    truth = frequencies(values, weights)
    found = 0
    for trial in range(TRIALS):
        sketch = CountMedian(3, 60, seed=trial)
        sketch.update(values, weights)
        value = asked(trial)
        low, high = sketch.bounds([value], FAILURE)
        found += not low[0] <= truth[value] <= high[0]
    assert not too_many(found, TRIALS, FAILURE)


def test_the_margin_is_the_smaller_of_two() -> None:
    """Few values make most: the total bounds the error better than the second moment; many do, and it is otherwise."""
    for values, better in (([1] * 1_000, "volume"), (range(5_000), "moment")):
        sketch = CountMedian(5, 500)
        sketch.update(values)
        low, high = sketch.bounds([1], 0.1)
        by_moment = sketch.relative_error(0.1) * math.sqrt(sketch.second_moment_at_most())
        assert ((high - low)[0] / 2 < by_moment * 0.99) == (better == "volume")


def test_one_row_that_is_spoilt_does_not_matter() -> None:
    """On a stream with one value that outweighs all, the median is far better than the mean for the others."""
    values = uniform()
    values[:2_000] = 1
    truth = frequencies(values)
    mean, median = CountMean(7, 100, seed=1), CountMedian(7, 100, seed=1)
    errors = []
    for sketch in (mean, median):
        sketch.update(values)
        errors.append(np.quantile(np.abs(sketch.estimate(range(2, 2_000)) - truth[2:]), 0.97))
    assert errors[1] < errors[0] / 2


def test_the_error_is_chebyshevs_and_the_binomials() -> None:
    """Half of the rows are beyond with probability 0.01, if each is with a probability q: solved another way."""
    chances = np.linspace(0, 0.5, 100_001)
    most = chances[binom.sf(2, 5, chances) <= 0.01].max()
    expected = math.sqrt(1001 / 1000**2 / most)
    assert CountMedian(5, 1001).relative_error(0.01) == pytest.approx(expected, rel=1e-4)


@settings(max_examples=25)
@given(st.floats(1e-2, 0.9), st.floats(1e-6, 0.9))
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float) -> None:
    assert CountMedian.suggest(error, failure).relative_error(failure) <= error * (1 + 1e-9)


def test_errors_and_failures_are_shares() -> None:
    for error, failure in ((0, 0.1), (0.1, 1), (1e-9, 0.1)):
        with pytest.raises(ParameterError, match=r"error|failure"):
            CountMedian.suggest(error, failure)
