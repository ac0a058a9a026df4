"""Report noisy max: exact probabilities by summing over all noise, their price, and the tie with permute-and-flip."""

import itertools
import math
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from celosia.core import InputError, NoisyMaxEvent, ParameterError, PureDP
from celosia.mechanisms import NoisyMax, PermuteAndFlip
from celosia.noise import Seeded

Noise = Literal["exponential", "laplace"]
NOISES: list[Noise] = ["exponential", "laplace"]
EPSILON = 4  # short tails, so that the sums are short


def exact(utilities: tuple[int, ...], rate: float, noise: Noise) -> NDArray[np.float64]:
    """The probability of every candidate: each lattice point of noise goes to its largest, ties shared equally."""
    reach = math.ceil(42 / rate)
    values = np.arange(0 if noise == "exponential" else -reach, reach + 1)
    pmf = np.exp(-rate * np.abs(values))
    pmf /= (1 if noise == "exponential" else 1 + math.exp(-rate)) / (1 - math.exp(-rate))
    n = len(utilities)
    noisy = np.stack([axis + u for axis, u in zip(np.meshgrid(*[values] * n, indexing="ij"), utilities, strict=True)])
    weight = pmf
    for _ in range(n - 1):
        weight = weight[..., None] * pmf
    best = noisy == noisy.max(axis=0)
    shared: NDArray[np.float64] = (best * weight / best.sum(axis=0)).reshape(n, -1).sum(axis=1)
    return shared


def neighbours(utilities: tuple[int, ...], *, monotone: bool) -> list[tuple[int, ...]]:
    signs: list[tuple[int, ...]] = [(0, 1), (-1, 0)] if monotone else [(-1, 0, 1)]
    moves = {move for sign in signs for move in itertools.product(sign, repeat=len(utilities))}
    return [tuple(u + d for u, d in zip(utilities, move, strict=True)) for move in sorted(moves)]


