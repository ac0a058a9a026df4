"""Texts that nobody listed: what is run, what is said, and which are kept."""

from fractions import Fraction

import numpy as np
import pytest

from celosia.core import KeySelectionEvent, ParameterError, ReplaceOne
from celosia.mechanisms import StableKeys
from celosia.statistics import ContributionBounds, PrivateTopK

MILLIONTH = Fraction(1, 10**6)


def test_it_runs_the_selection_of_private_keys() -> None:
    bounding = ContributionBounds(groups=1, rows=7, adjacency=ReplaceOne, unit="person")
    measure = PrivateTopK(k=3, groups=2, delta=MILLIONTH)
    keys = StableKeys(epsilon="0.5", delta=MILLIONTH, groups=2, adjacency=ReplaceOne, unit="person")
    event = measure.event("0.5", bounding)
    assert isinstance(event, KeySelectionEvent)
    assert event == keys.event == measure.keys("0.5", bounding).event
    assert event.affected_keys == 4
    assert measure.spread("0.5", bounding, level=0.99) == keys.error(0.99)
    one, two = measure.explain("0.5", bounding)
    assert str(keys.threshold) in one
    assert str(keys.sure_count()) in one
    assert two == "One person counts for at most 2 of the texts."


def test_the_largest_noisy_numbers_are_kept_and_ties_go_by_the_alphabet() -> None:
    measure = PrivateTopK(k=2)
    cells, texts = np.array([1, 0, 0, 0, -1, 5]), ["z", "b", "a", "c", "lost", "lost"]
    assert measure.best(cells, texts, np.array([4, 9, 9, 8, 99, 99]), 3) == [["a", "b"], ["z"], []]
    assert measure.best(np.empty(0, dtype=np.int64), [], np.empty(0, dtype=np.int64), 1) == [[]]


def test_what_has_no_epsilon_or_delta_is_refused() -> None:
    with pytest.raises(ParameterError, match="need an epsilon"):
        PrivateTopK(k=1, delta=MILLIONTH).event(None, ContributionBounds(), rho=1)
    with pytest.raises(ParameterError, match="delta"):
        PrivateTopK(k=1).event(1, ContributionBounds())
    for wrong in ({"k": 0}, {"k": "1"}, {"k": 1, "groups": 0}):
        with pytest.raises(ParameterError):
            PrivateTopK(**wrong)
