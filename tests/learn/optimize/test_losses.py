"""Losses: slopes are derivatives, never steeper nor faster than the constants say, over the whole domain."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.learn.optimize.losses import LogisticLoss, Loss, OwnLoss, SquaredLoss

REACH = Fraction(5, 2)
predictions = st.floats(-float(REACH), float(REACH))
targets = st.floats(-1, 1)


@given(prediction=predictions, target=targets)
def test_slopes_of_squares_are_derivatives(prediction: float, target: float) -> None:
    loss, near = SquaredLoss(), 1e-5
    ends = loss.value([prediction - near, prediction + near], [target, target])
    assert (ends[1] - ends[0]) / (2 * near) == pytest.approx(loss.slope(prediction, target), abs=1e-8)


@given(prediction=predictions, target=st.sampled_from([-1.0, 1.0]))
def test_slopes_of_the_logistic_loss_are_derivatives(prediction: float, target: float) -> None:
    loss, near = LogisticLoss(), 1e-5
    ends = loss.value([prediction - near, prediction + near], [target, target])
    assert (ends[1] - ends[0]) / (2 * near) == pytest.approx(loss.slope(prediction, target), abs=1e-8)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss()])
@given(one=predictions, two=predictions, target=targets)
def test_the_constants_hold(loss: Loss, one: float, two: float, target: float) -> None:
    first, second = loss.slope(one, target), loss.slope(two, target)
    assert abs(first) <= loss.lipschitz(REACH)
    assert (second - first) * (two - one) >= -1e-12  # convex
    assert abs(second - first) <= float(loss.smoothness) * abs(two - one) + 1e-12


def test_the_constants_are_attained() -> None:
    assert abs(SquaredLoss().slope(2.5, -1.0)) == SquaredLoss().lipschitz(REACH) == REACH + 1
    assert abs(LogisticLoss().slope(-50.0, 1.0)) == pytest.approx(float(LogisticLoss().lipschitz(REACH)))
    rise = LogisticLoss().slope(1e-6, 1.0) - LogisticLoss().slope(-1e-6, 1.0)
    assert rise / 2e-6 == pytest.approx(float(LogisticLoss().smoothness), rel=1e-6)


def test_far_predictions_do_not_overflow() -> None:
    assert LogisticLoss().slope(1e6, 1.0) == pytest.approx(0.0)
    assert LogisticLoss().slope(-1e6, 1.0) == -1.0
    assert LogisticLoss().value([-1e6], [1.0]) == pytest.approx([1e6])


def test_a_loss_of_the_callers_own() -> None:
    loss = OwnLoss(lambda p, y: math.tanh(p - y), lipschitz=1, smoothness=1)
    assert loss.slope(0.7, 0.2) == pytest.approx(math.tanh(0.5))
    assert loss.lipschitz(REACH) == loss.smoothness == 1


def test_what_contradicts_the_constants_is_refused() -> None:
    with pytest.raises(ParameterError, match="smoothness must be at least"):
        OwnLoss(lambda p, y: 4.0 * (p - y), lipschitz=10, smoothness=1)
    with pytest.raises(ParameterError, match="convex"):
        OwnLoss(lambda p, y: y - p, lipschitz=10, smoothness=1)
    with pytest.raises(ParameterError, match="Numba"):
        OwnLoss(lambda p, _y: p.upper(), lipschitz=10, smoothness=1)
    with pytest.raises(ParameterError, match="finite"):
        OwnLoss(lambda p, y: np.nan * p * y, lipschitz=10, smoothness=1)


def test_constants_are_positive_numbers() -> None:
    cases: list[Any] = [0, -1, math.nan, True, None]
    for wrong in cases:
        with pytest.raises(ParameterError, match="lipschitz"):
            OwnLoss(lambda p, y: p - y, lipschitz=wrong, smoothness=1)
        with pytest.raises(ParameterError, match="smoothness"):
            OwnLoss(lambda p, y: p - y, lipschitz=1, smoothness=wrong)
        with pytest.raises(ParameterError, match="function"):
            OwnLoss(3, lipschitz=1, smoothness=1)  # type: ignore[arg-type] # what is refused
