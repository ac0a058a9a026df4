"""The median of independent rows fails as seldom as the binomial distribution says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from celosia.sketches.base.medians import cheapest_shape, median_failure, row_failure


@given(st.integers(1, 101), st.floats(1e-6, 0.5))
def test_against_the_binomial_distribution(rows: int, failure: float) -> None:
    half = math.ceil(rows / 2)
    assert median_failure(rows, failure) == pytest.approx(binom.sf(half - 1, rows, failure), rel=1e-9)


@given(st.integers(1, 101), st.floats(1e-12, 0.5))
def test_a_row_may_fail_that_often_and_hardly_more(rows: int, failure: float) -> None:
    chance = row_failure(rows, failure)
    assert median_failure(rows, chance) <= failure
    assert median_failure(rows, chance * (1 + 1e-6)) > failure


def test_hardly_ever_is_a_number_too() -> None:
    failure_cases: list[float] = [1e-99, 1e-101, 1e-150, 1e-200, 1e-300, 1e-307]
    rows_cases: list[int] = [1, 2, 3, 5, 6, 7, 33]
    for failure in failure_cases:
        for rows in rows_cases:
            chance = Fraction(row_failure(rows, failure))
            parts = [
                math.comb(rows, k) * chance**k * (1 - chance) ** (rows - k)
                for k in range(math.ceil(rows / 2), rows + 1)
            ]
            assert 0.9 < sum(parts) / Fraction(failure) <= 1


def test_half_of_the_rows_must_be_off_for_the_median_to_be() -> None:
    """All patterns of rows that are right, too high or too low."""
    for rows in (1, 2, 3, 4, 7):
        for pattern in np.ndindex(*(3,) * rows):
            values = np.array([0.0, 10.0, -10.0])[list(pattern)]
            if abs(np.median(values)) > 0:
                assert 2 * np.count_nonzero(values) >= rows
            if np.partition(values, (rows - 1) // 2)[(rows - 1) // 2] != 0:
                assert 2 * np.count_nonzero(values) >= rows


@given(st.floats(1e-9, 0.3), st.floats(1, 1e6))
def test_the_cheapest_shape_is_the_cheapest(failure: float, cells: float) -> None:
    def width_at(chance: float) -> int:
        assert chance <= 1 / 3
        return math.ceil(cells / chance)

    rows, width = cheapest_shape(failure, width_at)
    assert rows % 2 == 1
    assert median_failure(rows, cells / width) <= failure * (1 + 1e-9)
    for other in (rows - 2, rows + 2):
        if other > 0:
            assert rows * width <= other * width_at(min(row_failure(other, failure), 1 / 3))
