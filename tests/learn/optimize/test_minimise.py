from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from celosia.learn.functional.polynomial import variables
from celosia.learn.optimize.minimise import (
    PENALTY,
    ball_minimum,
    quadratic_of,
    quadratic_on_ball,
    stationary_point,
    trimmed_minimum,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

finite = st.floats(-4, 4).map(lambda value: round(value, 3))
matrices = arrays(np.float64, (3, 3), elements=finite)
vectors = arrays(np.float64, 3, elements=finite)


def value(matrix: NDArray[np.float64], vector: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    return float(w @ matrix @ w + vector @ w)


@given(matrices, vectors)
def test_where_the_bowl_is_whole_the_minimum_is_that_of_linear_algebra(
    root: NDArray[np.float64], vector: NDArray[np.float64]
) -> None:
    matrix = root @ root.T + np.eye(3)
    expected = np.linalg.solve(2 * matrix, -vector)
    np.testing.assert_allclose(trimmed_minimum(matrix, vector, 0.0), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trimmed_minimum(matrix, vector, 0.0, free=True), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(stationary_point(matrix, vector), expected, rtol=1e-7, atol=1e-9)
    raised = np.linalg.solve(2 * (matrix + PENALTY * 0.5 * np.eye(3)), -vector)
    np.testing.assert_allclose(trimmed_minimum(matrix, vector, 0.5), raised, rtol=1e-7, atol=1e-9)


@given(matrices, vectors)
def test_what_bends_downwards_is_left_out(root: NDArray[np.float64], vector: NDArray[np.float64]) -> None:
    matrix = (root + root.T) / 2
    found = trimmed_minimum(matrix, vector, 0.0)
    assert np.isfinite(found).all()
    values, directions = np.linalg.eigh(matrix)
    below = directions[:, values <= -1e-9]
    np.testing.assert_allclose(below.T @ found, 0, atol=1e-6 * (1 + np.abs(found).max()))


def test_an_intercept_is_not_drawn_towards_nothing() -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(50), rng.uniform(size=(50, 2))])
    y = np.full(50, 0.75)
    found = trimmed_minimum(x.T @ x, -2 * x.T @ y, 1.0, free=True)
    np.testing.assert_allclose(found, [0.75, 0, 0], atol=1e-9)


@given(matrices, vectors, st.sampled_from([0.1, 1.0, 5.0]))
@settings(deadline=None, max_examples=80)
def test_nothing_on_the_ball_is_lower(root: NDArray[np.float64], vector: NDArray[np.float64], radius: float) -> None:
    matrix = (root + root.T) / 2
    found = quadratic_on_ball(matrix, vector, radius)
    assert np.linalg.norm(found) <= radius * (1 + 1e-6)
    directions = np.random.default_rng(3).normal(size=(400, 3))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    lowest = min(value(matrix, vector, scale * w) for w in directions for scale in (1.0, 0.6, 0.2))
    assert value(matrix, vector, found) <= min(lowest, 0.0) + 1e-6 * (1 + radius**2)


def test_a_line_is_least_on_the_edge() -> None:
    np.testing.assert_allclose(quadratic_on_ball(np.zeros((2, 2)), np.array([3.0, -4.0]), 2.0), [-1.2, 1.6], rtol=1e-6)


def test_a_quadratic_is_read_from_its_monomials() -> None:
    monomials = ((0,), (1,), (0, 0), (0, 1), (1, 1))
    matrix, vector = quadratic_of(monomials, np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 2)
    w = np.array([0.3, -0.7])
    direct = 1 * 0.3 + 2 * -0.7 + 3 * 0.09 + 4 * 0.3 * -0.7 + 5 * 0.49
    assert value(matrix, vector, w) == pytest.approx(direct)


def test_descent_on_a_ball_finds_what_a_fine_grid_finds() -> None:
    monomials = ((0,), (0, 1), (0, 0, 1, 1), (1, 1, 1), (0, 0, 0, 0))
    rng = np.random.default_rng(11)
    for _ in range(5):
        numbers = rng.normal(size=len(monomials)) * 1e6  # as large as sums over records are
        found = ball_minimum(monomials, numbers, 2, 1.5)
        assert np.linalg.norm(found) <= 1.5 + 1e-9

        def at(w: NDArray[np.float64], numbers: NDArray[np.float64] = numbers) -> float:
            return float(sum(number * np.prod(w[list(m)]) for m, number in zip(monomials, numbers, strict=True)))

        grid = np.linspace(-1.5, 1.5, 61)
        lowest = min(at(np.array(w)) for w in itertools.product(grid, grid) if np.hypot(*w) <= 1.5)
        assert at(found) <= lowest + 1e-3 * abs(lowest)


def test_the_slope_of_a_polynomial_of_many_products_is_followed() -> None:
    """(w_0 + ... + w_4 - 1)^4 and the squares of w_j - j/10: the minimum is known, and degrees 1 to 4 are all there."""
    (*w,) = variables("w", 5)
    written = (sum(w[1:], start=w[0]) - 1) ** 4
    for place, weight in enumerate(w):
        written = written + (weight - Fraction(place, 10)) ** 2
    terms = {tuple(place for _, place in powers): float(number) for powers, number in written.terms if powers}
    found = ball_minimum(tuple(terms), np.array(list(terms.values())), 5, 3.0)
    np.testing.assert_allclose(found, [0.0, 0.1, 0.2, 0.3, 0.4], atol=1e-3)


def test_small_numbers_are_not_taken_for_none() -> None:
    matrix, vector = np.diag([2e-20, 1e-20]), np.array([-4e-20, -2e-20])
    np.testing.assert_allclose(trimmed_minimum(matrix, vector, 0.0), [1.0, 1.0])
    assert trimmed_minimum(np.zeros((2, 2)), np.ones(2), 0.0).tolist() == [0.0, 0.0]
