"""A row less its average share is unbiased, with the variance that is stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.sketches.frequency.count_mean import CountMean
from celosia.sketches.frequency.count_median import CountMedian
from celosia.sketches.frequency.levelled import levelled_width, row_spread
from celosia.sketches.hashing.family import HashFamily
from tests.sketches.frequencies import STREAMS, frequencies, turnstile, zipf

ROWS = 4_000  # each is a draw of the hash function


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("value", [0, 3, 1_900])
def test_rows_are_unbiased_with_the_stated_variance(stream: str, value: int) -> None:
    values = STREAMS[stream]()
    truth = frequencies(values)
    sketch = CountMean(ROWS, 20, seed=value)
    sketch.update(values)
    rows = sketch._level(sketch.cells([value]))[:, 0]
    variance = float(truth @ truth - truth[value] ** 2) / 19
    assert abs(rows.mean() - truth[value]) < 6 * math.sqrt(variance / ROWS)
    # The kurtosis of a row is large where one value is: six of its own standard errors.
    spread = np.std((rows - rows.mean()) ** 2) / math.sqrt(ROWS)
    assert abs(rows.var() - variance) < 6 * spread
    assert abs(rows.var() - 2 * variance) > 6 * spread


def test_pairwise_independence_would_not_do() -> None:
    """With lines in place of parabolas, values in an arithmetic progression fall together: the variance is another."""
    digests = np.array([5, 6, 7], dtype=np.uint64)

    def together(independence: int) -> float:
        columns = HashFamily(40_000, 8, independence=independence, seed=1).table(digests)
        return float(((columns[:, 1] == columns[:, 0]) & (columns[:, 2] == columns[:, 0])).mean())

    assert CountMean._INDEPENDENCE == CountMedian._INDEPENDENCE == 3
    assert abs(together(3) - 1 / 64) < 6 * math.sqrt(1 / 64 / 40_000)
    assert abs(together(2) - 1 / 64) > 6 * math.sqrt(1 / 64 / 40_000)


def test_the_second_moment_is_bounded_for_certain() -> None:
    for seed in range(50):
        for values in (zipf(seed=seed), np.arange(500)):
            sketch = CountMedian(2, 30, seed=seed)
            sketch.update(values)
            truth = float(np.sum(np.bincount(values).astype(float) ** 2))
            assert truth <= sketch.second_moment_at_most() <= values.size**2
    values, weights = turnstile()
    sketch.update(values, weights)
    assert sketch.second_moment_at_most() == float(sketch.volume) ** 2


@given(st.floats(1e-7, 0.9))
def test_a_width_for_a_spread(spread: float) -> None:
    width = levelled_width(spread, error="0.1")
    assert row_spread(width) <= spread
    assert width <= 3 or row_spread(width - 2) > spread


def test_a_row_without_remainder_is_plain_arithmetic() -> None:
    sketch = CountMean(1, 4)
    sketch.update([1, 1, 2])
    cell = int(sketch.cells([1])[0, 0])
    assert sketch.estimate([1])[0] == pytest.approx((4 * cell - 3) / 3)
    assert sketch.estimate([]).tolist() == []
