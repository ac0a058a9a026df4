"""AMS finds the second moment within a share that it seldom misses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.sketches.frequency.ams import AMS
from tests.sketches.frequencies import STREAMS, frequencies, too_many

TRIALS = 400
FAILURE = 0.2
every_stream = pytest.mark.parametrize("stream", STREAMS)


def misses(stream: str, width: int, claimed: AMS) -> int:
    values = STREAMS[stream]()
    truth = float(np.sum(frequencies(values).astype(float) ** 2))
    error = claimed.relative_error(FAILURE)
    found = 0
    for trial in range(TRIALS):
        sketch = AMS(3, width, seed=trial)
        sketch.update(values)
        found += abs(sketch.estimate() / truth - 1) > error
    return found


@every_stream
def test_seldom_off(stream: str) -> None:
    assert not too_many(misses(stream, 200, AMS(3, 200)), TRIALS, FAILURE)


@every_stream
def test_a_fortieth_of_the_width_would_be_seen(stream: str) -> None:
    assert too_many(misses(stream, 5, AMS(3, 200)), TRIALS, FAILURE)


def test_of_a_sign_that_never_changes_the_square_of_the_total_is_left() -> None:
    """What is summed is the square of what meets in a counter: one value alone gives its own square."""
    sketch = AMS(5, 100)
    sketch.update(["sun"] * 7)
    assert sketch.estimate() == 49
    assert sketch.bounds()[1] == 49


@settings(max_examples=25)
@given(st.floats(2e-2, 0.9), st.floats(1e-6, 0.9))
def test_what_is_suggested_keeps_what_was_asked(error: float, failure: float) -> None:
    sketch = AMS.suggest(error, failure)
    assert sketch.relative_error(failure) <= error * (1 + 1e-9)
    assert sketch.relative_error(failure) == sketch.second_moment_error(failure)


def test_errors_and_failures_are_shares() -> None:
    for error, failure in ((0, 0.1), (0.1, 1), (1e-9, 0.1)):
        with pytest.raises(ParameterError, match=r"error|failure"):
            AMS.suggest(error, failure)
