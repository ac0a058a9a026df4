"""A line from noisy moments: least squares without noise, damped with it, and never worse for a negative eigenvalue."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia.learn.linear_model.least_squares import Moments


def moments_of(columns: NDArray[np.float64], *, variance: float = 0.0) -> Moments:
    """The exact moments of features and target, said to have some noise."""
    with_one = np.column_stack([np.ones(len(columns)), columns])
    values = with_one.T @ with_one
    return Moments(values=values, variance=np.full_like(values, variance))


@pytest.fixture
def columns() -> NDArray[np.float64]:
    rng = np.random.default_rng(11)
    features = rng.uniform(-0.9, 0.7, (200, 3)) @ np.array([[1, 0.3, 0], [0, 0.6, 0], [0.1, 0, 0.4]])
    return np.column_stack([features, features @ [0.4, -0.3, 0.1] + 0.2 + rng.normal(0, 0.05, 200)])


def test_without_noise_it_is_least_squares(columns: NDArray[np.float64]) -> None:
    line = moments_of(columns).fit()
    expected = np.linalg.lstsq(np.column_stack([np.ones(200), columns[:, :-1]]), columns[:, -1], rcond=None)[0]
    np.testing.assert_allclose([line.constant, *line.slopes], expected, rtol=1e-9)
    assert line.floor == 0


def test_through_a_point_it_is_least_squares_about_it(columns: NDArray[np.float64]) -> None:
    point = np.array([0.3, -2.0, 1.0, 0.5])
    line = moments_of(columns).fit(through=point)
    moved = columns - point
    expected = np.linalg.lstsq(moved[:, :-1], moved[:, -1], rcond=None)[0]
    np.testing.assert_allclose(line.slopes, expected, rtol=1e-8)
    assert line.constant + line.slopes @ point[:-1] == pytest.approx(point[-1])


def test_a_penalty_is_that_of_ridge_regression(columns: NDArray[np.float64]) -> None:
    penalty = np.array([1.0, 2.0, 30.0])
    line = moments_of(columns).fit(penalty=penalty)
    centred = columns - columns.mean(axis=0)
    features, target = centred[:, :-1], centred[:, -1]
    expected = np.linalg.solve(features.T @ features + np.diag(penalty), features.T @ target)
    np.testing.assert_allclose(line.slopes, expected, rtol=1e-9)


def test_more_noise_gives_a_flatter_line(columns: NDArray[np.float64]) -> None:
    lines = [moments_of(columns, variance=variance).fit() for variance in (0.0, 1.0, 100.0, 1e6)]
    sizes = [float(np.linalg.norm(line.slopes)) for line in lines]
    assert sizes == sorted(sizes, reverse=True)
    assert [line.floor for line in lines] == sorted(line.floor for line in lines)
    assert sizes[-1] < 0.01 * sizes[0]


def test_a_line_explains_no_more_of_the_target_than_it_varies(columns: NDArray[np.float64]) -> None:
    """Products with the target that noise has made too large are seen by that; its own noise is allowed for."""
    moments = moments_of(columns, variance=4.0)
    values = moments.values.copy()
    values[1:-1, -1] *= 4
    values[-1, 1:-1] *= 4
    found = replace(moments, values=values)
    centred = found._about(found.means())
    explained = float(found.fit().slopes @ centred.values[1:-1, -1])
    assert explained == pytest.approx(float(centred.values[-1, -1]) + float(centred.variance[-1, -1]) ** 0.5)


def test_means_are_drawn_to_the_middle_by_their_noise(columns: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(moments_of(columns).means(), columns.mean(axis=0))
    assert (np.abs(moments_of(columns, variance=1e4).means()) < np.abs(columns.mean(axis=0))).all()


def test_whatever_is_noisy_the_line_is_finite() -> None:
    """Negative counts, indefinite matrices, zeros."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        noise = rng.normal(0, 30, (4, 4))
        values = noise + noise.T
        line = Moments(values=values, variance=np.full((4, 4), 1800.0), carried=0.5).fit()
        assert np.isfinite([line.constant, *line.slopes]).all()
        assert np.abs(line.slopes).max() < 50
    nothing = Moments(values=np.zeros((3, 3)), variance=np.zeros((3, 3))).fit()
    assert nothing.slopes.tolist() == [0.0]


def test_the_covariance_of_a_direction_is_that_of_drawn_noise() -> None:
    rng = np.random.default_rng(3)
    size, carried = 4, 0.5
    spread = rng.uniform(0.5, 3, (size, size))
    variance = (spread + spread.T) / 2
    direction = np.array([0.3, -1.0, 0.5, 1.0])
    moments = Moments(values=np.zeros((size, size)), variance=variance, carried=carried)
    draws = rng.normal(0, 1, (40_000, size, size)) * np.sqrt(variance)
    noise = np.triu(draws) + np.transpose(np.triu(draws, 1), (0, 2, 1))
    squares = np.arange(1, size)
    noise[:, squares, squares] += carried * noise[:, :1, 0]
    np.testing.assert_allclose(np.cov((noise @ direction).T), moments.error(direction), atol=0.15)
    np.testing.assert_allclose(noise.var(axis=0), moments.spread(), rtol=0.05)


def test_variances_about_another_point_are_those_of_drawn_noise() -> None:
    rng = np.random.default_rng(4)
    variance = np.array([[2.0, 1, 3], [1, 2, 1], [3, 1, 0.5]])
    centre = np.array([0.4, -0.7])
    about = Moments(values=np.zeros((3, 3)), variance=variance)._about(centre)
    draws = rng.normal(0, 1, (40_000, 3, 3)) * np.sqrt(variance)
    noise = np.triu(draws) + np.transpose(np.triu(draws, 1), (0, 2, 1))
    shift = np.eye(3)
    shift[1:, 0] = -centre
    np.testing.assert_allclose((shift @ noise @ shift.T).var(axis=0), about.variance, rtol=0.06)
