"""Geometric noise against SciPy's geometric distribution and its moments."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from celosia.core import CelosiaError
from celosia.noise import Geometric, Seeded


def test_probabilities_are_those_of_scipy() -> None:
    for scale in ("0.001", "0.3", "1", "7/3", "10", "1000"):
        # scipy.stats.geom counts trials from 1 on; here failures, from 0 on.
        values = np.arange(200)
        success = -math.expm1(-float(1 / Fraction(scale)))
        expected = math.log(success) - values / float(Fraction(scale))
        assert Geometric(scale).log_mass(values) == pytest.approx(expected, rel=1e-12)
        if success < 1:
            oracle = stats.geom(success).logpmf(values[:30] + 1)
            assert Geometric(scale).log_mass(values[:30]) == pytest.approx(oracle, rel=1e-9)
        assert np.isneginf(Geometric(scale).log_mass([-1, -5])).all()


def test_moments() -> None:
    p = math.exp(-1 / 5)
    drawn = Geometric(5).sample(1_000_000, Seeded(7)).astype(np.float64)
    deviation = math.sqrt(p) / (1 - p)
    assert drawn.min() == 0
    assert drawn.mean() == pytest.approx(p / (1 - p), abs=5 * deviation / 1e3)
    assert drawn.var() == pytest.approx(deviation**2, rel=5 * math.sqrt(8 / 1e6))


def test_the_difference_of_two_is_discrete_laplace() -> None:
    source = Seeded(8)
    difference = Geometric(3).sample(500_000, source) - Geometric(3).sample(500_000, source)
    observed = np.bincount(np.clip(difference + 15, 0, 30), minlength=31)
    middle = stats.dlaplace(a=1 / 3).pmf(np.arange(-14, 15))
    side = (1 - middle.sum()) / 2
    assert stats.chisquare(observed, 500_000 * np.concatenate([[side], middle, [side]])).pvalue > 1e-6


def test_values_and_refusals() -> None:
    assert Geometric("0.1") == Geometric(Fraction(1, 10))
    assert repr(Geometric(3)) == "Geometric(scale=Fraction(3, 1))"
    assert not Geometric(2.0**-1022).sample(1000, Seeded(7)).any()
    assert Geometric(2**490).draw(Seeded(7)) > 2**450
    assert Geometric(10).sample(0).shape == (0,)
    assert Geometric(10).draw() >= 0
    for scale in (0, -1, float("nan"), 2.0**1022):
        with pytest.raises(CelosiaError):
            Geometric(scale)
