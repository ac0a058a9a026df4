"""A count of all rows comes with the mean of some of them, and costs nothing more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.statistics.base.noise import ContributionBounds, Noise
from celosia.statistics.moments.all_rows import MomentsOfAll
from celosia.statistics.moments.bernstein import FirstMoments
from tests.statistics.neighbours import Person, distance, within

AGES = Axis(0, 120, Fraction(1))
values = st.lists(st.none() | st.integers(0, 3), max_size=5)


def _rows(column: list[int | None]) -> list[tuple[int, int]]:
    return [(0, 0) if value is None else (value, 1) for value in column]


@given(values)
def test_exact_sums_give_the_counts_and_the_mean(column: list[int | None]) -> None:
    measure = MomentsOfAll(FirstMoments(Axis(0, 3, Fraction(1))))
    noise = Noise.laplace(1, measure.sensitivity(ContributionBounds()), 1, 3, ContributionBounds())
    sums = np.sum([measure.features(*row) for row in _rows(column)] or [(0, 0, 0)], axis=0)[None, :]
    there = [value for value in column if value is not None]
    assert measure.answer("rows", sums, noise).value[0] == len(column)
    assert measure.answer("count", sums, noise).value[0] == len(there)
    assert measure.answer("sum", sums, noise).value[0] == pytest.approx(sum(there))
    if there:
        assert measure.answer("mean", sums, noise).value[0] == pytest.approx(np.mean(there))


@given(st.dictionaries(st.integers(0, 2), values), st.dictionaries(st.integers(0, 2), values), st.integers(1, 3),
       st.integers(1, 2), st.sampled_from([1, 1000]))  # fmt: skip
def test_one_person_moves_the_sums_no_further_than_claimed(
    one: dict[int, list[int | None]], other: dict[int, list[int | None]], groups: int, rows: int, parts: int
) -> None:
    measure = MomentsOfAll(FirstMoments(Axis(0, 3, Fraction(1)), parts=parts))
    first: Person = {cell: _rows(column) for cell, column in one.items()}
    second: Person = {cell: _rows(column) for cell, column in other.items()}
    bounding = ContributionBounds(groups=groups, rows=rows, cells=3)
    assert within(distance(measure, first, {}, bounding), measure.sensitivity(bounding))
    replaced = ContributionBounds(groups=groups, rows=rows, cells=3, adjacency=ReplaceOne)
    assert within(distance(measure, first, second, replaced), measure.sensitivity(replaced))


def test_without_the_factor_two_a_replaced_person_moves_too_far() -> None:
    measure = MomentsOfAll(FirstMoments(AGES))
    bounding = ContributionBounds()
    assert not within(distance(measure, {0: [(120, 1)]}, {0: [(0, 0)]}, bounding), measure.sensitivity(bounding))


def test_intervals_cover_all_rows() -> None:
    measure = MomentsOfAll(FirstMoments(AGES))
    noise = Noise.laplace(
        1, measure.sensitivity(ContributionBounds(cells=20_000)), 20_000, 3, ContributionBounds(cells=20_000)
    )
    exact = np.tile(np.array([[30_000, 90_000, 12_000]]), (20_000, 1))
    estimate = measure.answer("rows", noise.release(exact), noise)
    assert estimate.interval is not None
    low, high = estimate.interval(0.9)
    covered = ((low <= 1100) & (high >= 1100)).sum()
    assert covered > 20_000 * 0.9 - 5 * 42.4  # five standard deviations
    assert measure.spread("rows", noise, rows=None, level=0.9) == pytest.approx((high - low)[0] / 2)


def test_averaging_keeps_the_shares() -> None:
    measure = MomentsOfAll(FirstMoments(AGES)).refine_for_averages()
    features = measure.features(30, 1)
    assert sum(features) == measure.row_sensitivity.l1
    assert measure.features(0, 0) == (0, 0, measure.row_sensitivity.l1)
