"""The space after moments: there and back, and states that no server can have made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import InputError
from celosia.federated import SGD, Federation
from celosia.federated.updates.moments.scaled_space import ScaledSpace
from celosia.learn import LinearRegression


def make_task(*, intercept: bool = True) -> Any:
    rng = np.random.default_rng(1)
    parties = {name: (rng.uniform(-1, 1, (20, 2)), rng.uniform(-2, 2, 20)) for name in "ab"}
    line = LinearRegression(bounds=(-1, 1), bounds_y=(-2, 2), fit_intercept=intercept)
    update = SGD(estimator=line, records=20)
    plan: Any = Federation(parties=parties, update=update, epsilon=1, delta="1e-5", rounds=9).plan()
    return plan.task


TASK, PLAIN = make_task(), make_task(intercept=False)


def make_space(**given_: Any) -> ScaledSpace:
    defaults: dict[str, Any] = {
        "clip": 0.5,
        "step_size": 2.0,
        "middle": 0.25,
        "spread": 0.5,
        "sizes": np.array([20.0, 30.0]),
        "centres": np.array([0.5, -0.5]),
        "spreads": np.array([0.25, 2.0]),
    }
    return ScaledSpace(**(defaults | given_))


def test_a_state_is_read_as_it_was_packed() -> None:
    state = make_space().pack(np.array([1.0, 2.0, 3.0]))
    assert state.size == ScaledSpace.find_size(TASK)
    found = ScaledSpace.read(state, TASK)
    assert found is not None
    space, weights = found
    assert weights.tolist() == [1, 2, 3]
    assert np.array_equal(space.pack(weights), state)
    assert ScaledSpace.read(np.zeros(state.size), TASK) is None


numbers = st.floats(-1, 1)


@settings(deadline=None)
@given(
    st.lists(numbers, min_size=2, max_size=2),
    st.lists(st.floats(0.5, 1), min_size=2, max_size=2),
    st.lists(numbers, min_size=3, max_size=3),
    numbers,
    st.floats(0.01, 1),
)
def test_predictions_are_the_same_there_and_back(
    centres: Any, spreads: Any, weights: Any, middle: float, spread: float
) -> None:
    space = make_space(centres=np.array(centres), spreads=np.array(spreads), middle=middle, spread=spread)
    rows, targets = space.scale(TASK)
    near = np.linalg.norm(rows[:, :2], axis=1) < 2.99  # longer ones are cut
    there = rows @ np.array(weights)
    back = TASK.rows @ space.unscale(np.array(weights), TASK)
    assert (there * spread + middle)[near] == pytest.approx(back[near], abs=1e-6)
    assert targets * spread + middle == pytest.approx(TASK.targets, abs=1e-9)
    assert np.linalg.norm(rows[:, :2], axis=1).max() <= 3 * (1 + 1e-12)


def test_without_an_intercept_nothing_is_added() -> None:
    space = make_space(centres=np.zeros(2), middle=0.0)
    rows, _ = space.scale(PLAIN)
    assert rows.shape == (40, 2)
    weights = np.array([0.3, -0.1])
    near = np.linalg.norm(rows, axis=1) < 2.99
    assert (rows @ weights)[near] * 0.5 == pytest.approx((PLAIN.rows @ space.unscale(weights, PLAIN))[near])


def test_a_state_that_cannot_be_is_refused() -> None:
    good, radius = make_space().pack(np.zeros(3)), float(TASK.ball.radius)
    bad: list[Any] = [good[:-1], np.append(good, 0.0), good[None], good.astype(np.float32), good.tolist(), None]
    changes = [
        (0, [0.0, 2.0, np.nan]),  # the kind
        (1, [0.0, -1.0, np.nan, np.inf, 1e-30, 1e30]),  # the clip
        (2, [0.0, -1.0, np.nan, np.inf]),  # the step
        (3, [1.5, -1.5, np.nan, np.inf]),  # the middle
        (4, [0.0, -1.0, np.nan, 1e-300]),  # the spread of the target
        (6, [0.0, -5.0, np.nan, np.inf]),  # a size
        (7, [1.5, -np.inf, np.nan]),  # a centre
        (10, [0.0, -0.1, np.nan, 1e-300]),  # a spread
        (11, [np.nan, np.inf, 1.5 * radius, 1e300]),  # a weight
    ]
    for place, values in changes:
        bad += [np.where(np.arange(good.size) == place, value, good) for value in values]
    for state in bad:
        with pytest.raises(InputError, match="3 finite numbers"):
            ScaledSpace.read(state, TASK)
