"""The compiled pass of projected noisy stochastic gradient descent: one record a step, in a given order.

Losses are functions of a prediction w·x and a target, so that a gradient is a *slope* times the row. The slope is cut
at a bound here, whatever a loss returns: a monotone slope that is cut is monotone still, and changes no faster, so the
step stays a contraction while no gradient is longer than the bound (proofs/pnsgd.md). In integers the gradient is
rounded towards 0 and its length is compared exactly. Weights are changed in place and never shown in between.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SHRINKINGS = 64  # one is enough where rounding made a gradient too long


class Run(NamedTuple):
    """What stays the same from step to step; ``most`` is the bound in whole steps, or 0 for real numbers."""

    step_size: float
    bound: float
    most: int
    loss: Floats
    shape: Floats


@njit(cache=True, nogil=True)
def slope_of(prediction: float, target: float, loss: Floats) -> float:
    """Return the derivative of a loss at a prediction: ``loss`` is 0 for squares, 1 for the logistic loss."""
    if loss[0] == 0.0:
        return prediction - target
    return -target / (1.0 + math.exp(min(target * prediction, 700.0)))


@njit(cache=True, nogil=True)
def project_onto(weights: Floats, shape: Floats) -> None:
    """Move weights, in place, to the nearest point of a set: a ball (0), a box (1) or a simplex (2), then its sizes."""
    size = weights.size
    if shape[0] == 0.0:
        scale = 0.0
        for j in range(size):
            scale = max(scale, abs(weights[j]))
        squared = 0.0
        for j in range(size):  # of scaled weights, where there are large ones: their squares would overflow
            squared += weights[j] * weights[j] if scale < 1e100 else (weights[j] / scale) ** 2
        length = math.sqrt(squared) * (1.0 if scale < 1e100 else scale)
        if length > shape[1]:
            for j in range(size):
                weights[j] *= shape[1] / length
    elif shape[0] == 1.0:
        for j in range(size):
            weights[j] = min(max(weights[j], shape[1 + j]), shape[1 + size + j])
    else:
        _onto_simplex(weights, shape[1])


@njit(cache=True, nogil=True)
def _onto_simplex(weights: Floats, total: float) -> None:
    """Take the same from all weights and cut at 0, so that ``total`` remains (Held, Wolfe and Crowder 1974)."""
    largest = weights.max()
    ordered = np.sort(weights - largest)[::-1]  # relative to the largest: nothing is lost where all are large
    summed, excess = 0.0, 0.0
    for j in range(weights.size):
        summed += ordered[j]
        candidate = (summed - total) / (j + 1)
        if ordered[j] > candidate:
            excess = candidate
    for j in range(weights.size):
        weights[j] = max(weights[j] - largest - excess, 0.0)


@njit(cache=True, nogil=True)
def rounded_gradient(row: Floats, steepness: float, run: Run, out: Floats) -> None:
    """Write a gradient in steps of ``bound / most``: integers, towards 0, together no longer than ``most``.

    Squares of at most 2^20 steps are added without rounding: the comparison is exact, whatever the row was.
    """
    most = np.float64(run.most)
    scale = steepness / run.bound * most  # from -most to most, however small the bound is
    length = 0.0
    for j in range(out.size):
        length += (row[j] * scale) ** 2
    if length > most * most:  # at once: by small steps it would take forever
        scale *= most / math.sqrt(length)
    for _ in range(_SHRINKINGS):
        squared = 0.0
        for j in range(out.size):
            out[j] = np.trunc(min(max(row[j] * scale, -most), most))
            squared += out[j] * out[j]
        if squared <= most * most:
            return
        scale *= min(most / math.sqrt(squared), 1.0 - 2.0**-30)
    out[:] = 0.0  # never seen, but never too long


@njit(cache=True, nogil=True)
def _predict(row: Floats, weights: Floats) -> float:
    prediction = 0.0
    for j in range(weights.size):
        prediction += row[j] * weights[j]
    return prediction


@njit(cache=True, nogil=True)
def _move(row: Floats, steepness: float, noise: Floats, weights: Floats, run: Run, gradient: Floats) -> None:
    """Step down the noisy gradient; a slope that is no number counts as none."""
    steepness = min(max(steepness, -run.bound), run.bound) if steepness == steepness else 0.0  # noqa: PLR0124 - NaN
    rate = run.step_size
    if run.most:
        rate *= run.bound / run.most
        rounded_gradient(row, steepness, run, gradient)
    else:
        for j in range(weights.size):
            gradient[j] = steepness * row[j]
    for j in range(weights.size):
        weights[j] -= rate * (gradient[j] + noise[j])


@njit(nogil=True, inline="always")
def _descend_own(  # noqa: PLR0913, PLR0917 - a compiled kernel takes its state one by one
    rows: Floats, targets: Floats, order: Integers, noise: Floats, weights: Floats, run: Run, slope: Any, project: Any
) -> None:
    """Run the steps with functions of the caller's own, which Numba cannot keep from process to process."""
    gradient = np.zeros(weights.size)
    for i in range(order.size):
        row = rows[order[i]]
        steepness = slope(_predict(row, weights), targets[order[i]], run.loss)
        _move(row, steepness, noise[i], weights, run, gradient)
        project(weights, run.shape)


@njit(cache=True, nogil=True)
def _descend(rows: Floats, targets: Floats, order: Integers, noise: Floats, weights: Floats, run: Run) -> None:
    """Run the steps with the losses and sets of this package."""
    _descend_own(rows, targets, order, noise, weights, run, slope_of, project_onto)


def descend(  # noqa: PLR0913 - plain arrays, one by one
    rows: Floats,
    targets: Floats,
    order: Integers,
    noise: Floats,
    weights: Floats,
    run: Run,
    *,
    slope: Callable[..., Any] | None = None,
    project: Callable[..., Any] | None = None,
) -> None:
    """Make a step for each entry of ``order``, with a row of ``noise`` each; ``weights`` are changed in place.

    ``slope`` and ``project`` are compiled functions of the caller's own; every process compiles them.
    """
    if slope is None and project is None:
        _descend(rows, targets, order, noise, weights, run)
    else:
        _descend_own(rows, targets, order, noise, weights, run, slope or slope_of, project or project_onto)


@lru_cache(maxsize=64)
def writing(project: Callable[..., Any]) -> Any:
    """Return a compiled function that overwrites weights with what a projection of the caller's makes of them."""
    compiled = project if hasattr(project, "py_func") else njit(project)

    @njit(nogil=True)
    def write(weights: Floats, _shape: Floats) -> None:
        weights[:] = compiled(weights)

    return write
