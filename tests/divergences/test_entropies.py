"""Entropy and cross-entropy against SciPy and the colours of Estrada Franco 2025."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from celosia.core import ParameterError
from celosia.divergences import (
    Bernoulli,
    Discrete,
    Laplace,
    MultivariateNormal,
    Normal,
    Samples,
    cross_entropy,
    entropy,
    kl,
)
from tests.divergences.laws import Two, twos

COLOURS = [1 / 2, 1 / 4, 1 / 8, 1 / 8]


@given(twos())
def test_entropy_is_scipys(pair: Two) -> None:
    assert entropy(pair[0]) == pytest.approx(float(stats.entropy(pair[0])), abs=1e-12)
    assert cross_entropy(*pair) == pytest.approx(entropy(pair[0]) + kl(*pair), abs=1e-9)
    assert cross_entropy(*pair) >= entropy(pair[0]) - 1e-12


def test_questions_per_square() -> None:
    # Estrada Franco 2025: one question for black, two for yellow, three for blue and red. (The relative frequency is
    # two to the power of *minus* the number of questions; the thesis drops the sign.)
    assert entropy(COLOURS, base=2) == 1.75
    assert cross_entropy(COLOURS, [1 / 4] * 4, base=2) == 2
    assert kl(COLOURS, [1 / 4] * 4) / math.log(2) == pytest.approx(0.25)


def test_every_form() -> None:
    assert entropy(Bernoulli(0.5), base=2) == 1
    assert entropy(Samples([1, 1, 2, 2]), base=2) == 1
    assert entropy(Discrete(points=np.array([1, 7]), probabilities=np.array([0.5, 0.5])), base=2) == 1
    assert entropy(Normal(3, 4)) == pytest.approx(math.log(2 * math.pi * math.e * 4) / 2)
    assert entropy(Laplace(0, 2)) == pytest.approx(1 + math.log(4))
    assert entropy(stats.poisson(3)) == pytest.approx(float(stats.poisson(3).entropy()))
    plane = MultivariateNormal(np.zeros(2), np.eye(2))
    assert entropy(plane) == pytest.approx(2 * entropy(Normal(0, 1)))
    assert cross_entropy(plane, plane) == pytest.approx(entropy(plane))
    assert cross_entropy(Normal(0, 1), Normal(1, 1)) == pytest.approx(entropy(Normal(0, 1)) + 0.5)
    assert cross_entropy([0.5, 0.5], [1, 0]) == math.inf


def test_samples_are_taken_as_they_are() -> None:
    with pytest.raises(ParameterError, match="leave bins"):
        entropy(Samples([1.0, 2.0], bins=2))


def test_bad_bases() -> None:
    cases: list[float] = [1, 0, -2, math.nan, True]
    for base in cases:
        with pytest.raises(ParameterError, match="base"):
            entropy(COLOURS, base=base)
