"""All measures: neighbours' exact summaries are never further apart than claimed, and can be as far."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import AddRemove, Adjacency, ParameterError, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Measure, nearer, parts_of
from celosia.statistics.base.noise import ContributionBounds, Sensitivity
from celosia.statistics.moments.bernstein import FirstMoments, SecondMoments
from celosia.statistics.moments.cross_moments import CrossMoments
from celosia.statistics.moments.half_half import HalfHalfMean
from celosia.statistics.moments.measures import Bins, Distinct, RowCount, Total
from tests.statistics.neighbours import (
    TINY,
    Person,
    boundings,
    distance,
    measures,
    noise_of,
    persons,
    tiny_measures,
    within,
)

AGES = Axis(0, 120, Fraction(1))


@settings(max_examples=400)
@given(st.data())
def test_one_person_changes_no_more_than_the_sensitivity(data: st.DataObject) -> None:
    measure, bounding = data.draw(measures()), data.draw(boundings())
    one = data.draw(persons(measure, bounding))
    other = data.draw(persons(measure, bounding)) if bounding.adjacency is ReplaceOne else {}
    assert within(distance(measure, one, other, bounding), measure.sensitivity(bounding))


def farthest(measure: Measure, bounding: ContributionBounds) -> Sensitivity:
    """The largest distances over persons who have the same row as often as they may, wherever they may."""
    rows: list[Any] = [None, *itertools.product(*(range(axis.steps + 1) for axis in measure.axes))]
    places = [range(bounding.groups), range(bounding.cells - bounding.groups, bounding.cells)]
    l1 = l2_squared = 0
    others: list[Any] = [None] if bounding.adjacency is AddRemove else rows
    for row, other, place in itertools.product(rows, others, places):
        one: Person = {} if row is None else {cell: [row] * bounding.rows for cell in places[0]}
        two: Person = {} if other is None else {cell: [other] * bounding.rows for cell in place}
        found = distance(measure, one, two, bounding)
        l1, l2_squared = max(l1, found.l1), max(l2_squared, found.l2_squared)
    return Sensitivity(l1=l1, l2_squared=l2_squared)


@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne], ids=repr)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 1), (2, 1, 4), (2, 3, 4)], ids=str)
def test_the_sensitivity_is_reached(shape: tuple[int, int, int], adjacency: Adjacency) -> None:
    groups, rows, cells = shape
    bounding = ContributionBounds(groups=groups, rows=rows, cells=cells, adjacency=adjacency)
    for measure in tiny_measures():
        assert farthest(measure, bounding) == measure.sensitivity(bounding), measure


@pytest.mark.parametrize("measure", [FirstMoments(AGES), Total(AGES), RowCount(), SecondMoments(TINY[0])], ids=repr)
def test_a_sensitivity_without_the_factor_of_a_replaced_row_would_be_caught(measure: Measure) -> None:
    replaced = ContributionBounds(groups=2, rows=2, cells=4, adjacency=ReplaceOne)
    added = ContributionBounds(groups=2, rows=2, cells=4)
    mutant = measure.sensitivity(added)  # what a plan claims that forgets the adjacency
    rows = [tuple(axis.steps for axis in measure.axes)] * 2
    gap = distance(measure, {0: rows, 1: rows}, {2: rows, 3: rows}, replaced)
    assert within(gap, measure.sensitivity(replaced))
    assert not within(gap, mutant)


@given(st.data())
def test_features_are_the_same_for_numbers_and_arrays(data: st.DataObject) -> None:
    measure = data.draw(measures())
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, axis.steps) for axis in measure.axes)), min_size=1))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    together = np.array([np.broadcast_to(feature, len(rows)) for feature in measure.features(*columns)])
    assert together.T.tolist() == [list(measure.features(*row)) for row in rows]
    for feature, (low, high) in zip(together, measure.reach, strict=True):
        assert low <= feature.min()
        assert feature.max() <= high
    assert np.abs(together).sum(axis=0).max() <= measure.row_sensitivity.l1 <= 2**40


@pytest.mark.parametrize(
    "axis",
    [
        Axis(-(2**29), 2**29, Fraction(1, 3)),
        Axis(2**52 - 9, 2**52, Fraction(1)),
        Axis(-(2**52), 2**30 - 2**52, Fraction(1, 10)),
        Axis(0, 1, Fraction(1)),
    ],
    ids=repr,
)
def test_rows_stay_small_on_every_axis(axis: Axis) -> None:
    pairs = [CrossMoments(axis, axis, degree=degree) for degree in (1, 2)]
    for measure in (Total(axis), FirstMoments(axis), SecondMoments(axis), HalfHalfMean(axis), *pairs):
        for made in (measure, measure.refine_for_averages()):
            assert 0 < made.row_sensitivity.l1 <= 2**40
            assert all(found.low <= axis.low and axis.high <= found.high for found in made.axes)


def test_averaged_measures_are_cut_so_finely_that_rounding_is_none() -> None:
    measure = FirstMoments(Axis(0, 1, Fraction(1)))
    thirds = distance(measure, {0: [(1,), (0,), (0,)]}, {}, ContributionBounds())
    assert thirds.l1 == 0  # a yes and two no averaged into one row: rounded away
    fine = measure.refine_for_averages()
    assert distance(fine, {0: [(1,), (0,), (0,)]}, {}, ContributionBounds()).l1 == fine.total - 1
    assert RowCount().refine_for_averages() == RowCount()
    assert [parts_of(total) for total in (1, 3, 2**24, 2**25)] == [2**24, 2**22, 1, 1]


def test_an_axis_far_from_zero_gets_coarser() -> None:
    assert nearer(AGES, 1000) == AGES
    assert nearer(Axis(-1000, 3, Fraction(1, 2)), 300) == Axis(-250, 1, Fraction(2))


@pytest.mark.parametrize("measure", [*tiny_measures(), Distinct(), Bins(2)], ids=repr)
def test_what_a_measure_cannot_answer_is_refused(measure: Measure) -> None:
    noise = noise_of(measure, cells=1)
    for ask in (measure.answer, lambda *asked: measure.spread(asked[0], noise, rows=10)):
        with pytest.raises(ParameterError, match=r"answers .*, not 'median'\.$"):
            ask("median", np.zeros((1, measure.width), dtype=np.int64), noise)


@pytest.mark.parametrize("measure", [*tiny_measures(), Distinct(), Bins(2)], ids=repr)
def test_every_answer_is_finite_and_inside_its_interval(measure: Measure) -> None:
    noise = noise_of(measure, cells=200, epsilon="0.01")
    rng = np.random.default_rng(7)
    noisy = np.concatenate(
        [
            rng.integers(-50, 50, size=(100, measure.width)),
            np.array([[0] * measure.width, [2**62 - 1] * measure.width, [1 - 2**62] * measure.width]),
            rng.integers(-(2**62), 2**62, size=(97, measure.width)),
        ]
    )
    for quantity in measure.quantities:
        estimate = measure.answer(quantity, noisy, noise)
        assert np.isfinite(estimate.value).all(), quantity
        assert len(estimate.value) == 200
        for level in (0.01, 0.5, 0.95, 0.999999):
            assert estimate.interval is not None
            low, high = estimate.interval(level)
            assert np.isfinite(low).all()
            assert np.isfinite(high).all()
            assert (low <= high).all(), quantity
            if quantity != "count":
                scale = np.abs(estimate.value) * 1e-9 + 1e-9
                assert (low - scale <= estimate.value).all(), quantity
                assert (estimate.value <= high + scale).all(), quantity


def test_no_cells_no_answers() -> None:
    for measure in (*tiny_measures(), Distinct(), Bins(2)):
        for quantity in measure.quantities:
            estimate = measure.answer(quantity, np.zeros((0, measure.width), dtype=np.int64), noise_of(measure))
            assert len(estimate.value) == 0
            assert estimate.interval is not None
            assert [len(end) for end in estimate.interval(0.95)] == [0, 0]
