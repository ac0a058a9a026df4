"""Intervals for coefficients: the classical ones without noise, and coverage by simulation with it."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from celosia.core import ParameterError
from celosia.data.schema.axis import axis_between
from celosia.learn.linear_model.coefficient_intervals import coefficient_intervals
from celosia.learn.linear_model.least_squares import Moments, Plan, expected_sums
from celosia.statistics.base.target import Target

Numbers = NDArray[np.float64]


def with_one(columns: Numbers) -> Numbers:
    return np.column_stack([np.ones(len(columns)), columns])


def moments_of(columns: Numbers) -> Moments:
    values = with_one(columns).T @ with_one(columns)
    return Moments(values=values, variance=np.zeros_like(values), noise="none")


def test_without_noise_they_are_the_classical_ones() -> None:
    """SciPy's standard errors are the oracle."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, 40)
    y = 0.3 * x + 0.1 + rng.normal(0, 0.2, 40)
    low, high = coefficient_intervals(moments_of(np.column_stack([x, y])), np.eye(2), 0.9)
    found = stats.linregress(x, y)
    wide = stats.t.ppf(0.95, 38) * np.array([found.intercept_stderr, found.stderr])
    centre = np.array([found.intercept, found.slope])
    np.testing.assert_allclose(low, centre - wide, rtol=5e-3)
    np.testing.assert_allclose(high, centre + wide, rtol=5e-3)


def test_without_noise_several_features_and_any_combination() -> None:
    """The textbook's formula for a sum of slopes."""
    rng = np.random.default_rng(9)
    features = rng.uniform(-1, 1, (60, 2))
    target = features @ [0.5, -0.2] + rng.normal(0, 0.1, 60)
    row = np.array([0.0, 1.0, 1.0])
    low, high = coefficient_intervals(moments_of(np.column_stack([features, target])), row[None, :])
    spec = with_one(features)
    weights, left, *_ = np.linalg.lstsq(spec, target, rcond=None)
    error = np.sqrt(left[0] / 57 * row @ np.linalg.inv(spec.T @ spec) @ row)
    wide = stats.t.ppf(0.975, 57) * error
    np.testing.assert_allclose([low[0], high[0]], row @ weights + np.array([-wide, wide]), rtol=5e-3)


def test_through_a_point_there_is_no_constant() -> None:
    rng = np.random.default_rng(10)
    x = rng.uniform(0, 1, 50)
    y = 0.5 * x + rng.normal(0, 0.1, 50)
    moments = moments_of(np.column_stack([x, y]))
    low, high = coefficient_intervals(moments, np.eye(1), through=np.zeros(2))
    slope = x @ y / (x @ x)
    wide = stats.t.ppf(0.975, 49) * np.sqrt((y - slope * x) @ (y - slope * x) / 49 / (x @ x))
    np.testing.assert_allclose([low[0], high[0]], [slope - wide, slope + wide], rtol=5e-3)


def noisy(plan: Plan, columns: Numbers, epsilon: float, rng: np.random.Generator) -> Moments:
    """Moments with Laplace noise of the right size, drawn by NumPy."""
    values = with_one(columns).T @ with_one(columns)
    noise = Target.of(epsilon=epsilon).noise(plan.row_sensitivity.sensitivity(Target().bounding), len(plan.steps))
    drawn = rng.laplace(0, np.sqrt(noise.variance / 2), len(plan.steps))
    exact = plan.combine(expected_sums(plan.products, values))
    return plan.moments((exact + np.round(drawn).astype(np.int64)).astype(np.int64), noise)


def cover(epsilon: float, rows: int, runs: int, *, blind: bool = False) -> tuple[Numbers, float]:
    """How often each of (constant, slope) is in its 90 % interval, and how often that is infinite."""
    rng = np.random.default_rng(21)
    plan, truth = Plan.of([axis_between(-1, 1)] * 2), np.array([0.1, 0.4])
    inside, endless = np.zeros(2), 0
    for _ in range(runs):
        x = rng.uniform(-1, 1, rows)
        moments = noisy(plan, np.column_stack([x, 0.1 + 0.4 * x + rng.uniform(-0.2, 0.2, rows)]), epsilon, rng)
        if blind:
            moments = Moments(values=moments.values, variance=np.zeros((3, 3)), noise="none")
        low, high = coefficient_intervals(moments, np.eye(2), 0.9)
        inside += (low <= truth) & (truth <= high)
        endless += int(np.isinf(high - low).any())
    return inside / runs, endless / runs


def test_they_cover_with_moderate_noise(*, thorough: bool) -> None:
    runs = 80 if thorough else 36
    inside, endless = cover(1.0, 400, runs)
    assert (inside >= 0.9 - 3 * np.sqrt(0.09 / runs)).all()
    assert endless < 0.1


def test_they_cover_where_noise_leaves_everything_open(*, thorough: bool) -> None:
    runs = 40 if thorough else 24
    inside, endless = cover(0.3, 100, runs)
    assert (inside >= 0.9 - 3 * np.sqrt(0.09 / runs)).all()
    assert endless > 0.5


def test_intervals_that_forget_the_privacy_noise_do_not_cover() -> None:
    """The mutant that the simulation is for."""
    inside, _ = cover(1.0, 400, 24, blind=True)
    assert (inside < 0.7).all()


def test_a_higher_level_gives_wider_intervals() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, 1000)
    moments = noisy(Plan.of([axis_between(-1, 1)] * 2), np.column_stack([x, 0.3 * x]), 2.0, rng)
    widths = [np.diff(coefficient_intervals(moments, np.eye(2)[1:], level), axis=0)[0, 0] for level in (0.5, 0.9, 0.99)]
    assert all(a < b for a, b in itertools.pairwise(widths))


def test_a_level_between_0_and_1_is_needed() -> None:
    cases: list[object] = [0, 1, 1.5, "most", float("nan")]
    for level in cases:
        with pytest.raises(ParameterError, match="level"):
            coefficient_intervals(moments_of(np.eye(3)[:, :2]), np.eye(2), level)  # type: ignore[arg-type] # that is the point
