"""The compiled pass: each step as written in plain Python, gradients never longer than the bound."""

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from celosia.learn.optimize import descent
from celosia.learn.optimize.descent import Run, descend, project_onto, rounded_gradient, slope_of, writing
from celosia.learn.optimize.projections import Ball, Box, Simplex

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SQUARES, LOGISTIC = np.array([0.0]), np.array([1.0])


def test_steps_are_those_of_the_definition() -> None:
    shape_cases: list[Ball | Box | Simplex] = [Ball(1), Box(-1, "0.25"), Simplex()]
    loss_cases: list[NDArray[np.float64]] = [SQUARES, LOGISTIC]
    for shape, loss, most in product(shape_cases, loss_cases, (0, 64)):
        rng = np.random.default_rng(3)
        rows = rng.normal(size=(20, 3))
        rows /= np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None] * (1 + 1e-9)
        targets = rng.choice([-1.0, 1.0], 20)
        order = rng.integers(0, 20, 50)
        noise = rng.integers(-9, 10, (50, 3)).astype(float)
        run = Run(0.1, 0.8, most, loss, shape.shape(3))
        weights = np.zeros(3)
        descend(rows, targets, order, noise, weights, run)
        expected = np.zeros(3)
        for i, place in enumerate(order):
            x, y = rows[place], targets[place]
            slope = x @ expected - y if loss[0] == 0 else -y / (1 + math.exp(y * (x @ expected)))
            gradient = np.clip(slope, -0.8, 0.8) * x
            if most:
                gradient = np.trunc(gradient * most / 0.8) * 0.8 / most
            expected = shape.project(expected - 0.1 * (gradient + noise[i] * (0.8 / most if most else 1)))
        assert weights == pytest.approx(expected, abs=1e-9)


@example(row=np.array([1e3, 1e-6]), steepness=1e3, most=2**20)  # one entry far beyond, another of a step or two
@given(
    row=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6).map(np.array),
    steepness=st.floats(-1e3, 1e3),
    most=st.sampled_from([1, 10, 2**20]),
)
def test_a_rounded_gradient_is_whole_and_not_too_long(row: "NDArray[np.float64]", steepness: float, most: int) -> None:
    out = np.empty(len(row))
    rounded_gradient(row, steepness, Run(1.0, 2.0, most, SQUARES, np.zeros(1)), out)
    whole = [int(number) for number in out]
    assert whole == out.tolist()
    assert sum(number**2 for number in whole) <= most**2


@given(st.floats(0, 2 * math.pi))
def test_a_gradient_on_the_edge_keeps_its_length(angle: float) -> None:
    out = np.empty(2)
    rounded_gradient(np.array([math.cos(angle), math.sin(angle)]), 2.0, Run(1.0, 2.0, 2**20, SQUARES, np.zeros(1)), out)
    assert math.hypot(*out) == pytest.approx(2**20, rel=1e-5)


def test_a_bound_of_any_size_is_whole_steps() -> None:
    for bound in (1e-300, 1e300):
        out = np.empty(2)
        rounded_gradient(np.array([0.6, 0.8]), bound, Run(1.0, bound, 10, SQUARES, np.zeros(1)), out)
        assert out.tolist() == [6.0, 8.0]


def test_functions_of_the_callers_own_take_part(monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    def slope(prediction: float, target: float, _loss: "NDArray[np.float64]") -> float:
        return prediction - target

    def stay(_weights: "NDArray[np.float64]", _shape: "NDArray[np.float64]") -> None:
        pass

    functions: dict[str, Callable[..., Any]] = {"slope": slope, "project": stay}
    if thorough:
        functions = {"slope": njit(slope), "project": writing(lambda w: w)}
    else:  # they compile for seconds, as in the tests of whole fits with a loss or a set of one's own
        for name in ("_descend_own", "_predict", "_move"):
            monkeypatch.setattr(descent, name, getattr(descent, name).py_func)
    rows, targets, order = np.ones((1, 1)), np.ones(1), np.zeros(3, dtype=np.int64)
    run = Run(0.5, 2.0, 0, SQUARES, np.array([0.0, 1.0]))
    known, own = np.zeros(1), np.zeros(1)
    descend(rows, targets, order, np.zeros((3, 1)), known, run)
    descend(rows, targets, order, np.zeros((3, 1)), own, run, **functions)
    assert own.tolist() == known.tolist() == [0.875]


def test_a_slope_that_is_no_number_counts_as_none() -> None:
    weights = np.array([0.5])
    run = Run(0.5, 2.0, 0, SQUARES, np.array([0.0, 1.0]))
    descend(np.ones((1, 1)), np.full(1, math.nan), np.zeros(1, dtype=np.int64), np.zeros((1, 1)), weights, run)
    assert weights.tolist() == [0.5]


def test_slopes_and_projections_are_those_of_their_objects() -> None:
    assert slope_of(0.0, 1.0, LOGISTIC) == -0.5
    point = np.array([3.0, 4.0])
    project_onto(point, np.array([0.0, 10.0]))
    assert point.tolist() == [3.0, 4.0]
