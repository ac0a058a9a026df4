"""Shares of true answers: no bias, and intervals whose coverage is computed exactly."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from celosia.core import InputError
from celosia.mechanisms import Proportions, RandomizedResponse
from celosia.mechanisms.proportions import _at_least


def law(t: int, n: int, if_true: float, if_not: float) -> NDArray[np.float64]:
    """The probabilities of 0 to n yes, when t of n people have it, by SciPy's binomials."""
    have, have_not = stats.binom.pmf(np.arange(t + 1), t, if_true), stats.binom.pmf(np.arange(n - t + 1), n - t, if_not)
    return np.convolve(have, have_not)


def test_the_tail_is_that_of_two_binomial_numbers() -> None:
    t_cases: list[tuple[int, int]] = [(0, 10), (3, 10), (10, 10), (1, 1), (50, 200)]
    if_true_cases: list[tuple[float, float]] = [(0.7, 0.2), (0.999, 0.001), (0.55, 0.5)]
    for t, n in t_cases:
        for if_true, if_not in if_true_cases:
            masses = law(t, n, if_true, if_not)
            for said in range(n + 2):
                assert _at_least(said, t, n, if_true, if_not) == pytest.approx(masses[said:].sum(), abs=1e-12)


def test_intervals_cover_the_level_and_hardly_more(*, thorough: bool) -> None:
    mechanism_cases: list[RandomizedResponse] = [
        RandomizedResponse(epsilon="0.5"),
        RandomizedResponse(epsilon=1),
        RandomizedResponse(epsilon=5),
        RandomizedResponse(truth="1/4"),
        RandomizedResponse.two_coins("1/3", "1/4"),
    ]
    level_cases: list[float] = [0.5, 0.95, 0.999]
    for mechanism in mechanism_cases:
        for level in level_cases:
            n = 80 if thorough else 40
            if_true, if_not = mechanism._probabilities()
            ends = [
                Proportions(counts=np.array([n - said, said]), if_true=if_true, if_not=if_not).confidence_interval(
                    level
                )
                for said in range(n + 1)
            ]
            low, high = np.array(ends).T
            covered = []
            for t in range(0, n + 1, n // 10):
                inside = (low <= t / n + 1e-12) & (t / n <= high + 1e-12)
                covered.append(float(law(t, n, if_true, if_not)[inside].sum()))
            assert min(covered) >= level - 1e-9
            if if_true - if_not < 0.8:  # else hardly anybody lies, and integers are far apart
                assert np.median(covered) < level + 0.75 * (
                    1 - level
                )  # an interval of twice the width would cover much more


def test_the_interval_is_narrower_than_the_transformed_one_of_clopper_and_pearson() -> None:
    estimate = RandomizedResponse(epsilon=5).estimate([True] * 700 + [False] * 1300)
    low, high = estimate.confidence_interval(0.95)
    wide = estimate._clopper_pearson(0.025)
    assert (high - low) < 0.25 * (wide[1][1] - wide[0][1])


def test_many_answers_have_an_interval_each_that_holds_the_estimate() -> None:
    estimate = RandomizedResponse(epsilon=2, categories=4).estimate(np.repeat(range(4), [40, 30, 20, 10]))
    low, high = estimate.confidence_interval()
    clipped = np.clip(estimate.values, 0, 1)
    assert ((low <= clipped) & (clipped <= high)).all()


def test_a_proportion_is_for_two_answers_and_a_repr_shows_the_estimate() -> None:
    estimate = RandomizedResponse(epsilon=2, categories=9).estimate(range(9))
    with pytest.raises(InputError, match="two answers"):
        _ = estimate.proportion
    assert repr(estimate).endswith("…], answers=9)")


def test_unanimous_answers_reach_the_end_of_the_scale() -> None:
    cases: list[list[bool]] = [[True] * 5, [False] * 5]
    for said in cases:
        low, high = RandomizedResponse(epsilon=3).estimate(said).confidence_interval()
        assert (high if said[0] else 1 - low) == 1
        assert 0 <= low < high <= 1
