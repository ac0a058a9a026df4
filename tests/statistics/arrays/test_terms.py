"""Terms: the price as it was given, the better of two noises, the source, and nothing exact in the release."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core import ApproxDP, GaussianEvent, LaplaceEvent, ParameterError, PureDP, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics.arrays.terms import Terms, noise_for
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.moments.bernstein import FirstMoments
from celosia.statistics.moments.measures import Bins, RowCount

AGES = FirstMoments(Axis(0, 120, Fraction(1)))


def test_without_a_delta_the_noise_is_laplaces() -> None:
    release = Terms(epsilon="0.1").release(RowCount(), "count", np.array([[108]]))
    assert release.event == LaplaceEvent(scale=10, sensitivity=1)
    assert release.guarantee == PureDP(epsilon="0.1")
    assert release.seeded is False
    assert isinstance(release.value, int)


def test_with_a_delta_the_better_noise_is_taken() -> None:
    one = noise_for(RowCount(), "count", 1, "1e-6", ContributionBounds())
    assert isinstance(one.event, LaplaceEvent)  # for one count Laplace noise is better
    moved = ContributionBounds(groups=50, cells=100)
    many = noise_for(RowCount(), "count", 1, "1e-6", moved, cells=100)
    assert isinstance(many.event, GaussianEvent)
    assert many.guarantee == ApproxDP(epsilon=1, delta="1e-6")
    alone = noise_for(RowCount(), "count", 1, None, moved, cells=100)
    assert many.margin(0.95) < alone.margin(0.95)
    for noise, other in ((one, "approximate"), (many, "laplace")):
        assert noise.kind == ("Laplace" if other == "approximate" else "Gaussian")


def test_ratios_are_compared_too() -> None:
    assert noise_for(AGES, "mean", "0.5", "1e-9", ContributionBounds()).kind == "Laplace"
    assert noise_for(AGES, "mean", 8, "0.1", ContributionBounds(groups=30, cells=30)).kind == "Gaussian"


def test_the_terms_are_in_the_event() -> None:
    terms = Terms(epsilon=1, adjacency=ReplaceOne, unit="household", source=Seeded(1))
    release = terms.release(Bins(3), "histogram", np.array([[1, 2, 3]]))
    assert release.event == LaplaceEvent(scale=2, sensitivity=2, dimension=3, adjacency=ReplaceOne, unit="household")
    assert release.seeded
    assert release.value.shape == (3,)
    low, high = release.confidence_interval(0.95)
    assert (high - low).tolist() == [2 * 6] * 3


def test_a_release_is_repeatable_with_a_seed_only() -> None:
    summary = np.array([[500, 700]])
    first, second = (Terms(epsilon=1, source=Seeded(3)).release(AGES, "mean", summary) for _ in range(2))
    assert first == second
    fresh = {Terms(epsilon=1).release(AGES, "mean", summary).value for _ in range(10)}
    assert len(fresh) > 1


def test_terms_without_a_meaning_are_refused() -> None:
    cases: list[Any] = [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": None},
        {"epsilon": True},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": math.nan},
        {"epsilon": 1, "adjacency": "bounded"},
        {"epsilon": 1, "unit": ""},
        {"epsilon": 1, "source": 7},
    ]
    for terms in cases:
        with pytest.raises(ParameterError):
            Terms(**terms).release(RowCount(), "count", np.array([[108]]))
