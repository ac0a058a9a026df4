"""A curve is the divergence by definition, rounded up, and its inverse keeps to it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celosia.accounting.pld.curve import Curve
from celosia.accounting.pld.discretise import Cells
from celosia.core.errors import ParameterError


@st.composite
def distributions(draw: st.DrawFn) -> Cells:
    weights = np.array(
        draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30).filter(lambda some: sum(some) > 0.1))
    )
    infinity = draw(st.sampled_from([0.0, 1e-9, 0.01]))
    masses = weights / weights.sum() * (1 - infinity)
    return Cells(
        interval=draw(st.floats(1e-4, 2.0)), first=draw(st.integers(-20, 20)), masses=masses, infinity=infinity
    )


def by_definition(cells: Cells, epsilons: np.ndarray) -> np.ndarray:
    losses = (cells.first + np.arange(len(cells.masses))) * cells.interval
    over = np.maximum(losses[None, :] - epsilons[:, None], 0.0)
    divergence: np.ndarray = cells.infinity - np.expm1(-over) @ cells.masses
    return divergence


@settings(deadline=None)
@given(distributions())
@example(Cells(interval=0.03125, first=0, masses=np.array([1.0, 0.0, 4.45014772e-309]), infinity=0.0))
def test_delta_is_the_definition_rounded_up(cells: Cells) -> None:
    ends = np.array([cells.first - 3, cells.first + len(cells.masses) + 2]) * cells.interval
    epsilons = np.linspace(ends[0], ends[1], 41)
    exact = by_definition(cells, epsilons)
    found = Curve(cells).delta(epsilons)
    assert np.all(found >= exact * (1 - 1e-14))
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-13)
    assert np.all(np.diff(found) <= 1e-15)


@settings(deadline=None)
@given(distributions(), st.floats(1e-12, 0.999))
def test_epsilon_keeps_to_delta_and_is_the_smallest(cells: Cells, delta: float) -> None:
    curve = Curve(cells)
    if delta < curve.floor:
        with pytest.raises(ParameterError, match="delta must be at least"):
            curve.epsilon(delta)
        return
    epsilon = curve.epsilon(delta)
    assert epsilon >= 0
    assert curve.delta(np.array([epsilon]))[0] <= delta
    less = epsilon - 1e-6 * (epsilon + cells.interval)
    assert less < 0 or by_definition(cells, np.array([less]))[0] >= delta * (1 - 1e-9) - 1e-14


def test_small_differences_do_not_cancel() -> None:
    # Losses of 1e-9: one minus the exponential, computed by subtraction, would keep seven digits.
    cells = Cells(interval=1e-9, first=-1, masses=np.array([0.5, 0.0, 0.5]), infinity=0.0)
    assert Curve(cells).delta(np.zeros(1))[0] == pytest.approx(0.5e-9, rel=1e-9)


def test_nothing_is_left_below_the_floor() -> None:
    curve = Curve(Cells(interval=1.0, first=0, masses=np.array([0.9]), infinity=0.1))
    with pytest.raises(ParameterError, match=r"delta must be at least 0\.1, not 0\.05"):
        curve.epsilon(0.05)
    assert curve.epsilon(0.11) == 0
    assert curve.delta(np.array([1e6]))[0] == pytest.approx(0.1)
