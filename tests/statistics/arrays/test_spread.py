"""Variance and standard deviation of arrays."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import AddRemove, LaplaceEvent, ParameterError, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics.arrays.spread import std, variance
from celosia.testing import check_mechanism
from tests.statistics.coverage import believable
from tests.statistics.function_mechanism import FunctionMechanism

SURE = 50_000  # an epsilon at which the noise is hardly anything


@given(st.lists(st.floats(-300, 300), min_size=1), st.sampled_from([AddRemove, ReplaceOne]))
def test_answers_are_numpys_of_clipped_values(values: list[float], adjacency: Any) -> None:
    clipped = np.clip(values, -50, 120)
    terms: Any = {"bounds": (-50, 120), "epsilon": SURE, "adjacency": adjacency}
    assert variance(np.array(values), **terms).value == pytest.approx(clipped.var(), abs=6)
    assert std(np.array(values), **terms).value == pytest.approx(clipped.std(), abs=2.5)


def test_missing_values_follow_the_rule() -> None:
    array = [0, None, 10, math.nan]
    assert variance(array, (0, 10), SURE).value == pytest.approx(25, abs=0.1)
    assert variance(array, (0, 10), SURE, null=5).value == pytest.approx(12.5, abs=0.1)
    assert 0 <= std([], (0, 10), 1).value <= 5


def test_the_price_is_that_of_one_number() -> None:
    assert variance(np.array([1, 2]), (0, 10), 1).event == LaplaceEvent(scale=100, sensitivity=100, dimension=3)
    assert std(np.array([1, 2]), (0, 10), 1, adjacency=ReplaceOne).event == LaplaceEvent(
        scale=200, sensitivity=200, dimension=3, adjacency=ReplaceOne
    )
    fine: Any = variance(np.array([1.0]), (0, 10), 1).event
    assert fine.sensitivity <= 2**32


@pytest.mark.parametrize(("function", "oracle"), [(variance, np.var), (std, np.std)])
def test_intervals_cover(function: Any, oracle: Any) -> None:
    ages = np.random.default_rng(1).integers(20, 90, 2_000)
    source, draws, level, held = Seeded(4), 120, 0.8, 0
    for _ in range(draws):
        release = function(ages, (0, 120), 1, source=source)
        low, high = release.confidence_interval(level)
        assert 0 <= low <= release.value <= high
        held += low <= oracle(ages) <= high
    assert believable(held, draws, level)
    assert held < 0.93 * draws


def test_the_guarantee_is_kept() -> None:
    pair = (np.array([0, 2, 1]), np.array([0, 2]))
    report = check_mechanism(
        FunctionMechanism(variance, pair[0], bounds=(0, 2), epsilon=1), [pair], samples=700, processes=2
    )
    assert report.lower_bound <= 1


def test_parameters_without_a_meaning_are_refused() -> None:
    function_cases: list[Any] = [variance, std]
    terms_cases: list[Any] = [{"bounds": (1, 0)}, {"epsilon": -1}, {"grid": -1}, {"null": 99}]
    for function in function_cases:
        for terms in terms_cases:
            with pytest.raises(ParameterError):
                function([1, 2], **({"bounds": (0, 10), "epsilon": 1} | terms))
