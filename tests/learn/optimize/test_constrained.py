"""The minimum over a set, as SciPy finds it, and the free one where it lies inside."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from celosia.learn.optimize.constrained import constrained_minimum
from celosia.learn.optimize.losses import LogisticLoss, SquaredLoss
from celosia.learn.optimize.projections import Ball, Box, Simplex

RNG = np.random.default_rng(2)
ROWS = RNG.normal(size=(200, 3)) / 3
NUMBERS = np.clip(ROWS @ [1.0, -2.0, 0.5] + RNG.normal(0, 0.1, 200), -1, 1)
SIGNS = np.where(ROWS @ [3.0, -2.0, 0.5] + RNG.logistic(size=200) > 0, 1.0, -1.0)


def test_inside_a_large_ball_it_is_least_squares() -> None:
    free = np.linalg.lstsq(ROWS, NUMBERS, rcond=None)[0]
    assert constrained_minimum(ROWS, NUMBERS, SquaredLoss(), Ball(100)) == pytest.approx(free, abs=1e-9)


def check_scipy_finds_the_same_minimum(loss: SquaredLoss | LogisticLoss, shape: Ball | Box | Simplex) -> None:
    targets = NUMBERS if isinstance(loss, SquaredLoss) else SIGNS
    ours = constrained_minimum(ROWS, targets, loss, shape)
    known: Any = {
        Ball: [{"type": "ineq", "fun": lambda w: 1 - w @ w}],
        Box: [{"type": "ineq", "fun": lambda w: w + 1}, {"type": "ineq", "fun": lambda w: 0.3 - w}],
        Simplex: [{"type": "eq", "fun": lambda w: w.sum() - 1}, {"type": "ineq", "fun": lambda w: w}],
    }

    def mean(w: Any) -> float:
        return float(loss.value(ROWS @ w, targets).mean())

    theirs = optimize.minimize(mean, np.full(3, 0.1), constraints=known[type(shape)], tol=1e-13)
    assert ours == pytest.approx(theirs.x, abs=1e-5)


def test_scipy_finds_the_same_minimum() -> None:
    loss_cases: list[SquaredLoss | LogisticLoss] = [SquaredLoss(), LogisticLoss()]
    shape_cases: list[Ball | Box | Simplex] = [Ball(1), Box(-1, "0.3"), Simplex()]
    for loss, shape in product(loss_cases, shape_cases):
        check_scipy_finds_the_same_minimum(loss, shape)


def test_rows_of_nothing_leave_the_start() -> None:
    assert constrained_minimum(np.zeros((4, 2)), np.ones(4), SquaredLoss(), Ball(1)).tolist() == [0.0, 0.0]
