"""What is summed, combined and noised; how far one unit moves it."""

import numpy as np
import pytest

from celosia.core import AddRemove, Adjacency, InputError, ParameterError, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics import Bounding, Footprint, Inquiry, Noise, Part, RowCount, check_learner, reached

FOOTPRINT = Footprint(l1=3, l2_squared=5, across_l1=2, across_l2_squared=2)


def _inquiry(combination: np.ndarray | None = None, classes: tuple[int, ...] = (0, 1)) -> Inquiry:
    width = 3 if combination is None else len(combination)
    noise = Noise.laplace(1, reached(FOOTPRINT, Bounding()), 1, width, Bounding())
    return Inquiry(
        parts=(Part(measure=RowCount(), columns=(), by_class=True), Part(measure=RowCount(), columns=())),
        footprint=FOOTPRINT,
        bounding=Bounding(),
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
    found = reached(FOOTPRINT, Bounding(rows=rows, adjacency=adjacency), droppable=droppable)
    assert (found.l1, found.l2_squared) == (l1, l2_squared)


def test_groups_count_as_rows() -> None:
    found = reached(FOOTPRINT, Bounding(rows=2, groups=3, cells=5))
    assert (found.l1, found.l2_squared) == (18, 180)


def test_sums_are_combined_exactly_however_large() -> None:
    combination = np.array([[1, -1, 0], [0, 0, 3]])
    huge = 2**70
    sums = [np.array([[huge], [huge - 1]], dtype=object), np.array([[huge]], dtype=object)]
    inquiry = _inquiry(combination)
    assert (inquiry.summed, inquiry.width) == (3, 2)
    assert inquiry.combined(sums).tolist() == [1, 3 * huge]


def test_sums_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match="3 whole numbers"):
        _inquiry().combined([np.array([[1], [2]])])


def test_noise_is_added_once_to_each() -> None:
    inquiry = _inquiry()
    noisy = inquiry.release(np.array([10, 20, 30]), Seeded(7))
    plain = inquiry.noise.release(np.array([[10, 20, 30]]), Seeded(7))
    assert noisy.tolist() == plain[0].tolist()


def test_only_learners_learn() -> None:
    with pytest.raises(ParameterError, match="fit it in memory"):
        check_learner("model")
