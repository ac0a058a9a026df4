"""The sampler of iterations, against the distributions that it must have."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celosia.accounting.iteration.contraction import ContractiveIteration
from celosia.accounting.iteration.simulation import contractive_iteration
from celosia.core import InputError, ParameterError
from celosia.divergences.magnitude import GaussianNoise, LaplaceNoise
from celosia.noise import Seeded

FALSE_ALARM = 1e-6
SIZE = 40_000


def test_gaussian_marginals() -> None:
    maps = [lambda x: 0.5 * x + 1, lambda x: -0.9 * x, lambda x: x - 2]
    noises = [GaussianNoise(variance=v) for v in (1.0, 2.0, 0.5)]
    states = contractive_iteration(3.0, maps, noises, Seeded(1), size=SIZE)
    mean, variance = -0.9 * 2.5 - 2, 0.81 * 1 + 2 + 0.5
    assert stats.kstest(states, stats.norm(mean, math.sqrt(variance)).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(states, stats.norm(mean, 1.1 * math.sqrt(variance)).cdf).pvalue < FALSE_ALARM, (
        "a mutant is seen"
    )


def test_laplace_and_scipy_noise() -> None:
    states = contractive_iteration(0.0, [np.tanh], [LaplaceNoise(scale=2)], Seeded(2), size=SIZE)
    assert stats.kstest(states, stats.laplace(0, 2).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(states, stats.laplace(0, 2.2).cdf).pvalue < FALSE_ALARM
    states = contractive_iteration(0.0, [np.tanh], [stats.logistic()], Seeded(3), size=SIZE)
    assert stats.kstest(states, stats.logistic.cdf).pvalue > FALSE_ALARM


def test_vectors_have_independent_coordinates() -> None:
    def projected(w: np.ndarray) -> np.ndarray:
        return np.asarray(w / np.maximum(1.0, np.linalg.norm(w, axis=1, keepdims=True)))

    states = contractive_iteration([3.0, 4.0], [projected] * 2, [GaussianNoise(variance=1)] * 2, Seeded(4), size=SIZE)
    assert states.shape == (SIZE, 2)
    first = contractive_iteration([3.0, 4.0], [projected], [GaussianNoise(variance=1)], Seeded(5), size=SIZE)
    for coordinate, mean in enumerate((0.6, 0.8)):
        assert stats.kstest(first[:, coordinate], stats.norm(mean, 1).cdf).pvalue > FALSE_ALARM
    assert abs(stats.pearsonr(first[:, 0], first[:, 1]).statistic) < 5 / math.sqrt(SIZE)


def test_what_an_observer_learns_is_within_the_bound() -> None:
    """A clipped walk, non-linear: the empirical odds of a half-line obey the bound of the last state.

    For D_alpha <= e and any event, P <= (exp(e) Q)^((alpha - 1) / alpha); five standard errors are allowed for.
    """
    noises = [GaussianNoise(variance=1)] * 4

    def walk(shift: float, seed: int) -> np.ndarray:
        first = [lambda x: np.clip(x, -2, 2) + shift]
        return contractive_iteration(0.0, first + [lambda x: np.clip(x, -2, 2)] * 3, noises, Seeded(seed), size=SIZE)

    left, right = walk(1.0, 6), walk(-1.0, 7)
    for alpha in (2.0, 4.0):
        bound = ContractiveIteration(shifts=[2, 0, 0, 0], variances=1).renyi([alpha])[0]
        for threshold in (-1.0, 0.0, 1.0, 2.0):
            p, q = (left > threshold).mean(), (right > threshold).mean()
            assert p - 5 / math.sqrt(SIZE) <= (math.exp(bound) * (q + 5 / math.sqrt(SIZE))) ** ((alpha - 1) / alpha)


def test_chains_repeat_with_their_source_only() -> None:
    def run(source: Any) -> Any:
        return contractive_iteration(0.0, [np.tanh], [GaussianNoise(variance=1)], source, size=3).tolist()

    assert run(Seeded(1)) == run(Seeded(1)) != run(Seeded(2))
    assert run(None) != run(None)


def test_iterations_without_a_meaning_are_refused() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("maps and noises must have one length", {"maps": []}),
        ("maps and noises must have one length", {"noises": [GaussianNoise(variance=1)] * 2}),
        ("noises must have", {"noises": [1.0]}),
        ("start must be", {"start": math.nan}),
        ("start must be", {"start": "a"}),
        ("start must be", {"start": []}),
        ("start must be", {"start": [[1.0]]}),
        ("size must be", {"size": 0}),
        ("size must be", {"size": 1.0}),
        ("source must be", {"source": 7}),
    ]
    for name, changes in cases:
        given: dict[str, Any] = {"start": 0.0, "maps": [np.tanh], "noises": [GaussianNoise(variance=1)]}
        with pytest.raises(ParameterError, match=f"^{name}"):
            contractive_iteration(**(given | changes))


def test_a_map_keeps_the_shape_of_the_states() -> None:
    with pytest.raises(InputError, match="of shape"):
        contractive_iteration(0.0, [lambda x: x[:1]], [GaussianNoise(variance=1)], Seeded(1), size=3)
