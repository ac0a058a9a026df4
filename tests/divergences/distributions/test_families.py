"""The families refuse parameters without meaning and agree with SciPy's distributions."""

import math
from typing import Any

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.divergences import Bernoulli, Laplace, MultivariateNormal, Normal


def test_bernoulli_needs_a_probability() -> None:
    cases: list[Any] = [-0.1, 1.1, math.nan, True, "0.5"]
    for probability in cases:
        with pytest.raises(ParameterError, match="probability"):
            Bernoulli(probability)


def test_spreads_are_positive() -> None:
    cases: list[float] = [0, -1, math.nan, math.inf]
    for spread in cases:
        with pytest.raises(ParameterError, match="variance"):
            Normal(0, spread)
        with pytest.raises(ParameterError, match="scale"):
            Laplace(0, spread)
        with pytest.raises(ParameterError, match="covariance"):
            MultivariateNormal(np.zeros(1), np.array([[spread]]))


def test_covariances_are_symmetric_positive_definite_and_fit() -> None:
    for matrix in ([[1, 2], [2, 1]], [[1, 0.5], [0.4, 1]], [[1]]):
        with pytest.raises(ParameterError, match="covariance"):
            MultivariateNormal(np.zeros(2), np.array(matrix))


def test_parameters_are_those_of_scipy() -> None:
    assert Normal(1, 4).frozen().mean() == 1
    assert Normal(1, 4).frozen().var() == pytest.approx(4)
    assert Laplace(1, 4).frozen().var() == pytest.approx(32)
    assert Normal(1, 4) == Normal(1.0, 4.0)
