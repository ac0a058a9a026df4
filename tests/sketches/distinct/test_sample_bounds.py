"""Bounds from samples: those of SciPy, and covering as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.sketches.distinct.sample_bounds import share_bounds, size_bounds


@given(st.integers(0, 5_000), st.floats(1e-12, 0.999), st.sampled_from([0.1587, 0.0228, 0.00135]))
@settings(max_examples=100)
def test_sizes_are_where_the_tails_say(sampled: int, rate: float, tail: float) -> None:
    low, high = size_bounds(sampled, rate, tail)
    assert sampled <= low <= sampled / rate + 1e-6 * (sampled / rate) + 1e-9
    assert high >= sampled / rate * (1 - 1e-9)
    if rate > 1e-6:
        # Integers strictly outside the bounds have a tail that is too small, by SciPy's binomial distribution.
        below, above = math.floor(low * (1 - 1e-9)) - 1, math.ceil(high * (1 + 1e-9)) + 1
        assert below < sampled or stats.binom.sf(sampled - 1, below, rate) <= tail * (1 + 1e-6)
        assert stats.binom.cdf(sampled, above, rate) <= tail * (1 + 1e-6)


def test_sizes_cover_as_often_as_they_say() -> None:
    sampled = np.random.default_rng(5).binomial(10_000, 0.01, 2_000)
    bounds = {number: size_bounds(int(number), 0.01, 0.0228) for number in np.unique(sampled).tolist()}
    outside = sum(not bounds[number][0] <= 10_000 <= bounds[number][1] for number in sampled.tolist())
    assert 0.02 * 2_000 < outside < 0.0456 * 2_000 + 4 * math.sqrt(0.0456 * 2_000)


def test_shares_are_those_of_scipy() -> None:
    for part, sampled in ((0, 10), (10, 10), (3, 50), (400, 1_000)):
        expected = stats.binomtest(part, sampled).proportion_ci(0.95, method="exact")
        assert share_bounds(part, sampled, 0.025) == pytest.approx((expected.low, expected.high), rel=1e-9)
