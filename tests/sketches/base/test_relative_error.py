"""Sizes and bounds follow the normal distribution."""

import math

import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.sketches.base.relative_error import (
    deviations_for,
    open_unit,
    relative_bounds,
    size_for,
    standard_deviations,
    tail_beyond,
)


def test_deviations_are_those_of_the_normal_distribution() -> None:
    for failure in (0.3173, 0.05, 0.01, 1e-6):
        assert deviations_for(failure) == pytest.approx(stats.norm.isf(failure / 2), rel=1e-9)
        assert 2 * tail_beyond(deviations_for(failure)) == pytest.approx(failure, rel=1e-9)


def test_size_is_the_least_that_does() -> None:
    size = size_for(1.04, 0.01, 0.05)
    assert 1.04 * 1.959964 / math.sqrt(size) <= 0.01 < 1.04 * 1.959964 / math.sqrt(size - 1)


def test_bounds_are_where_the_estimate_is_that_far_off() -> None:
    low, high = relative_bounds(1000.0, 0.02, 0.0, 3)
    assert low * (1 + 3 * 0.02) == pytest.approx(1000)
    assert high * (1 - 3 * 0.02) == pytest.approx(1000)
    assert relative_bounds(1000.0, 0.5, 1001.0, 2) == (1001.0, math.inf)


def test_what_is_no_share_is_refused() -> None:
    cases: list[object] = [0, 1, -0.1, 1.5, math.nan, math.inf, "x", True, None]
    for value in cases:
        with pytest.raises(ParameterError, match="error"):
            open_unit(value, name="error")  # type: ignore[arg-type]


def test_what_is_no_number_of_deviations_is_refused() -> None:
    cases: list[object] = [0, -1, 9, math.nan, "x", True]
    for value in cases:
        with pytest.raises(ParameterError, match="deviations"):
            standard_deviations(value)  # type: ignore[arg-type]
