"""Estimates: values and intervals, cell by cell."""

import numpy as np

from celosia.statistics.base.measure import Estimate


def test_an_interval_reaches_to_both_sides() -> None:
    estimate = Estimate.within(np.array([[1, 2], [3, 4]]), lambda level: round(10 * level))
    assert estimate.interval is not None
    low, high = estimate.interval(0.5)
    assert low.tolist() == [[-4, -3], [-2, -1]]
    assert high.tolist() == [[6, 7], [8, 9]]


def test_an_interval_holds_its_value() -> None:
    estimate = Estimate.around(np.array([0.0, 5.0, 9.0]), lambda level: (np.full(3, 4 - level), np.full(3, 6 + level)))
    assert estimate.interval is not None
    low, high = estimate.interval(0.5)
    assert low.tolist() == [0, 3.5, 3.5]
    assert high.tolist() == [6.5, 6.5, 9]


def test_a_choice_has_none() -> None:
    assert Estimate(value=np.array([1])).interval is None
