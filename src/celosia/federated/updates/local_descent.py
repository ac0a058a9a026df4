"""Compiled local steps: sums of clipped gradients, or of columns, in integers, for the records of all parties at once.

The gradient of each sampled record is cut to a length, rounded towards 0 to steps of it (``rounded_gradient``), and
added as an integer, so that no order of summation changes the sum and one record changes it by at most the length.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from celosia.learn.optimize.descent import Run, project_onto, rounded_gradient, slope_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(nogil=True, inline="always")
def _add_own(  # noqa: PLR0913, PLR0917 - a compiled kernel takes its state one by one
    rows: Floats,
    targets: Floats,
    bounds: Integers,
    sampled: NDArray[np.bool_],
    weights: Floats,
    run: Run,
    slope: Any,
    out: Integers,
) -> None:
    """Add the gradients of the sampled records of each party, at its own weights."""
    gradient = np.zeros(weights.shape[1])
    coin = 0
    for party in range(bounds.shape[0]):
        for record in range(bounds[party, 0], bounds[party, 1]):
            taken = sampled.size == 0 or sampled[coin]
            coin += 1
            if not taken:
                continue
            prediction = 0.0
            for j in range(weights.shape[1]):
                prediction += rows[record, j] * weights[party, j]
            steepness = slope(prediction, targets[record], run.loss)
            if steepness != steepness:  # noqa: PLR0124 - NaN: a slope that is no number counts as none
                continue
            rounded_gradient(rows[record], steepness, run, gradient)
            for j in range(weights.shape[1]):
                out[party, j] += np.int64(gradient[j])


@njit(cache=True, nogil=True)
def _add(
    rows: Floats,
    targets: Floats,
    bounds: Integers,
    sampled: NDArray[np.bool_],
    weights: Floats,
    run: Run,
    out: Integers,
) -> None:
    """Add gradients of the losses of this package."""
    _add_own(rows, targets, bounds, sampled, weights, run, slope_of, out)


@njit(cache=True, nogil=True)
def project_rows(weights: Floats, shape: Floats) -> None:
    """Move the weights of each party, in place, into the ball."""
    for party in range(weights.shape[0]):
        project_onto(weights[party], shape)


@njit(cache=True, nogil=True)
def _add_columns(
    rows: Floats, targets: Floats, bounds: Integers, norm: float, features: int, grid: int, out: Integers
) -> None:
    """Add columns, the target last, and then their squares less a half, in integers rounded towards 0."""
    columns = features + 1
    for party in range(bounds.shape[0]):
        for record in range(bounds[party, 0], bounds[party, 1]):
            for j in range(columns):
                value = targets[record] if j == features else rows[record, j] * norm
                if value != value:  # noqa: PLR0124 - NaN
                    value = 0.0
                steps = np.int64(min(max(value, -1.0), 1.0) * grid)  # monotone rounding: no more than grid
                square = 2 * steps * steps - grid * grid  # from -grid^2 to grid^2
                quarter = 4 * grid
                out[party, j] += steps
                out[party, columns + j] += square // quarter if square >= 0 else -(-square // quarter)


def add_columns(rows: Floats, targets: Floats, bounds: Integers, norm: float, features: int, grid: int) -> Integers:
    """Return sums of columns and of their squares in steps, a row for each party.

    A column is a feature, ``rows`` times ``norm``, or the target, cut at -1 and 1; ``grid`` steps are 1. The square of
    a value x of so many steps is half of x^2 - 1/2: its length is a quarter at the most.
    """
    out = np.zeros((len(bounds), 2 * (features + 1)), dtype=np.int64)
    _add_columns(rows, targets, bounds, norm, features, grid, out)
    return out


def add_gradients(
    rows: Floats,
    targets: Floats,
    bounds: Integers,
    sampled: NDArray[np.bool_],
    weights: Floats,
    run: Run,
    *,
    slope: Callable[..., Any] | None = None,
) -> Integers:
    """Return the sums of clipped gradients, a row of integers for each party.

    ``bounds`` has where the records of each party begin and end, ``sampled`` a coin for each of their records (empty:
    all are taken), ``weights`` a row for each party. ``slope`` is a compiled function of the caller's own.
    """
    out = np.zeros(weights.shape, dtype=np.int64)
    if slope is None:
        _add(rows, targets, bounds, sampled, weights, run, out)
    else:
        _add_own(rows, targets, bounds, sampled, weights, run, slope, out)
    return out
