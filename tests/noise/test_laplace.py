"""Discrete Laplace noise: its probabilities and margins against SciPy and exact sums; its values."""

from __future__ import annotations

import copy
import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from celosia.core import CelosiaError
from celosia.noise import DiscreteLaplace, Seeded
from celosia.noise.cells import cells_for

SCALES = ["0.001", "0.3", "1", "7/3", "10", "1000"]


def test_probabilities_are_those_of_scipy() -> None:
    for scale in SCALES:
        # scipy.stats.dlaplace: pmf(k) = tanh(a/2) exp(-a |k|), after Inusah and Kozubowski 2006.
        values = np.arange(-200, 201)
        values = values[np.abs(values) <= 700 * Fraction(scale)]  # where SciPy's exponential is not yet zero
        oracle = stats.dlaplace(a=float(1 / Fraction(scale)))
        assert DiscreteLaplace(scale).log_mass(values) == pytest.approx(oracle.logpmf(values), rel=1e-12)
        assert DiscreteLaplace(scale).log_mass(3).shape == ()


def test_probabilities_add_up_to_one() -> None:
    for scale in SCALES:
        reach = 45 * math.ceil(Fraction(scale))
        masses = np.exp(DiscreteLaplace(scale).log_mass(np.arange(-reach, reach + 1)))
        assert math.fsum(masses) == pytest.approx(1, abs=1e-13)


def check_a_margin_is_the_smallest_that_covers(scale: str, level: float) -> None:
    noise = DiscreteLaplace(scale)
    margin = noise.margin(level)

    def covered(reach: int) -> float:
        return math.fsum(np.exp(noise.log_mass(np.arange(-reach, reach + 1)))) if reach >= 0 else 0.0

    assert covered(margin) >= level - 1e-12
    assert covered(margin - 1) < level + 1e-12


def test_a_margin_is_the_smallest_that_covers() -> None:
    level_cases: list[float] = [0.01, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9]
    for scale, level in product(SCALES, level_cases):
        check_a_margin_is_the_smallest_that_covers(scale, level)


def test_moments_are_the_published_ones() -> None:
    # Inusah and Kozubowski 2006: variance 2p/(1-p)^2 and mean of |X| 2p/(1-p^2), with p = exp(-1/scale).
    p = math.exp(-1 / 5)
    drawn = DiscreteLaplace(5).sample(1_000_000, Seeded(7)).astype(np.float64)
    variance, size = 2 * p / (1 - p) ** 2, 2 * p / (1 - p**2)
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / 1e6)
    assert np.abs(drawn).mean() == pytest.approx(size, abs=5 * math.sqrt(variance / 1e6))
    assert drawn.var() == pytest.approx(variance, rel=5 * math.sqrt(5 / 1e6))


def test_a_scale_is_exact() -> None:
    assert DiscreteLaplace("0.1").scale == DiscreteLaplace(Decimal("0.1")).scale == Fraction(1, 10)
    assert DiscreteLaplace(0.1).scale == Fraction(0.1) != Fraction(1, 10)
    assert DiscreteLaplace("0.1")._cells.linear == 10


def test_a_scale_that_makes_no_sense_is_refused() -> None:
    cases: list[object] = [0, -1, float("nan"), float("inf"), 5e-324, "1e-400", "ten", None, True, 2.0**1022]
    for scale in cases:
        with pytest.raises(CelosiaError):
            DiscreteLaplace(scale)  # type: ignore[arg-type]


def test_extreme_scales_draw() -> None:
    assert not DiscreteLaplace(2.0**-1022).sample(1000, Seeded(7)).any()
    assert DiscreteLaplace(2**490).draw(Seeded(7)).bit_length() > 450
    with pytest.raises(CelosiaError, match="one by one"):
        DiscreteLaplace(2**60).sample(3)
    for count in (-1, 2.0, None):
        with pytest.raises(CelosiaError, match="count"):
            DiscreteLaplace(1).sample(count)  # type: ignore[arg-type]


def test_values_are_compared_and_shown_by_their_scale() -> None:
    one = DiscreteLaplace(3)
    cells_for.cache_clear()
    other = DiscreteLaplace(3)
    assert one._cells is not other._cells
    assert one == other
    assert hash(one) == hash(other)
    assert one != DiscreteLaplace(4)
    assert repr(one) == "DiscreteLaplace(scale=Fraction(3, 1))"
    again = copy.deepcopy(one)
    assert again == one
    assert again.sample(50, Seeded(7)).tolist() == one.sample(50, Seeded(7)).tolist()


def test_the_default_source_does_not_repeat() -> None:
    noise = DiscreteLaplace(2**30)
    assert noise.sample(8).tolist() != noise.sample(8).tolist()
    assert len({noise.draw() for _ in range(8)}) > 1
