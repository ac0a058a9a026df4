"""Every accepted form becomes a pair; what has cannot be compared is refused."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.divergences import Bernoulli, Discrete, Laplace, MultivariateNormal, Normal, Samples, renyi
from celosia.divergences.distributions.frozen import Countable, Densities
from celosia.divergences.distributions.pairs import Masses, pair_of

COIN = Discrete(points=np.array([0, 1]), probabilities=np.array([0.5, 0.5]))


def test_forms() -> None:
    cases: list[tuple[object, object, type]] = [
        ([0.5, 0.5], np.array([0.25, 0.75]), Masses),
        (Bernoulli(0.5), [0.25, 0.75], Masses),
        (COIN, Samples([0, 1, 1]), Masses),
        (Samples([0.1, 0.2], bins=2), Samples([0.3, 0.4], bins=2), Masses),
        (Normal(0, 1), Laplace(0, 1), Densities),
        (Normal(0, 1), stats.t(5), Densities),
        (stats.poisson(1), stats.geom(0.5), Countable),
    ]
    for p, q, kind in cases:
        pair = pair_of(p, q)
        assert isinstance(pair, kind)
        assert pair.log_integral(lambda log_p, log_q: log_p + 0 * np.maximum(log_q, -1)) == pytest.approx(0, abs=1e-10)


def test_no_common_ground() -> None:
    cases: list[tuple[object, object]] = [
        (COIN, [0.5, 0.5]),
        (stats.norm(), stats.poisson(1)),
        (stats.norm(), [1.0]),
        (Samples([1, 2]), [0.5, 0.5]),
        (Samples([1.0], bins=2), Samples([1.0])),
        (MultivariateNormal(np.zeros(1), np.eye(1)), Normal(0, 1)),
        ("half", "half"),
    ]
    for p, q in cases:
        with pytest.raises(ParameterError, match="cannot be compared"):
            renyi(p, q, 2)


def test_lengths_must_agree() -> None:
    with pytest.raises(ParameterError, match="p has 2 probabilities and q has 3"):
        pair_of([0.5, 0.5], [0.5, 0.25, 0.25])


def test_bad_probabilities_name_their_side() -> None:
    cases: list[Any] = [[math.nan, 1.0], [2.0, -1.0], [0.5, 0.4], [], [[1.0]], [True, False]]
    for bad in cases:
        with pytest.raises(ParameterError, match=r"^q must"):
            pair_of([0.5, 0.5], bad)


def test_largest_ratio() -> None:
    assert pair_of([0.75, 0.25], [0.25, 0.75]).log_supremum() == pytest.approx(math.log(3))
    assert pair_of([0.0, 1.0], [0.5, 0.5]).log_supremum() == pytest.approx(math.log(2))
