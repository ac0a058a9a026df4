"""The kit convicts every mutant by its outputs alone and clears every mechanism of ours."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ConformanceError, ParameterError, ReplaceOne
from celosia.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    KNorm,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
)
from celosia.noise import DiscreteLaplace
from celosia.testing import check_mechanism
from tests.testing.mutants import (
    PRIVACY,
    HasAFixedSeed,
    HidesTheSeed,
    IgnoresSource,
    Mutant,
    SharesItsPool,
    TableThatConfesses,
    TableThatLies,
    correct,
    noisy,
    sparse_vector,
    turned,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.audit import Runner
    from celosia.core import Mechanism, Source


@pytest.fixture
def _few_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare few outputs of a runner with those of ``release``, for tests whose releases are those of the runner."""
    monkeypatch.setattr("celosia.testing.mechanism._AGREEMENT", 100)


SAMPLES = {"scale off by 10 %": 100_000, "sparse vector 3": 100_000, "sparse vector 4": 40_000}
"""Draws that convict a mutant whatever the seed, where 20,000 are not enough."""


@pytest.mark.usefixtures("_few_compared")
def test_mutants_that_break_their_guarantee_are_caught() -> None:
    for name in PRIVACY:
        make, neighbours = PRIVACY[name]
        mutant = make()
        samples = SAMPLES.get(name, 20_000)
        with pytest.raises(ConformanceError, match=r"sampling: .* claims epsilon = .* but epsilon >= "):
            check_mechanism(mutant, [neighbours], samples=samples, runner=mutant.draw, processes=2)


def test_mutants_that_misbehave_are_caught() -> None:
    cases: list[tuple[type[Mutant], str]] = [
        (IgnoresSource, "seeding"),
        (HidesTheSeed, "seeding"),
        (HasAFixedSeed, "seeding"),
        (SharesItsPool, "fork safety"),
        (TableThatConfesses, "table: two neighbours' probabilities reach 1.11"),
    ]
    for kind, check in cases:
        with pytest.raises(ConformanceError, match=check):
            check_mechanism(turned(kind, correct()), [(0, 1)], samples=400, processes=2)


@pytest.mark.usefixtures("_few_compared")
def test_a_table_that_lies_is_caught_by_the_draws() -> None:
    mutant = turned(TableThatLies, noisy(Fraction(9, 10)))
    with pytest.raises(ConformanceError, match="table: 20000 draws have a p-value"):
        check_mechanism(mutant, [(0, 1)], samples=20_000, runner=mutant.draw, processes=2)


def test_a_runner_that_is_not_the_mechanism_is_caught() -> None:
    with pytest.raises(ConformanceError, match="runner: its outputs differ from"):
        check_mechanism(noisy(1), [(0, 1)], samples=10_000, runner=noisy(5).draw)


