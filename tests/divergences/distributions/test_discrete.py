"""Finite distributions with points, and their alignment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.divergences import Discrete
from celosia.divergences.distributions.discrete import align, exact_masses, same_dimension

POINTS = st.lists(st.integers(-3, 3), min_size=1, max_size=6)


@given(POINTS, POINTS)
def test_alignment_keeps_every_mass(x: list[int], y: list[int]) -> None:
    sides = [Discrete(points=points, probabilities=np.full(len(points), 1 / len(points))) for points in (x, y)]
    for before, after in zip(sides, align(*sides), strict=True):
        for point in range(-3, 4):
            mass = before.probabilities[before.points == point].sum()
            assert after.probabilities[after.points == point].sum() == pytest.approx(mass, abs=1e-15)
        assert (np.diff(after.points) > 0).all()


def test_alignment_in_the_plane() -> None:
    p = Discrete(points=np.array([[0, 1], [1, 0]]), probabilities=np.array([0.5, 0.5]))
    q = Discrete(points=np.array([[1, 0]]), probabilities=np.array([1.0]))
    left, right = align(p, q)
    assert left.points.tolist() == right.points.tolist() == [[0, 1], [1, 0]]
    assert right.probabilities.tolist() == [0, 1]


def test_negative_zero_is_zero() -> None:
    p, q = (Discrete(points=np.array([zero]), probabilities=np.array([1.0])) for zero in (0.0, -0.0))
    assert len(align(p, q)[0].points) == 1


def test_points_and_probabilities_must_match() -> None:
    with pytest.raises(ParameterError, match="one length: 2 is not 1"):
        Discrete(points=np.array([1, 2]), probabilities=np.array([1.0]))
    with pytest.raises(ParameterError, match="points must be finite"):
        Discrete(points=np.array([np.nan]), probabilities=np.array([1.0]))


def test_values_are_frozen() -> None:
    coin = Discrete(points=np.array([0, 1]), probabilities=np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="read-only"):
        coin.probabilities[0] = 1.0


def test_dimensions_must_agree() -> None:
    plane = Discrete(points=np.array([[1, 2]]), probabilities=np.array([1.0]))
    assert same_dimension(plane, plane) == 2
    with pytest.raises(ParameterError, match="same dimension"):
        align(plane, Discrete(points=np.array([1]), probabilities=np.array([1.0])))


def test_exact_masses_are_in_proportion() -> None:
    first, second = exact_masses(np.array([0.1, 5e-324]))
    assert (first, second) == ((0.1).as_integer_ratio()[0] * 2**1074 // (0.1).as_integer_ratio()[1], 1)
