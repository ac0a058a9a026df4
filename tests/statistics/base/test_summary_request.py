"""What is summed, combined and noised; how far one unit moves it."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from celosia.core import AddRemove, Adjacency, InputError, ParameterError, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import (
    ContributionBounds,
    Noise,
    Part,
    Products,
    RowCount,
    RowSensitivity,
    SummaryRequest,
    check_learner,
    unit_sensitivity,
)

SENSITIVITY = RowSensitivity(l1=3, l2_squared=5, replace_l1=2, replace_l2_squared=2)


def build_request(combination: Any = None, classes: tuple[int, ...] = (0, 1)) -> SummaryRequest:
    width = 3 if combination is None else combination.shape[0]
    noise = Noise.laplace(1, unit_sensitivity(SENSITIVITY, ContributionBounds()), 1, width, ContributionBounds())
    return SummaryRequest(
        parts=(Part(measure=RowCount(), columns=(), by_class=True), Part(measure=RowCount(), columns=())),
        row_sensitivity=SENSITIVITY,
        bounding=ContributionBounds(),
        noise=noise,
        event=noise.event,
        guarantee=noise.guarantee,
        classes=classes,
        combination=combination,
    )


@pytest.mark.parametrize(
    ("adjacency", "rows", "droppable", "l1", "l2_squared"),
    [
        (AddRemove, 1, False, 3, 5),
        (AddRemove, 4, False, 12, 80),
        (ReplaceOne, 1, False, 2, 2),
        (ReplaceOne, 1, True, 3, 5),  # a replaced row may come or go
        (ReplaceOne, 4, False, 24, 320),  # averages were rounded: twice the distance from none
    ],
)
def test_how_far_a_unit_reaches(adjacency: Adjacency, rows: int, droppable: bool, l1: int, l2_squared: int) -> None:  # noqa: FBT001 - a case
    found = unit_sensitivity(SENSITIVITY, ContributionBounds(rows=rows, adjacency=adjacency), droppable=droppable)
    assert (found.l1, found.l2_squared) == (l1, l2_squared)


def test_groups_count_as_rows() -> None:
    found = unit_sensitivity(SENSITIVITY, ContributionBounds(rows=2, groups=3, cells=5))
    assert (found.l1, found.l2_squared) == (18, 180)


def test_sums_are_combined_exactly_however_large() -> None:
    combination = np.array([[1, -1, 0], [0, 0, 3]])
    huge = 2**70
    sums = [np.array([[huge], [huge - 1]], dtype=object), np.array([[huge]], dtype=object)]
    request = build_request(combination)
    assert (request.sum_count, request.width) == (3, 2)
    assert request.combine(sums).tolist() == [1, 3 * huge]


def test_sums_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match="3 integers"):
        build_request().combine([np.array([[1], [2]])])


def test_noise_is_added_once_to_each() -> None:
    request = build_request()
    noisy = request.release(np.array([10, 20, 30]), Seeded(7))
    plain = request.noise.release(np.array([[10, 20, 30]]), Seeded(7))
    assert noisy.tolist() == plain[0].tolist()


def test_only_learners_learn() -> None:
    with pytest.raises(ParameterError, match="fit in memory"):
        check_learner("model")


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_that_were_cut_off_are_refused_whatever_the_noise(sign: int) -> None:
    request = build_request()
    assert abs(int(request.release(np.array([sign * 2**60, 0, 0]), Seeded(1))[0]) - sign * 2**60) < 1000
    for seed in range(20):
        with pytest.raises(InputError, match="more rows than can be added up"):
            request.release(np.array([0, 0, sign * 2**70], dtype=object), Seeded(seed))


def test_sparse_matrices_combine_as_dense_ones_do() -> None:
    dense = np.array([[1, -1, 0], [0, 0, 3], [0, 0, 0]])
    sums = [np.array([[5], [7]]), np.array([[2**61]])]
    assert build_request(csr_array(dense)).combine(sums).tolist() == build_request(dense).combine(sums).tolist()
    assert build_request(csr_array(dense)).width == 3


@pytest.mark.parametrize(("shorter", "shorter_squared", "enough"), [(0, 0, True), (1, 0, False), (0, 1, False)])
def test_averages_are_bounded_by_the_box_of_one_class(shorter: int, shorter_squared: int, enough: bool) -> None:  # noqa: FBT001 - a case
    """A row combines to x + r n and r n with |x| <= r; a rounded average has any of |x| <= r and |n| <= 1."""
    part = Part(measure=Products((Axis(0, 2**16, Fraction(1)),), ((), (0,))), columns=(0,), by_class=True)
    r = 2**16
    matrix = np.array([[r, 1, r, 1], [r, 0, r, 0]])  # the same in both classes: a row is in one
    box = RowSensitivity(l1=3 * r - shorter, l2_squared=5 * r**2 - shorter_squared, replace_l1=0, replace_l2_squared=0)
    request = replace(build_request(matrix), parts=(part,), row_sensitivity=box)
    assert request.bounds_averages is enough
    assert replace(request, combination=None).bounds_averages
    assert not build_request(np.eye(3, dtype=np.int64)).bounds_averages  # of other measures nothing is known
