"""Permute-and-flip: its table against all permutations, its price, and that it is never worse than exponential."""

import itertools
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.core import PermuteAndFlipEvent, PureDP
from celosia.mechanisms import Exponential, PermuteAndFlip
from celosia.noise import Seeded


def by_permutations(utilities: list[int], rate: float) -> list[float]:
    """McKenna and Sheldon 2020, algorithm 1, followed through every order of the candidates."""
    heads = [math.exp(rate * (u - max(utilities))) for u in utilities]
    masses = [0.0] * len(utilities)
    orders = list(itertools.permutations(range(len(utilities))))
    for order in orders:
        still = 1.0 / len(orders)
        for candidate in order:
            masses[candidate] += still * heads[candidate]
            still *= 1 - heads[candidate]
    return masses


def masses_of(mechanism: Any, utilities: list[int]) -> Any:
    return np.exp(mechanism.log_masses(utilities, range(len(utilities))))


@settings(max_examples=150)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=5), st.sampled_from([0.1, 1.0, 4.0]))
def test_the_table_is_the_algorithm(utilities: list[int], epsilon: float) -> None:
    masses = masses_of(PermuteAndFlip(epsilon=epsilon, sensitivity=1), utilities)
    assert masses == pytest.approx(by_permutations(utilities, epsilon / 2), rel=1e-9)
    assert masses.sum() == pytest.approx(1, abs=1e-9)


@settings(max_examples=150)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12), st.sampled_from([0.1, 1.0, 4.0]))
def test_it_is_never_worse_than_exponential(utilities: list[int], epsilon: float) -> None:
    gaps = np.max(utilities) - np.array(utilities)
    flip, exponential = (
        masses_of(kind(epsilon=epsilon, sensitivity=1), utilities) for kind in (PermuteAndFlip, Exponential)
    )
    assert (flip * gaps).sum() <= (exponential * gaps).sum() * (1 + 1e-9) + 1e-12
    for gap in set(gaps.tolist()):  # in every quantile
        assert flip[gaps >= gap].sum() <= exponential[gaps >= gap].sum() * (1 + 1e-9) + 1e-12


def test_it_can_be_twice_as_good() -> None:
    utilities = [0, 20]
    gaps = [20, 0]
    flip, exponential = (
        masses_of(kind(epsilon="0.2", sensitivity=1), utilities) for kind in (PermuteAndFlip, Exponential)
    )
    assert (flip * gaps).sum() < 0.6 * (exponential * gaps).sum()


def check_neighbours_are_within_epsilon_and_use_it(utilities: list[int], *, monotone: bool) -> None:
    mechanism = PermuteAndFlip(epsilon=1, sensitivity=1, monotone=monotone)
    here = mechanism.log_masses(utilities, range(3))

    def worst(moves: Any) -> float:
        others = [[u + d for u, d in zip(utilities, move, strict=True)] for move in moves]
        return max(float(np.abs(here - mechanism.log_masses(other, range(3))).max()) for other in others)

    signs = (0, 1) if monotone else (-1, 0, 1)
    losses = worst(itertools.product(signs, repeat=3)), worst(itertools.product([-sign for sign in signs], repeat=3))
    assert 0.5 < max(losses) <= 1 + 1e-9
    if monotone:  # the rate of monotone utilities on others that are not
        assert worst(itertools.product((-1, 0, 1), repeat=3)) > 1.2


def test_neighbours_are_within_epsilon_and_use_it() -> None:
    utilities_cases: list[list[int]] = [[0, 0, 0], [4, 2, 0], [9, 0, 0], [1, 1, 0]]
    for utilities, monotone in product(utilities_cases, (False, True)):
        check_neighbours_are_within_epsilon_and_use_it(utilities, monotone=monotone)


@pytest.mark.parametrize(("utilities", "epsilon"), [([3, 1, 4, 1, 5], 1), ([0, 4], 1), ([2.5, 0.25], 2)])
def test_choices_have_the_probabilities_of_the_table(utilities: Any, epsilon: int) -> None:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1)
    source = Seeded(2)
    answers = [mechanism.release(utilities, source=source).value for _ in range(2_500)]
    observed = np.bincount(answers, minlength=len(utilities))

    def p_value(table: Any) -> float:
        expected = np.exp(table.log_masses(utilities, range(len(utilities)))) * len(answers)
        return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)

    assert p_value(mechanism) > 1e-6
    assert p_value(PermuteAndFlip(epsilon=2 * epsilon, sensitivity=1)) < 1e-6
    assert p_value(Exponential(epsilon=epsilon, sensitivity=1)) < 1e-6


def test_long_lists_have_no_table_and_long_gaps_no_warning() -> None:
    mechanism = PermuteAndFlip(epsilon=1, sensitivity=1)
    assert mechanism.outputs([0] * 1000) == range(1000)
    assert mechanism.outputs([0] * 1001) is None
    masses = mechanism.log_masses([0, 10**6, 10**9], range(3))
    assert masses[2] == pytest.approx(0)
    assert masses[0] == pytest.approx(-5e8, rel=1e-6)
    table = masses_of(mechanism, list(range(200)))
    assert table.sum() == pytest.approx(1, abs=1e-9)


def test_what_it_says_of_itself() -> None:
    mechanism = PermuteAndFlip(epsilon="0.1", sensitivity=1)
    assert mechanism.event == PermuteAndFlipEvent(epsilon="0.1")
    assert mechanism.guarantee == PureDP(epsilon="0.1")
