"""What limits cut off, as measures: what one person can change, and shares with their intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from celosia.core import AddRemove, ParameterError, QueryError, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, CutPersons, CutRows, Noise


def test_one_person_changes_as_much_as_stated() -> None:
    """Compare with all pairs of persons whose rows, kept or cut off, in two cells sum to at most the stated number."""
    most = 3
    persons = [np.array(rows) for rows in product(range(most + 1), repeat=4) if sum(rows) <= most]
    for adjacency, others in ((AddRemove, [np.zeros(4)]), (ReplaceOne, persons)):
        found = CutRows(most).sensitivity(ContributionBounds(adjacency=adjacency, cells=2, unit="person"))
        changes = [one - other for one in persons for other in others]
        assert found.l1 == max(np.abs(change).sum() for change in changes)
        assert found.l2_squared == max((change**2).sum() for change in changes)
    one = CutPersons().sensitivity(ContributionBounds(adjacency=ReplaceOne, unit="person"))
    assert (one.l1, one.l2_squared) == (2, 2)


def test_shares_lie_in_their_intervals_as_often_as_stated() -> None:
    exact = np.array([[900, 300], [500, 0], [100, 200]])
    rows, bounding, runs = CutRows(most=20), ContributionBounds(cells=3, unit="person"), 400
    for noise in (
        Noise.laplace(1, rows.sensitivity(bounding), 3, 2, bounding),
        Noise.gaussian("0.5", rows.sensitivity(bounding), 3, 2, bounding),
    ):
        misses = 0
        for seed in range(runs):
            estimate = rows.answer("kept", noise.release(exact, Seeded(seed)), noise)
            assert estimate.interval is not None
            low, high = estimate.interval(0.9)
            assert low[0] <= estimate.value[0] <= high[0]
            misses += not low[0] <= 0.75 <= high[0]
        assert misses <= 0.1 * runs


def test_shares_stay_between_0_and_1() -> None:
    rows, bounding = CutRows(most=10), ContributionBounds(unit="person")
    noise = Noise.laplace(1, rows.sensitivity(bounding), 1, 2, bounding)
    for noisy, value in (([-5, -7], 0.5), ([-5, 40], 0.0), ([40, -5], 1.0), ([1000, 1000], 0.5)):
        estimate = rows.answer("kept", np.array([noisy]), noise)
        assert estimate.interval is not None
        low, high = estimate.interval(0.95)
        assert (estimate.value[0], 0 <= low[0] <= value <= high[0] <= 1) == (value, True)
    with pytest.raises(ParameterError, match="answers kept"):
        rows.answer("sum", np.array([[1, 1]]), noise)
    with pytest.raises(QueryError, match="no sum over rows"):
        rows.features(1)


def test_it_needs_a_whole_number_of_rows() -> None:
    for wrong in (0, -1, 2.5, "many"):
        with pytest.raises(ParameterError, match="most"):
            CutRows(most=wrong)  # type: ignore[arg-type] # on purpose
