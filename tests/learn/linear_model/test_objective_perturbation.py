"""Objective perturbation: the constants of the theorem in high precision, the law of the noise, the minimum."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.core.adjacency import Adjacency
from celosia.learn.linear_model.objective_perturbation import Perturbation, minimiser
from celosia.noise import Seeded
from celosia.statistics.base.target import Target


def test_determinant_and_vector_share_epsilon() -> None:
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for adjacency, epsilon, stiffness in product(adjacency_cases, (0.01, 0.5, 1, 10), (0.0, 3.0, 1e6)):
        k = 1 if adjacency is AddRemove else 2
        pure = Perturbation.of(Target.of(epsilon=epsilon, adjacency=adjacency), stiffness=stiffness)
        assert pure.stiffness >= stiffness
        spent = math.log1p(0.25 / pure.stiffness) + k / pure.scale
        assert 0.9999 * epsilon < spent <= epsilon
        normal = Perturbation.of(Target.of(epsilon=epsilon, delta=1e-5, adjacency=adjacency), stiffness=stiffness)
        z, left = stats.norm.isf(1e-5 / k), epsilon - math.log1p(0.25 / normal.stiffness)
        assert 0.9999 * left < k * z / normal.scale + k**2 / (2 * normal.scale**2) <= left


Records = list[tuple[float, int]]
MORE: list[tuple[Records, Records]] = [
    ([(1.0, 1), (1.0, 0), (1.0, 0), (1.0, 1)], [(1.0, 1), (1.0, 0), (1.0, 0)]),
    ([(1.0, 1)], []),
    ([(0.5, 0), (-1.0, 1)], [(0.5, 0)]),
]
OTHER: list[tuple[Records, Records]] = [
    ([(1.0, 1)], [(1.0, 0)]),
    ([(0.5, 1), (1.0, 1)], [(0.5, 1), (-1.0, 1)]),
    ([(-0.3, 0), (1.0, 0)], [(-0.3, 0), (0.1, 1)]),
]


def _density(w: np.ndarray[Any, Any], records: Records, found: Perturbation) -> np.ndarray[Any, Any]:
    """The logarithm of the density of the minimiser in one dimension, by the change of variables."""
    chances = [(a, y, 1 / (1 + np.exp(-a * w))) for a, y in records]
    vector = -found.stiffness * w - sum((p - y) * a for a, y, p in chances)
    slope = found.stiffness + sum(p * (1 - p) * a * a for a, y, p in chances)
    law = stats.laplace(scale=found.scale) if found.target.kind == "pure" else stats.norm(scale=found.scale)
    return np.asarray(law.logpdf(vector) + np.log(slope))


def _excess(found: Perturbation, neighbours: tuple[Records, Records], epsilon: float) -> float:
    """The delta that one of the two densities needs beyond exp(epsilon) times the other."""
    far = (10 * found.scale + 6) / found.stiffness
    w = np.linspace(-far, far, 100_001)
    one, two = (_density(w, records, found) for records in neighbours)
    assert np.exp(one).sum() * (w[1] - w[0]) == pytest.approx(1, abs=1e-3)
    return max(
        float(np.maximum(np.exp(a) - np.exp(b + epsilon), 0).sum() * (w[1] - w[0])) for a, b in ((one, two), (two, one))
    )


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize(
    ("adjacency", "neighbours"), [*((AddRemove, m) for m in MORE), *((ReplaceOne, m) for m in OTHER)]
)
def test_densities_of_neighbours_are_as_near_as_promised(
    adjacency: Adjacency, neighbours: tuple[Records, Records], epsilon: float
) -> None:
    pure = Perturbation.of(Target.of(epsilon=epsilon, adjacency=adjacency))
    w = np.linspace(-30, 30, 20_001) / pure.stiffness
    ratio = _density(w, neighbours[0], pure) - _density(w, neighbours[1], pure)
    assert np.abs(ratio).max() <= epsilon
    for delta in (1e-5, 0.01, 0.6):
        normal = Perturbation.of(Target.of(epsilon=epsilon, delta=delta, adjacency=adjacency))
        assert _excess(normal, neighbours, epsilon) <= delta


def test_densities_with_less_noise_are_farther_apart() -> None:
    pure = Perturbation.of(Target.of(epsilon=1))
    w = np.linspace(-30, 30, 20_001)
    for scale, broken in ((pure.scale, False), (0.75 * pure.scale, True)):
        tried = replace(pure, scale=scale)
        assert (np.abs(_density(w, MORE[0][0], tried) - _density(w, MORE[0][1], tried)).max() > 1) == broken
    normal = Perturbation.of(Target.of(epsilon=1, delta=1e-5))
    assert _excess(replace(normal, scale=normal.scale / 2), MORE[0], 1.0) > 1e-5


def test_promises_of_any_size() -> None:
    amount_cases: list[dict[str, Any]] = [{}, {"delta": 1e-5}]
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for amount, adjacency in product(amount_cases, adjacency_cases):
        for epsilon in (1e-9, 3_000, 4_000, 65_536):
            found = Perturbation.of(Target.of(epsilon=epsilon, adjacency=adjacency, **amount))
            assert 1e-6 < found.stiffness < 1e10
            assert 0 < found.scale < 1e12


@pytest.mark.parametrize("width", [1, 3])
def test_the_vector_has_the_law_of_the_theorem(width: int) -> None:
    pure, source = Perturbation.of(Target.of(epsilon=1)), Seeded(3)
    drawn = np.stack([pure.draw(width, source) for _ in range(1500)])
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(width, scale=pure.scale).cdf).pvalue > 1e-4
    assert np.abs(drawn.mean(axis=0)).max() < 6 * lengths.std() / math.sqrt(1500) * math.sqrt(width)
    assert stats.kstest(lengths, stats.gamma(width, scale=0.8 * pure.scale).cdf).pvalue < 1e-6  # a mutant is seen
    normal = Perturbation.of(Target.of(epsilon=1, delta=1e-5))
    drawn = np.stack([normal.draw(width, source) for _ in range(1500)])
    assert stats.kstest(drawn[:, 0], stats.norm(scale=normal.scale).cdf).pvalue > 1e-4


def check_the_minimum_is_scipys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, codes, vector = rng.normal(size=(30, 4)), rng.integers(0, 2, 30), rng.normal(size=4) * 20

    def value(w: np.ndarray[Any, Any]) -> float:
        s = rows @ w
        return float(np.logaddexp(0, s).sum() - s @ codes + 0.15 * w @ w + vector @ w)

    wanted = optimize.minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(minimiser(rows, codes, 0.3, vector), wanted.x, rtol=1e-4, atol=1e-4)
    found = minimiser(rows, codes, 0.3, vector)
    gradient = rows.T @ (1 / (1 + np.exp(-rows @ found)) - codes) + 0.3 * found + vector
    assert np.abs(gradient).max() < 1e-9


def test_the_minimum_is_scipys() -> None:
    for seed in range(5):
        check_the_minimum_is_scipys(seed)


def test_no_rho() -> None:
    with pytest.raises(ParameterError, match="rho"):
        Perturbation.of(Target.of(rho=1))
    with pytest.raises(ParameterError, match="epsilon"):
        Perturbation.of(Target.of(epsilon=float("inf")))


def test_the_event_says_real() -> None:
    event = Perturbation.of(Target.of(epsilon=1, adjacency=ReplaceOne)).event
    assert (event.arithmetic, event.adjacency) == ("real", ReplaceOne)
