"""Wasserstein distances against SciPy, brute force and the laws of Estrada Franco 2025."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from celosia.core import ParameterError
from celosia.divergences import Discrete, Laplace, Normal, Samples, wasserstein

VALUES = st.lists(st.integers(-20, 20), min_size=1, max_size=8)
ROWS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=5)


def weighted(values: list[int], seed: int) -> Discrete:
    weights = np.random.default_rng(seed).integers(1, 9, len(values))
    return Discrete(points=np.array(values), probabilities=weights / weights.sum())


@given(VALUES, VALUES)
def test_order_one_is_scipys(x: list[int], y: list[int]) -> None:
    assert wasserstein(Samples(x), Samples(y)) == pytest.approx(stats.wasserstein_distance(x, y), abs=1e-9)
    p, q = weighted(x, 1), weighted(y, 2)
    exact = stats.wasserstein_distance(p.points, q.points, p.probabilities, q.probabilities)
    assert wasserstein(p, q) == pytest.approx(exact, abs=1e-9)


@settings(max_examples=30)
@given(ROWS, ROWS)
def test_order_one_in_the_plane_is_scipys(x: list[tuple[int, int]], y: list[tuple[int, int]]) -> None:
    assert wasserstein(Samples(x), Samples(y)) == pytest.approx(stats.wasserstein_distance_nd(x, y), abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, math.inf]), st.sampled_from([1, 2, math.inf]))
def test_it_is_the_best_matching(seed: int, order: float, norm: float) -> None:
    generator = np.random.default_rng(seed)
    x, y = (generator.choice(49, 5, replace=False)[:, None] // [7, 1] % 7 for _ in range(2))
    best = math.inf
    for image in itertools.permutations(range(5)):
        lengths = np.linalg.norm(x - y[list(image)], norm, axis=1)
        best = min(best, float(lengths.max() if order == math.inf else (lengths**order).mean() ** (1 / order)))
    assert wasserstein(Samples(x), Samples(y), order, norm=norm) == pytest.approx(best, rel=1e-7, abs=1e-7)


@settings(max_examples=30)
@given(ROWS, ROWS)
def test_it_rises_to_infinity(x: list[tuple[int, int]], y: list[tuple[int, int]]) -> None:
    # Lemma 4.1 of Estrada Franco 2025.
    values = [wasserstein(Samples(x), Samples(y), order) for order in (1, 1.5, 2, 4, 16, math.inf)]
    for low, high in itertools.pairwise(values):
        assert low <= high * (1 + 1e-6) + 1e-6
    left, right = (Samples([row[0] for row in side]) for side in (x, y))
    limit = wasserstein(left, right, math.inf)
    assert wasserstein(left, right, 1000) == pytest.approx(limit, rel=0.01)


@given(VALUES, VALUES, VALUES, st.sampled_from([1, 2, math.inf]))
def test_it_is_a_distance(x: list[int], y: list[int], z: list[int], order: float) -> None:
    p, q, r = weighted(x, 1), weighted(y, 2), weighted(z, 3)
    assert wasserstein(p, p, order) == pytest.approx(0, abs=1e-9)
    assert wasserstein(p, q, order) == pytest.approx(wasserstein(q, p, order), abs=1e-9)
    assert wasserstein(p, r, order) <= wasserstein(p, q, order) + wasserstein(q, r, order) + 1e-6


def test_line_and_plane_agree() -> None:
    p, q = weighted([1, 5, 9], 1), weighted([0, 2, 2, 8], 2)
    left, right = (
        Discrete(points=np.column_stack([side.points, 0 * side.points]), probabilities=side.probabilities)
        for side in (p, q)
    )
    for order in (1, 2, 5, math.inf):
        assert wasserstein(left, right, order) == pytest.approx(wasserstein(p, q, order), rel=1e-7)


def test_different_sizes_are_cut_exactly() -> None:
    # Three thirds against two halves: the middle third is split, and rounding pairs nothing else.
    assert wasserstein(Samples([0, 0, 100]), Samples([0, 0, 0, 0, 100, 100]), math.inf) == 0
    assert wasserstein(Samples([0, 50, 100]), Samples([0, 100]), math.inf) == 50


def test_many_samples(*, thorough: bool) -> None:
    x = np.random.default_rng(3).normal(size=1_000_000 if thorough else 100_000)
    assert wasserstein(Samples(x), Samples(x[:-1] + 1)) == pytest.approx(1, abs=1e-3)
    assert wasserstein(Samples(x), Samples(x + 1), math.inf) == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_families_are_their_quantiles(order: float) -> None:
    levels = (np.arange(400_000) + 0.5) / 400_000
    for p, q in ((Normal(0, 1), Normal(1, 4)), (Laplace(0, 1), Laplace(0.5, 2))):
        x, y = (Samples(side.frozen().ppf(levels)) for side in (p, q))
        assert wasserstein(p, q, order) == pytest.approx(wasserstein(x, y, order), rel=1e-3)
        assert wasserstein(p, q, math.inf) == math.inf
    assert wasserstein(Normal(0, 1), Normal(3, 1), 7) == 3


def test_large_orders_and_distances_do_not_overflow() -> None:
    assert wasserstein(Samples([0.0]), Samples([1e200]), 5) == pytest.approx(1e200)


def test_bad_orders() -> None:
    cases: list[float] = [0.5, -1, math.nan, True]
    for order in cases:
        with pytest.raises(ParameterError, match="order"):
            wasserstein(Samples([1]), Samples([2]), order)


def test_mass_needs_a_place() -> None:
    with pytest.raises(ParameterError, match="needs points"):
        wasserstein([0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ParameterError, match="needs points"):
        wasserstein(Normal(0, 1), Laplace(0, 1))
    with pytest.raises(ParameterError, match="order"):
        wasserstein(Samples([[1, 2]]), Samples([[2, 3]]), norm=0.5)


def test_high_orders_do_not_pass_the_limit() -> None:
    for order in (5, 20, 50, 300, 1e6):
        x = Samples(np.array([[0, 0], [0, 0], [0, 0], [0, -1], [0, 5]]))
        y = Samples(np.array([[0, 0], [0, 0], [0, 0], [0, 4], [-1, -1]]))
        assert wasserstein(x, y, order) == pytest.approx((2 / 5) ** (1 / order), rel=1e-9)


def test_distances_beyond_the_doubles_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^p and q have points too far apart"):
        wasserstein(Samples([-1.5e308]), Samples([1.5e308]))
    with pytest.raises(ParameterError, match=r"^p and q have points too far apart"):
        wasserstein(Samples([[-1.5e308, 0.0], [0.0, 1.0]]), Samples([[1.5e308, 0.0], [1.0, 1.0]]))
    assert wasserstein(Samples([[1e200, 0.0], [0.0, 1.0]]), Samples([[2e200, 0.0], [0.0, 1.0]]), math.inf) == 1e200