def counts(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


SVT = ([0] * 6 + [1], [1] * 6 + [0])


def batch(mechanism: Mechanism) -> Runner:
    """Draw many outputs in one release, where coordinates are independent and the noise is the same for any number.

    So it is for integers and for randomized answers. It is not for real values, whose grid depends on how many there
    are, nor for (epsilon, delta) Gaussians, which are calibrated on one coordinate more tightly than on many.
    """

    def run(value: Any, count: int, source: Source) -> Any:
        copies = np.broadcast_to(value, (count, *np.shape(value))).copy()
        return mechanism.release(copies, source=source).value

    return run


CLEARED: dict[str, tuple[Mechanism, list[tuple[Any, Any]], int]] = {
    "Laplace, integers": (Laplace(epsilon=1, sensitivity=1), [(0, 1), (108, 107)], 200_000),
    "Laplace, wide": (Laplace(epsilon="0.1", sensitivity=3), [(0, 3)], 100_000),
    "Laplace, histogram": (
        Laplace(epsilon=1, sensitivity=2, adjacency=ReplaceOne),
        [(counts(5, 4, 0), counts(4, 5, 0)), (counts(5, 4, 0), counts(4, 4, 1))],
        100_000,
    ),
    "Laplace, real": (Laplace(epsilon=1, sensitivity="0.1"), [(0.0, 0.1), (0.05, -0.05)], 20_000),
    "Laplace, real vector": (
        Laplace(epsilon=2, sensitivity=1),
        [(np.array([0.1, 0.2, 0.3]), np.array([0.6, 0.2, -0.2]))],
        10_000,
    ),
    "Gaussian, integers": (Gaussian(epsilon=1, delta="1e-2", sensitivity=1), [(0, 1), (5, 4)], 40_000),
    "Gaussian, zCDP": (Gaussian(rho="0.5", sensitivity=1), [(0, 1)], 200_000),
    "Gaussian, vector": (Gaussian(rho="0.5", sensitivity_squared=2), [(counts(0, 1, 7), counts(1, 0, 7))], 100_000),
    "Gaussian, real": (Gaussian(epsilon=1, delta="1e-2", sensitivity=1), [(0.0, 1.0), (0.1, -0.9)], 20_000),
    "K-norm": (
        KNorm(epsilon=1, sensitivity=2, width=3),
        [(np.array([[0, 0, 5]]), np.array([[2, -2, 7]])), (np.array([[1, 1, 1]]), np.array([[1, 3, 1]]))],
        5_000,
    ),
    "randomized response": (RandomizedResponse(epsilon=1), [(True, False), (False, True)], 200_000),
    "randomized response, two coins": (RandomizedResponse.two_coins(), [(0, 1)], 100_000),
    "randomized response, five answers": (RandomizedResponse(epsilon=2, categories=5), [(0, 4)], 100_000),
    "exponential": (Exponential(epsilon=1, sensitivity=1), [([1] + [0] * 10, [0] + [1] * 10)], 10_000),
    "exponential, monotone": (Exponential(epsilon=1, sensitivity=1, monotone=True), [([3, 2, 2], [3, 3, 2])], 5_000),
    "exponential, real": (Exponential(epsilon=1, sensitivity=1), [([0.5, 0.1, 0.3], [-0.5, 1.1, 1.3])], 5_000),
    "permute and flip": (PermuteAndFlip(epsilon=1, sensitivity=1), [([1] + [0] * 10, [0] + [1] * 10)], 10_000),
    "noisy max": (NoisyMax(epsilon=1, sensitivity=1), [([1] + [0] * 5, [0] + [1] * 5)], 8_000),
    "noisy max, Laplace noise": (
        NoisyMax(epsilon=1, sensitivity=1, noise="laplace"),
        [([1] + [0] * 5, [0] + [1] * 5)],
        8_000,
    ),
    "sparse vector": (AboveThreshold(epsilon=1, sensitivity=1, threshold=1), [SVT, SVT[::-1]], 8_000),
    "sparse vector, three answers": (
        AboveThreshold(epsilon=1, sensitivity=1, threshold=0, answers=3),
        [([0] * 8, [1] * 4 + [-1] * 4)],
        8_000,
    ),
    "sparse vector, real": (
        AboveThreshold(epsilon=1, sensitivity="0.5", threshold="0.25"),
        [([0.0, 0.25, 0.5], [0.5, -0.25, 0.0])],
        5_000,
    ),
}

BATCHES = {
    "Laplace, integers",
    "Laplace, wide",
    "Laplace, histogram",
    "Gaussian, zCDP",
    "Gaussian, vector",
    "randomized response",
    "randomized response, two coins",
    "randomized response, five answers",
}


@pytest.mark.parametrize("name", CLEARED)
def test_correct_mechanisms_are_cleared(name: str, *, thorough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, neighbours, samples = CLEARED[name]
    if not thorough:
        samples = max(samples // 10, 1_000)
        monkeypatch.setattr("celosia.testing.mechanism._AGREEMENT", 500)
    runner = batch(mechanism) if name in BATCHES else None
    report = check_mechanism(mechanism, neighbours, samples=samples, processes=2, runner=runner)
    assert {"protocol", "seeding", "forks", "threads", "extreme inputs", "sampling"} <= {
        check.name for check in report.checks
    }


@pytest.mark.usefixtures("_few_compared")
def test_the_correct_sparse_vector_of_the_same_construction_is_cleared() -> None:
    """Lyu, Su and Li's algorithm 1 with c = 8, on the neighbours that convict algorithm 4."""
    answers = 8

    def draw(queries: list[int], count: int, source: Source) -> list[NDArray[np.bool_]]:
        threshold = DiscreteLaplace(2).sample(count, source)[:, None]
        noise = DiscreteLaplace(4 * answers).sample(count * len(queries), source).reshape(count, -1)
        above = np.asarray(queries) + noise >= threshold
        ends = np.argmax(np.cumsum(above, axis=1) >= answers, axis=1) + 1
        ends[above.sum(axis=1) < answers] = len(queries)
        return [row[:end] for row, end in zip(above, ends.tolist(), strict=True)]

    mechanism = sparse_vector(1, answers, draw)
    samples = SAMPLES["sparse vector 4"]
    report = check_mechanism(mechanism, [PRIVACY["sparse vector 4"][1]], samples=samples, runner=draw, processes=2)
    assert report.lower_bound <= 1


@pytest.mark.usefixtures("_few_compared")
def test_the_report_says_what_was_found_and_that_it_is_no_proof() -> None:
    report = check_mechanism(correct(), [(0, 1)], samples=2_000, runner=correct().draw, processes=2)
    assert "evidence, not proof" in str(report)
    assert "forks: 3 processes, no equal streams" in str(report)
    assert 0 < report.lower_bound <= 1


@pytest.mark.usefixtures("_few_compared")
def test_the_verdict_does_not_flicker() -> None:
    once, again, other = (
        check_mechanism(correct(), [(0, 1)], samples=2_000, runner=correct().draw, processes=1, seed=seed)
        for seed in (0, 0, 1)
    )
    assert once == again
    assert other.lower_bound != once.lower_bound


def test_parameters_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="neighbours"):
        check_mechanism(correct(), [])
    with pytest.raises(ParameterError, match="samples"):
        check_mechanism(correct(), [(0, 1)], samples=10)
