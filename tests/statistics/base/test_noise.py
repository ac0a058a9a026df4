"""Noise: the distribution that the event states, on every cell, and margins that hold for sums of it."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from celosia.core import (
    ZCDP,
    ApproxDP,
    GaussianEvent,
    InputError,
    LaplaceEvent,
    ParameterError,
    PureDP,
    ReplaceOne,
)
from celosia.mechanisms import Gaussian, Laplace
from celosia.noise import Seeded
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity
from tests.statistics.coverage import masses

SENSITIVITY = Sensitivity(l1=12, l2_squared=36)
PEOPLE = ContributionBounds(groups=2, rows=3, cells=5, adjacency=ReplaceOne, unit="person")


def test_events_say_what_is_run() -> None:
    laplace = Noise.laplace("0.5", SENSITIVITY, 5, 2, PEOPLE)
    assert laplace.event == LaplaceEvent(scale=24, sensitivity=12, dimension=10, adjacency=ReplaceOne, unit="person")
    assert laplace.guarantee == PureDP(epsilon="0.5", adjacency=ReplaceOne, unit="person")
    gaussian = Noise.gaussian("0.5", SENSITIVITY, 5, 2, PEOPLE)
    assert gaussian.event == GaussianEvent(
        variance=36, sensitivity_squared=36, dimension=10, adjacency=ReplaceOne, unit="person"
    )
    assert gaussian.guarantee == ZCDP(rho="0.5", adjacency=ReplaceOne, unit="person")
    approximate = Noise.approximate(1, "1e-6", SENSITIVITY, 5, 2, PEOPLE)
    assert approximate.guarantee == ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne, unit="person")
    assert [noise.kind for noise in (laplace, gaussian, approximate)] == ["Laplace", "Gaussian", "Gaussian"]


def p_value(noise: NDArray[np.int64], expected: NDArray[np.float64], reach: int) -> float:
    """Chi-square of draws against the probabilities of -reach to reach, the tails pooled."""
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    probabilities = expected.copy()
    probabilities[[0, -1]] += (1 - probabilities.sum()) / 2
    return float(stats.chisquare(counts, probabilities * noise.size).pvalue)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_every_coordinate_gets_noise_of_the_stated_scale(kind: str) -> None:
    make = Noise.laplace if kind == "laplace" else Noise.gaussian
    noise = make(2, Sensitivity(l1=12, l2_squared=144), 30_000, 2, ContributionBounds(cells=30_000))
    summary = np.arange(60_000, dtype=np.int64).reshape(30_000, 2) * 1_000
    drawn = noise.release(summary, Seeded(2)) - summary
    assert drawn.shape == summary.shape
    assert drawn.dtype == np.int64
    reach = 25
    for column in drawn.T:
        assert p_value(column, masses(noise, reach), reach) > 1e-6
        # The mutants: noise ten per cent off, and a missing factor of two.
        for factor in (1.1, 0.9, 2):
            wrong = make(2 * factor if kind == "laplace" else 2 * factor**2, Sensitivity(l1=12, l2_squared=144), 1, 1,
                         ContributionBounds())  # fmt: skip
            assert p_value(column, masses(wrong, reach), reach) < 1e-6
    assert drawn.var() == pytest.approx(noise.variance, rel=0.05)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.03


def test_fewer_cells_get_the_same_noise() -> None:
    for noise in (
        Noise.laplace(1, SENSITIVITY, 100, 2, ContributionBounds(cells=100)),
        Noise.gaussian(1, SENSITIVITY, 100, 2, ContributionBounds(cells=100)),
        Noise.approximate(1, "1e-6", SENSITIVITY, 100, 2, ContributionBounds(cells=100)),
    ):
        few = replace(noise, cells=3)
        assert few.variance == noise.variance
        assert few.margin(0.95) == noise.margin(0.95)
        assert few.release(np.zeros((3, 2), dtype=np.int64), Seeded(1)).shape == (3, 2)
        assert getattr(few.event, "dimension", None) == 6
        assert replace(noise, cells=0).event == noise.event


def test_whole_numbers_of_any_size_are_clipped() -> None:
    noise = Noise.laplace(1, SENSITIVITY, 2, 2, ContributionBounds(cells=2))
    summary = np.array([[2**70, -(2**70)], [3, 4]], dtype=object)
    noisy = noise.release(summary, Seeded(1))
    assert noisy.dtype == np.int64
    assert noisy[0, 0] <= 2**62 - 1
    assert noisy[0, 1] >= -(2**62 - 1)
    small = noise.release(np.array([[0, 0], [3, 4]], dtype=np.int64), Seeded(1))
    assert (small[1] == noisy[1]).all()


def test_a_summary_of_another_shape_or_type_is_refused() -> None:
    cases: list[Any] = [
        np.zeros((2, 3), dtype=np.int64),
        np.zeros(4, dtype=np.int64),
        np.zeros((2, 2)),
        np.zeros((2, 2), bool),
    ]
    for summary in cases:
        noise = Noise.laplace(1, SENSITIVITY, 2, 2, ContributionBounds(cells=2))
        with pytest.raises(InputError, match="summary must"):
            noise.release(summary, Seeded(1))


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, None, "x"])
def test_a_price_without_a_meaning_is_refused(epsilon: Any) -> None:
    makers: tuple[Any, ...] = (
        lambda: Noise.laplace(epsilon, SENSITIVITY, 1, 1, ContributionBounds()),
        lambda: Noise.gaussian(epsilon, SENSITIVITY, 1, 1, ContributionBounds()),
        lambda: Noise.approximate(epsilon, "1e-6", SENSITIVITY, 1, 1, ContributionBounds()),
        lambda: Noise.approximate(1, epsilon, SENSITIVITY, 1, 1, ContributionBounds()),
    )
    for make in makers:
        with pytest.raises(ParameterError):
            make()


def test_there_are_cells() -> None:
    cases: list[Any] = [0, -1, 1.5]
    for cells in cases:
        with pytest.raises(ParameterError, match=r"^cells must be "):
            Noise.laplace(1, SENSITIVITY, cells, 1, ContributionBounds())


def test_one_coordinate_has_the_margin_of_its_mechanism() -> None:
    assert Noise.laplace(1, SENSITIVITY, 5, 2, ContributionBounds(cells=5)).margin(0.9) == Laplace(
        epsilon=1, sensitivity=12
    ).error(0.9)
    assert Noise.gaussian("0.5", SENSITIVITY, 5, 2, ContributionBounds(cells=5)).margin(0.9) == Gaussian(
        rho="0.5", sensitivity_squared=36
    ).error(0.9)


WEIGHTS = [(1, 0), (1, 1), (1, -1), (0.7, 0.3), (0.95, -0.05), (3, 0.01), (0, 0)]


def test_margins_of_sums_hold_exactly() -> None:
    kind_cases: list[str] = ["laplace", "gaussian"]
    scale_cases: list[Fraction] = [Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(12)]
    level_cases: list[float] = [0.5, 0.8, 0.95, 0.99]
    for kind in kind_cases:
        for scale in scale_cases:
            for level in level_cases:
                one = Sensitivity(l1=1, l2_squared=1)
                noise = (
                    Noise.laplace(1 / scale, one, 1, 2, ContributionBounds())
                    if kind == "laplace"
                    else Noise.gaussian(1 / (2 * scale**2), one, 1, 2, ContributionBounds())
                )
                reach = int(30 * scale) + 5
                each = masses(noise, reach)
                values = np.arange(-reach, reach + 1)
                joint = np.outer(each, each)
                margins = noise.margin_of(WEIGHTS, level)
                for (a, b), margin in zip(WEIGHTS, margins, strict=True):
                    size = np.abs(a * values[:, None] + b * values[None, :])
                    assert joint[size <= margin + 1e-12].sum() >= level - 1e-9, (a, b)
                    # And none is needlessly wide: a few per cent and a step less would not do.
                    least = 0.96 * margin - abs(a) - abs(b)
                    assert scale < 3 or least <= 0 or joint[size <= least].sum() < level, (a, b)


def test_margins_of_one_coordinate_are_those_of_the_mechanism() -> None:
    noise = Noise.laplace(1, SENSITIVITY, 1, 3, ContributionBounds())
    for level in (0.5, 0.95, 0.999):
        assert noise.margin_of([0, -2, 0], level) == 2 * noise.margin(level)
    assert noise.margin_of(np.zeros((4, 0, 3))).shape == (4, 0)


def test_a_level_is_a_probability() -> None:
    cases: list[Any] = [0, 1, -0.5, 2, math.nan, None, "x"]
    for level in cases:
        noise = Noise.laplace(1, SENSITIVITY, 1, 2, ContributionBounds())
        with pytest.raises(ParameterError, match=r"^level must be "):
            noise.margin_of([1, 1], level)
