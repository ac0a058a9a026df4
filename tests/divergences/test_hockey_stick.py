"""The hockey-stick divergence is the largest excess over events."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import ParameterError
from celosia.divergences import Discrete, MultivariateNormal, Normal, Samples, hockey_stick, total_variation
from tests.divergences.laws import Four, Two, fours, kernels, twos

EPSILONS = st.floats(0, 5)


@given(twos(), EPSILONS)
def test_it_is_the_largest_excess_over_events(pair: Two, epsilon: float) -> None:
    events = (np.array(event) for event in itertools.product([False, True], repeat=len(pair[0])))
    excess = max(pair[0][event].sum() - math.exp(epsilon) * pair[1][event].sum() for event in events)
    assert hockey_stick(*pair, epsilon) == pytest.approx(excess, abs=1e-12)


@given(twos())
def test_total_variation_is_half_the_sum_of_differences(pair: Two) -> None:
    assert total_variation(*pair) == pytest.approx(np.abs(pair[0] - pair[1]).sum() / 2, abs=1e-12)
    assert total_variation(*pair) == pytest.approx(total_variation(*pair[::-1]), abs=1e-12)


@given(twos(), EPSILONS, EPSILONS)
def test_it_falls_with_epsilon(pair: Two, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert hockey_stick(*pair, low) >= hockey_stick(*pair, high) - 1e-12


@given(twos(), EPSILONS, st.data())
def test_post_processing(pair: Two, epsilon: float, data: st.DataObject) -> None:
    kernel = data.draw(kernels(len(pair[0])))
    assert hockey_stick(pair[0] @ kernel, pair[1] @ kernel, epsilon) <= hockey_stick(*pair, epsilon) + 1e-12


@given(fours(), st.floats(0, 1), EPSILONS)
def test_it_is_jointly_convex(four: Four, share: float, epsilon: float) -> None:
    p1, q1, p2, q2 = four
    mixed = hockey_stick(share * p1 + (1 - share) * p2, share * q1 + (1 - share) * q2, epsilon)
    apart = share * hockey_stick(p1, q1, epsilon) + (1 - share) * hockey_stick(p2, q2, epsilon)
    assert mixed <= apart + 1e-12


def test_numeric_pairs() -> None:
    assert hockey_stick(stats.norm(1), stats.norm(), 1) == pytest.approx(
        hockey_stick(Normal(1, 1), Normal(0, 1), 1), rel=1e-9
    )
    geometric = hockey_stick(stats.geom(0.5), stats.geom(0.25), 0.1)
    k = np.arange(1, 200)
    direct = np.maximum(stats.geom(0.5).pmf(k) - math.exp(0.1) * stats.geom(0.25).pmf(k), 0).sum()
    assert geometric == pytest.approx(direct, rel=1e-9)
    assert total_variation(Samples([1, 2]), Samples([2, 3])) == pytest.approx(0.5)
    p = Discrete(points=np.array([0]), probabilities=np.array([1.0]))
    assert hockey_stick(p, Discrete(points=np.array([1]), probabilities=np.array([1.0])), 50) == 1


def test_unequal_covariances_have_no_closed_form() -> None:
    one, two = (MultivariateNormal(np.zeros(2), scale * np.eye(2)) for scale in (1, 2))
    with pytest.raises(ParameterError, match="p is"):
        hockey_stick(one, two, 1)


def test_neighbours_estimate_other_things() -> None:
    with pytest.raises(ParameterError, match="use bins"):
        hockey_stick(Samples([1.0, 2.0], neighbours=1), Samples([1.0, 3.0], neighbours=1), 1)


def test_bad_epsilons() -> None:
    cases: list[Any] = [-1, math.inf, math.nan, True, "1"]
    for epsilon in cases:
        with pytest.raises(ParameterError, match="epsilon"):
            hockey_stick([0.5, 0.5], [0.5, 0.5], epsilon)
