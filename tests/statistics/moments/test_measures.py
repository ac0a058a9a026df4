"""Counts, sums and histograms: what one unit changes, and answers in the caller's units."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity
from celosia.statistics.moments.bernstein import FirstMoments
from celosia.statistics.moments.measures import Bins, CentredSum, Distinct, RowCount, Total
from tests.statistics.neighbours import noise_of

AGES = Axis(0, 120, Fraction(1))


# -------------------------------------------------------------------------------------------------------------- privacy


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5), max_size=3), st.lists(st.integers(0, 5), max_size=3))
def test_a_person_brings_no_more_new_values_than_rows(others: list[int], one: list[int], two: list[int]) -> None:
    def distinct(rows: list[int]) -> int:
        return len({*others, *rows})

    claimed = Distinct().sensitivity(ContributionBounds(rows=3)).l1
    assert abs(distinct(one) - distinct([])) <= claimed
    assert (
        abs(distinct(one) - distinct(two))
        <= Distinct().sensitivity(ContributionBounds(rows=3, adjacency=ReplaceOne)).l1
    )


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_a_person_fills_no_more_bins_than_rows(one: list[int], two: list[int]) -> None:
    a, b = (np.bincount(np.array(rows, dtype=int), minlength=4) for rows in (one, two))
    for bounding, gap in ((ContributionBounds(rows=3), a), (ContributionBounds(rows=3, adjacency=ReplaceOne), a - b)):
        claimed = Bins(4).sensitivity(bounding)
        assert np.abs(gap).sum() <= claimed.l1
        assert (gap**2).sum() <= claimed.l2_squared


def test_a_row_that_changes_its_bin_changes_two() -> None:
    assert Bins(4).sensitivity(ContributionBounds(adjacency=ReplaceOne)) == Sensitivity(l1=2, l2_squared=2)
    assert Bins(4).sensitivity(ContributionBounds()) == Sensitivity(l1=1, l2_squared=1)
    assert Bins(1).sensitivity(ContributionBounds(adjacency=ReplaceOne)) == Sensitivity(l1=1, l2_squared=1)


# -------------------------------------------------------------------------------------------------------------- answers


def test_counts_are_answered_as_they_are() -> None:
    noisy = np.array([[7], [-2], [2**61]])
    for measure, quantity in ((RowCount(), "count"), (Distinct(), "distinct")):
        noise = noise_of(measure)
        estimate = measure.answer(quantity, noisy, noise)
        assert estimate.value.tolist() == [7, -2, 2**61]
        assert estimate.interval is not None
        low, high = estimate.interval(0.95)
        assert (high - low).tolist() == [2 * noise.margin(0.95)] * 3
        assert measure.spread(quantity, noise, rows=None) == noise.margin(0.95)


def test_histograms_are_answered_bin_by_bin() -> None:
    noisy = np.arange(12).reshape(3, 4)
    estimate = Bins(4).answer("histogram", noisy, noise_of(Bins(4)))
    assert (estimate.value == noisy).all()
    assert estimate.interval is not None
    assert estimate.interval(0.95)[0].shape == (3, 4)
    assert Bins(4).spread("histogram", noise_of(Bins(4)), rows=None) == 3


def test_sums_are_in_the_callers_units() -> None:
    noisy = np.array([[10], [-5], [0]])
    whole = Total(AGES).answer("sum", noisy, noise_of(Total(AGES)))
    assert whole.value.dtype == np.int64
    assert whole.value.tolist() == [10, -5, 0]
    tenths = Total(Axis(-30, 30, Fraction(1, 10)))
    real = tenths.answer("sum", noisy, noise_of(tenths))
    assert real.value == pytest.approx([1, -0.5, 0])
    assert real.interval is not None
    low, high = real.interval(0.95)
    assert high - low == pytest.approx([2 * 90 / 10] * 3)
    assert tenths.spread("sum", noise_of(tenths), rows=None) == pytest.approx(9)
    parts = Total(AGES, parts=4)
    assert parts.answer("sum", noisy, noise_of(parts)).value.tolist() == [2.5, -1.25, 0]


def test_a_centred_sum_knows_its_rows() -> None:
    measure = CentredSum(Axis(0, 10, Fraction(1, 2)), rows=4)
    bounding = ContributionBounds(adjacency=ReplaceOne)
    noise = Noise.laplace(1, measure.sensitivity(bounding), 1, 1, bounding)
    k = np.array([0, 10, 10, 3])
    summary = np.array([[int(measure.features(k)[0].sum())]])
    assert measure.answer("sum", summary, noise).value.tolist() == [11.5]
    assert measure.answer("mean", summary, noise).value.tolist() == [2.875]
    far = measure.answer("mean", np.array([[10**9]]), noise)
    assert far.value.tolist() == [5]
    assert far.interval is not None
    assert [end.tolist() for end in far.interval(0.95)] == [[5], [5]]
    assert measure.spread("mean", noise, rows=None) == pytest.approx(noise.margin(0.95) / 4 / 4)
    low, high = measure.answer("sum", summary, noise).interval(0.95)  # type: ignore[misc]
    assert (high - low).tolist() == [noise.margin(0.95) / 2]


def test_a_centred_sum_needs_a_public_number_of_rows() -> None:
    cases: list[Any] = [{}, {"adjacency": ReplaceOne, "rows": 2}, {"adjacency": ReplaceOne, "cells": 2}]
    for bounds in cases:
        with pytest.raises(ParameterError, match="public only under ReplaceOne"):
            CentredSum(AGES, rows=10).sensitivity(ContributionBounds(**bounds))


def test_rows_are_a_whole_number() -> None:
    cases: list[Any] = [-1, 2.5, None, True]
    for rows in cases:
        with pytest.raises(ParameterError, match=r"^rows must be "):
            CentredSum(AGES, rows=rows)


def test_bins_are_a_whole_number() -> None:
    cases: list[Any] = [0, -1, 2.5, None, True]
    for count in cases:
        with pytest.raises(ParameterError, match=r"^count must be "):
            Bins(count)


@pytest.mark.parametrize("measure", [RowCount(), Total(AGES), FirstMoments(AGES)], ids=repr)
def test_previews_tell_the_error_that_comes(measure: Measure) -> None:
    cells, rows = 4_000, 10_000
    noise = noise_of(measure, cells=cells)
    k = np.resize(np.arange(121), rows)
    sums = [np.sum(feature) if not isinstance(feature, int) else feature * rows for feature in measure.features(k)]
    noisy = noise.release(np.tile(np.array(sums, dtype=np.int64), (cells, 1)), Seeded(3))
    truth = {"count": rows, "sum": k.sum(), "mean": k.mean()}
    for quantity in measure.quantities:
        told = measure.spread(quantity, noise, rows=rows)
        seen = np.quantile(np.abs(measure.answer(quantity, noisy, noise).value - truth[quantity]), 0.95)
        assert told is not None
        assert 0.9 * told / 1.5 <= seen <= 1.05 * told


def test_an_empty_table_of_public_length_has_a_sum_near_zero_and_any_mean() -> None:
    measure = CentredSum(Axis(0, 120, Fraction(1)), rows=0)
    bounding = ContributionBounds(adjacency=ReplaceOne)
    noise = Noise.laplace(1, measure.sensitivity(bounding), 1, 1, bounding)
    total = measure.answer("sum", np.array([[0]]), noise)
    mean = measure.answer("mean", np.array([[0]]), noise)
    assert total.value.tolist() == [0.0]
    assert mean.interval is not None
    assert (mean.value.tolist(), *(end.tolist() for end in mean.interval(0.95))) == ([60.0], [0.0], [120.0])
