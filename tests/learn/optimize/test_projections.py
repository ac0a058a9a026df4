"""Projections: the nearest point, as an independent optimiser finds it; they never move points apart."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from celosia.core import InputError, ParameterError
from celosia.learn.optimize import projections
from celosia.learn.optimize.projections import Ball, Box, ConvexSet, OwnSet, Simplex


def _clipped(w: Any) -> Any:
    return np.minimum(np.maximum(w, -1.0), 1.0)


SETS: list[ConvexSet] = [Ball("1.5"), Box(-1, "0.5"), Box([-1, 0, -2], [1, 3, -1]), Simplex(), Simplex("2.5")]
OWN = OwnSet(_clipped, diameter="3.4642")

vectors = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3).map(np.array)


@lru_cache
def _written(function: Any) -> Any:
    def write(weights: Any, _shape: Any) -> None:
        weights[:] = function(weights)

    return write


@pytest.fixture(autouse=True, scope="module")
def uncompiled() -> Iterator[None]:
    """What is tried here is what functions return: compiling them, which takes seconds, is tried with the descent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projections, "writing", _written)
        yield


def _squared_distance(w: Any, v: Any) -> float:
    return float(((w - v) ** 2).sum())


def inside(shape: ConvexSet, point: Any, slack: float = 1e-9) -> bool:
    match shape:
        case Ball(radius=radius):
            return bool(math.hypot(*point) <= float(radius) * (1 + slack))
        case Box(low=low, high=high):
            least, most = (np.array(side * 3 if len(side) == 1 else side, dtype=float) for side in (low, high))
            return bool(((point >= least - slack) & (point <= most + slack)).all())
        case Simplex(size=size):
            return bool(point.min() >= 0 and abs(point.sum() - float(size)) <= slack)
        case _:
            return bool(np.abs(point).max() <= 1 + slack)


@pytest.mark.parametrize("shape", [*SETS, OWN], ids=range(6))
@settings(max_examples=50)
@given(vector=vectors, other=vectors)
def test_a_projection_is_inside_stays_there_and_contracts(shape: ConvexSet, vector: Any, other: Any) -> None:
    one, two = shape.project(vector), shape.project(other)
    assert inside(shape, one)
    assert shape.project(one) == pytest.approx(one, abs=1e-9)
    assert math.dist(one, two) <= math.dist(vector, other) * (1 + 1e-9) + 1e-9
    assert math.dist(one, two) <= float(shape.diameter(3)) * (1 + 1e-9)
    assert math.hypot(*one) <= float(shape.reach(3)) * (1 + 1e-9)


@pytest.mark.parametrize("shape", SETS, ids=range(5))
@settings(max_examples=50)
@given(vector=vectors, other=vectors)
def test_no_other_point_of_the_set_is_nearer(shape: ConvexSet, vector: Any, other: Any) -> None:
    nearest, point = shape.project(vector), shape.project(other)  # the obtuse angle characterises the projection
    assert (vector - nearest) @ (point - nearest) <= 1e-6 * (1 + math.hypot(*vector))


def test_an_optimiser_finds_the_same_point() -> None:
    for shape in SETS:
        rng = np.random.default_rng(1)
        constraints: Any = []
        bounds: Any = None
        match shape:
            case Ball(radius=radius):
                constraints = [{"type": "ineq", "fun": lambda w: float(radius) ** 2 - w @ w}]
            case Box():
                numbers = shape.shape(3)
                bounds = list(zip(numbers[1:4], numbers[4:], strict=True))
            case Simplex(size=size):
                constraints, bounds = [{"type": "eq", "fun": lambda w: w.sum() - float(size)}], [(0, None)] * 3
        for vector in rng.normal(0, 3, (10, 3)):
            found = optimize.minimize(
                _squared_distance, np.full(3, 0.1), args=(vector,), bounds=bounds, constraints=constraints, tol=1e-12
            )
            assert shape.project(vector) == pytest.approx(found.x, abs=1e-4)


def test_sizes_are_exact_or_rounded_up() -> None:
    assert Ball(2).diameter(9) == 4
    assert Ball(2).reach(9) == 2
    assert Box(0, 1).diameter(4) == 2
    assert Box(-3, 4).reach(1) == 4
    assert Fraction(2) <= Box(0, 1).diameter(2) ** 2 <= Fraction(2) * (1 + Fraction(1, 10**12))
    assert Fraction(2) <= Simplex().diameter(5) ** 2 <= Fraction(2) * (1 + Fraction(1, 10**12))
    assert Simplex(3).reach(5) == 3
    assert OWN.diameter(3) == Fraction("3.4642")
    assert OWN.reach(3) >= OWN.diameter(3)


def test_large_and_small_numbers_do_no_harm() -> None:
    assert Ball(1).project([1e200, 1e200]) == pytest.approx([math.sqrt(0.5)] * 2)
    assert Ball(1).project([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert Simplex().project([1e12, 1e12]) == pytest.approx([0.5, 0.5])
    assert Simplex().project([5.0]).tolist() == [1.0]


def test_sizes_are_positive_numbers() -> None:
    cases: list[Any] = [0, -1, float("nan"), float("inf"), True, None, "wide"]
    for wrong in cases:
        with pytest.raises(ParameterError, match="radius"):
            Ball(wrong)
        with pytest.raises(ParameterError, match="size"):
            Simplex(wrong)
        with pytest.raises(ParameterError, match="diameter"):
            OwnSet(_clipped, diameter=wrong)


def test_a_box_has_two_sides() -> None:
    cases: list[tuple[Any, Any]] = [
        (1, 0),
        (0, 0),
        ([0, 0], [1, 0]),
        ([0, 0], [1, 1, 1]),
        ([], []),
        ("a", 1),
        (None, 1),
    ]
    for low, high in cases:
        with pytest.raises(ParameterError):
            Box(low, high)


def test_a_box_of_three_sides_takes_three_weights() -> None:
    with pytest.raises(ParameterError, match="3 sides"):
        SETS[2].project([1.0, 2.0])


def test_a_projection_takes_one_vector() -> None:
    cases: list[Any] = [[], [[1.0]], [math.nan], [math.inf]]
    for vector in cases:
        with pytest.raises(InputError, match="vector"):
            Ball(1).project(vector)


def test_a_set_of_the_callers_own_is_tried_out() -> None:
    with pytest.raises(ParameterError, match="diameter must be at least"):
        OwnSet(_clipped, diameter=1).project([0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="no projection"):
        OwnSet(lambda w: np.minimum(np.maximum(w + 0.5, -1.0), 1.0), diameter=4).project([0.0, 0.0, 0.0])
    for wrong in (
        lambda w: np.rint(np.minimum(np.maximum(w, -1.0), 1.0)),  # between the corners it jumps
        lambda w: w / max(1.0, np.abs(w).max()),  # towards 0 and not to the nearest point of the cube
        lambda w: np.where(w < 0.0, -1.0, 1.0),  # onto corners, which are not convex
    ):
        with pytest.raises(ParameterError, match="no projection"):
            OwnSet(wrong, diameter=4).project([0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="Numba"):
        OwnSet(lambda w: w[:1].upper(), diameter=4).project([0.0, 0.0])
    with pytest.raises(ParameterError, match="function"):
        OwnSet(3, diameter=4)  # type: ignore[arg-type] # what is refused
