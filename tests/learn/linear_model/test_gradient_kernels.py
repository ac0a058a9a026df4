"""The compiled passes: against the same in fractions or plain NumPy, and bounds that hold exactly whatever comes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn
from numpy.typing import NDArray
from scipy.special import expit, softmax

from celosia.learn.linear_model.gradient_kernels import (
    add_gradient,
    add_moments,
    add_softmax_gradient,
    write_rows,
    write_scores,
)

EUCLIDEAN = False
ANY = st.floats(allow_nan=False, allow_infinity=False)
TABLES = hn.arrays(np.float64, hn.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=ANY)
WEIGHTS = st.one_of(ANY, st.just(float("nan")), st.just(float("inf")))


def _scaling(width: int, rows: int) -> NDArray[np.float64]:
    return np.vstack([np.full(width, 1.0), np.full(width, 3.0), np.full(width, 0.25)])[:rows]


@given(TABLES)
def test_moments_of_one_record_are_within_their_bounds(values: NDArray[np.float64]) -> None:
    width, grid, weight = values.shape[1], 1024, 3
    whole = np.zeros(2 + width + 1, dtype=np.int64)
    add_moments(values, np.zeros(len(values), dtype=np.int64), _scaling(width, 2), grid, weight, 2, whole)
    for row in values:
        sums = np.zeros_like(whole)
        add_moments(row[None].copy(), np.zeros(1, dtype=np.int64), _scaling(width, 2), grid, weight, 2, sums)
        assert sums[0] == weight * grid
        assert np.abs(sums[2:-1]).max() <= grid
        assert sums[-1] == weight * int((sums[2:-1] ** 2).sum()) // (width * grid)
        assert 0 <= sums[-1] <= weight * grid
        whole -= sums
    assert not whole.any()


@pytest.mark.parametrize("uses_l1_norm", [False, True])
@given(TABLES, st.floats(1e-3, 1e6), st.integers(0, 4096))
def test_rows_keep_their_norm_exactly(
    uses_l1_norm: bool,  # noqa: FBT001 - a parameter of the test
    values: NDArray[np.float64],
    unit: float,
    ones: int,
) -> None:
    width, reach = values.shape[1], 12288
    rows, sizes = np.empty((len(values), width + (ones > 0)), dtype=np.int16), np.empty(len(values), dtype=np.int64)
    write_rows(values, _scaling(width, 3), unit, reach, ones, uses_l1_norm, rows, sizes)
    for row, size in zip(rows.tolist(), sizes.tolist(), strict=True):
        features = row[:width]
        norm = sum(map(abs, features)) if uses_l1_norm else sum(step * step for step in features)
        assert norm <= (reach if uses_l1_norm else reach**2)
        assert size == norm + (ones if uses_l1_norm else ones**2)
        assert row[width:] == [ones] * (ones > 0)


def test_rows_are_what_they_stand_for() -> None:
    values = np.random.default_rng(0).uniform(-4, 6, (50, 3))
    rows, sizes = np.empty((50, 4), dtype=np.int16), np.empty(50, dtype=np.int64)
    write_rows(values, _scaling(3, 3), 8192.0, 12288, 7, EUCLIDEAN, rows, sizes)
    wanted = np.clip((values - 1) / 3, -1, 1) - 0.25
    wanted *= np.minimum(1, 1.5 / np.linalg.norm(wanted, axis=1))[:, None]
    assert np.abs(rows[:, :3] - wanted * 8192).max() <= 1 + 1e-6
    assert (np.abs(rows[:, :3]) <= np.abs(wanted * 8192) + 1e-6).all()  # towards zero


def _parts(seed: int, rows: int, width: int) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    return rng.integers(-5000, 5001, (rows, width)).astype(np.int16), rng.integers(0, 2, rows)


@given(st.integers(0, 10**6), st.lists(WEIGHTS, min_size=3, max_size=3), st.floats(1.0, 1e5))
def test_a_gradient_is_never_longer_than_its_limit(seed: int, weights: list[float], unit: float) -> None:
    rows, codes = _parts(seed, 5, 3)
    for row, code in zip(rows, codes, strict=True):
        limit = math.isqrt(2**48 // max(int((row.astype(np.int64) ** 2).sum()), 1))
        gradient = np.zeros((1, 3), dtype=np.int64)
        add_gradient(row[None].copy(), np.array([limit]), np.array([code]), np.array([weights]), unit, gradient)
        assert int((gradient**2).sum()) <= 2**48


@pytest.mark.parametrize("uses_l1_norm", [False, True])
@given(st.integers(0, 10**6), st.lists(WEIGHTS, min_size=9, max_size=9), st.floats(1.0, 1e5))
def test_a_softmax_gradient_is_never_longer_than_its_limit(
    uses_l1_norm: bool,  # noqa: FBT001 - a parameter of the test
    seed: int,
    weights: list[float],
    unit: float,
) -> None:
    rows, codes = _parts(seed, 5, 3)
    table = np.array(weights).reshape(3, 3)
    for row, code in zip(rows, codes, strict=True):
        steps = row.astype(np.int64)
        limit = 2**24 // max(int(np.abs(steps).sum()), 1) if uses_l1_norm else 2**48 // max(int((steps**2).sum()), 1)
        gradient = np.zeros((3, 3), dtype=np.int64)
        add_softmax_gradient(row[None].copy(), np.array([limit]), np.array([code]), table, unit, uses_l1_norm, gradient)
        assert int(np.abs(gradient).sum()) <= 2**24 if uses_l1_norm else int((gradient**2).sum()) <= 2**48


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_uncut_gradients_are_those_of_the_loss(seed: int) -> None:
    rows, codes = _parts(seed, 40, 6)
    rng, never = np.random.default_rng(seed), np.full(40, 2**62)
    weights = rng.normal(size=(1, 6)) / 8192
    gradient = np.zeros((1, 6), dtype=np.int64)
    add_gradient(rows, never, codes, weights, 2.0**20, gradient)
    wanted = (expit(rows @ weights[0]) - codes) @ rows
    assert np.abs(gradient[0] / 2**20 - wanted).max() <= 40 * 5000 / 2**20
    several, table = np.zeros((3, 6), dtype=np.int64), rng.normal(size=(3, 6)) / 8192
    add_softmax_gradient(rows, never, codes, table, 2.0**20, EUCLIDEAN, several)
    residuals = softmax(rows @ table.T, axis=1)
    residuals[np.arange(40), codes] -= 1
    assert np.abs(several / 2**20 - residuals.T @ rows).max() <= 40 * 5000 / 2**20


@given(st.integers(0, 10**6), st.integers(0, 39))
def test_a_record_adds_the_same_wherever_it_stands(seed: int, place: int) -> None:
    rows, codes = _parts(seed, 40, 51)
    weights = np.random.default_rng(seed).normal(size=(1, 51)) / 8192
    limits = np.full(40, 900)
    gradients = [np.zeros((1, 51), dtype=np.int64) for _ in range(3)]
    rest = np.delete(np.arange(40), place)
    for chosen, gradient in zip([np.arange(40), rest, np.array([place])], gradients, strict=True):
        add_gradient(rows[chosen], limits[chosen], codes[chosen], weights, 4096.0, gradient)
    assert (gradients[0] == gradients[1] + gradients[2]).all()


def test_a_record_that_is_all_wrong_is_not_left_out() -> None:
    """Its residuals add up to 2, and rounding can make that a little more."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        row, table = rng.integers(-5000, 5001, (1, 4)).astype(np.int16), rng.normal(size=(5, 4)) / 80
        code, limit = int(np.argmin(table @ row[0])), 2**24 // int(np.abs(row.astype(np.int64)).sum())
        gradient = np.zeros((5, 4), dtype=np.int64)
        add_softmax_gradient(row, np.array([limit]), np.array([code]), table, 1000.0, True, gradient)  # noqa: FBT003 - the kernel's
        assert np.abs(gradient[code]).sum() > 0.3 * 2**24 or limit > 2000


@given(st.integers(0, 10**6), st.lists(WEIGHTS, min_size=3, max_size=3))
def test_scores_keep_their_reach(seed: int, weights: list[float]) -> None:
    rows, _ = _parts(seed, 5, 3)
    out, sizes = np.empty((5, 2), dtype=np.int16), np.empty(5, dtype=np.int64)
    write_scores(rows, np.array(weights), 16384, 8192, out, sizes)
    assert np.abs(out[:, 0].astype(np.int64)).max() <= 16384
    assert (out[:, 1] == 8192).all()
    assert (sizes == np.abs(out.astype(np.int64)).sum(axis=1)).all()