def test_neighbours_are_within_epsilon() -> None:
    utilities_cases: list[tuple[int, ...]] = [(0, 0), (3, 0), (1, 0), (0, 0, 0), (2, 1, 0)]
    for noise, monotone, utilities in product(NOISES, (False, True), utilities_cases):
        mechanism = NoisyMax(epsilon=EPSILON, sensitivity=1, noise=noise, monotone=monotone)
        rate = float(mechanism._rate(integral=True)[0])
        here = np.log(exact(utilities, rate, noise))
        losses = [np.abs(here - np.log(exact(u, rate, noise))).max() for u in neighbours(utilities, monotone=monotone)]
        assert 0.4 * EPSILON < max(losses) <= EPSILON * (1 + 1e-8)
        if monotone:  # the mutant: twice the rate where utilities move against each other
            losses = [np.abs(here - np.log(exact(u, rate, noise))).max() for u in neighbours(utilities, monotone=False)]
            assert max(losses) > 1.2 * EPSILON


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("utilities", [(0, 0), (1, 0), (2, 1, 0), (1, 1, 0)])
@pytest.mark.sampled(2)
def test_choices_have_the_exact_probabilities(utilities: tuple[int, ...], noise: Noise) -> None:
    mechanism = NoisyMax(epsilon=EPSILON // 2, sensitivity=1, noise=noise)
    source = Seeded(6)
    answers = [mechanism.release(list(utilities), source=source).value for _ in range(2_000)]
    observed = np.bincount(answers, minlength=len(utilities))

    def p_value(rate: float, kind: Noise = noise) -> float:
        expected = exact(utilities, rate, kind)
        return float(stats.chisquare(observed, expected / expected.sum() * len(answers)).pvalue)

    assert p_value(1.0) > 1e-6
    if utilities != (0, 0):  # where all are alike, nothing shows
        assert p_value(2.0) < 1e-6
        assert p_value(0.5) < 1e-6


def test_a_fixed_order_of_ties_would_be_another_mechanism() -> None:
    probabilities = exact((0, 0, 0), 2.0, "exponential")
    assert probabilities == pytest.approx([1 / 3] * 3, abs=1e-9)
    mechanism = NoisyMax(epsilon=20, sensitivity=1)  # ties nearly always
    source = Seeded(1)
    answers = [mechanism.release([5, 5, 5], source=source).value for _ in range(1_500)]
    assert stats.chisquare(np.bincount(answers, minlength=3)).pvalue > 1e-6


def test_on_a_fine_grid_it_is_permute_and_flip() -> None:
    for gap in (0, 1, 3):
        # Ding et al. 2021: with exponential noise the two are one mechanism; the grid's share vanishes with its step.
        distances = []
        for fineness in (1, 8, 64):
            rate = 1 / fineness
            k = np.arange(math.ceil(30 / rate))
            pmf = np.exp(-rate * k) * -math.expm1(-rate)
            # The worse of two wins: P(X > Y + g) + P(X = Y + g) / 2.
            tail = np.exp(-rate * (k + gap * fineness))
            worse = (pmf * tail * (math.exp(-rate) - math.expm1(-rate) / 2)).sum()
            flip = math.exp(PermuteAndFlip(epsilon=2, sensitivity=1).log_masses([0, gap], [0])[0])
            distances.append(abs(worse - flip))
        assert distances[2] < 1e-3
        assert distances[2] <= distances[0] + 1e-12


def test_real_utilities_are_chosen_as_by_permute_and_flip() -> None:
    utilities = [0.25, 2.0, 1.5]
    source = Seeded(8)
    answers = [NoisyMax(epsilon=2, sensitivity=1).release(utilities, source=source).value for _ in range(2_000)]
    observed = np.bincount(answers, minlength=3)

    def p_value(epsilon: int) -> float:
        expected = np.exp(PermuteAndFlip(epsilon=epsilon, sensitivity=1).log_masses(utilities, range(3)))
        return float(stats.chisquare(observed, expected / expected.sum() * len(answers)).pvalue)

    assert p_value(2) > 1e-6
    assert p_value(1) < 1e-6
    assert p_value(4) < 1e-6


def test_other_noise_is_refused() -> None:
    cases: list[Any] = ["gaussian", "", None, 1]
    for noise in cases:
        with pytest.raises(ParameterError, match="noise"):
            NoisyMax(epsilon=1, sensitivity=1, noise=noise)


def test_what_it_says_of_itself() -> None:
    mechanism = NoisyMax(epsilon="0.1", sensitivity=1, noise="laplace")
    assert mechanism.event == NoisyMaxEvent(epsilon="0.1")
    assert mechanism.guarantee == PureDP(epsilon="0.1")
    assert repr(mechanism) == "NoisyMax(epsilon='0.1', sensitivity=1, noise='laplace')"
    one_sided = NoisyMax(epsilon="0.1", sensitivity=1).error(0.95, candidates=5)
    assert mechanism.error(0.95, candidates=5) == 2 * one_sided


def test_the_table_of_exponential_noise_is_that_of_permute_and_flip() -> None:
    cases: list[tuple[int, ...]] = [(0, 0), (1, 0), (2, 1, 0), (1, 1, 0), (0, 0, 0)]
    for utilities in cases:
        mechanism = NoisyMax(epsilon=EPSILON, sensitivity=1)
        indices = mechanism.outputs(utilities)
        assert indices is not None
        table = np.exp(mechanism.log_masses(utilities, indices))
        assert table == pytest.approx(
            exact(utilities, float(mechanism._rate(integral=True)[0]), "exponential"), abs=1e-12
        )


def test_there_is_no_table_for_laplace_noise_nor_for_very_many() -> None:
    laplace = NoisyMax(epsilon=1, sensitivity=1, noise="laplace")
    assert laplace.outputs([1, 2]) is None
    with pytest.raises(InputError, match="exponential noise only"):
        laplace.log_masses([1, 2], [0])
    assert NoisyMax(epsilon=1, sensitivity=1).outputs(range(1001)) is None
