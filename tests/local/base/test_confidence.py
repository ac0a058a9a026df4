"""Ends of intervals, against a look at all counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.base.confidence import high_ends, low_ends


@given(raw=st.floats(-50, 1000), near=st.floats(0.1, 200), slope=st.floats(-5, 50))
def test_the_upper_end_is_the_greatest_count_that_is_not_excluded(raw: float, near: float, slope: float) -> None:
    high = float(high_ends(np.array([raw]), np.array([near]), slope, 1000.0)[0])
    counts = np.linspace(0, 3000, 30_001)
    reach = np.sqrt(np.maximum(near**2 + max(slope, 0.0) * (counts - min(max(raw, 0.0), 1000.0)), 0.0))
    greatest = counts[counts - raw <= reach].max(initial=-np.inf)
    if greatest >= 0:
        assert high == pytest.approx(greatest, abs=0.11)
    else:
        assert high < 0.11


@given(raw=st.floats(0.5, 1000), near=st.floats(0.1, 200), far=st.floats(0.1, 600))
def test_the_lower_end_is_the_least_count_that_is_not_excluded(raw: float, near: float, far: float) -> None:
    low = float(low_ends(np.array([raw]), np.array([near]), np.array([far]))[0])
    counts = np.linspace(0, raw, 10_001)
    share = (counts / raw) ** 2
    reach = np.sqrt(max(far, near) ** 2 * (1 - share) + near**2 * share)
    least = counts[raw - counts <= reach * (1 + 1e-12)].min(initial=raw)
    assert max(low, 0.0) == pytest.approx(least, abs=0.11)


def test_nobody_heard_leaves_room_for_some() -> None:
    """One in six holders is heard: eighteen of whom none is heard are not rare enough, at 95 %."""
    wald = high_ends(np.zeros(1), np.full(1, 0.5), 0.0, 1000.0)[0]
    score = high_ends(np.zeros(1), np.full(1, 0.5), 1.96**2 * 5, 1000.0)[0]
    assert wald < 1
    assert 18 < score < 21
    assert (5 / 6) ** 18 > 0.025
