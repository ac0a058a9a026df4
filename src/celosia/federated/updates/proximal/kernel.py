"""The compiled local step for any smooth loss: projected gradient steps, for one party after the other.

A party minimises the mean loss of its records, plus penalty/2 |w|^2 and mu/2 |w - start|^2, over a ball. The number of
steps is public and the same for all: the time tells nothing of the records. Slopes are cut at a bound, which leaves the
loss convex (proofs/proximal.md). Nothing is certified here; the gradients at the last weights are returned for that.
"""

from typing import Any, NamedTuple

from numba import njit

from celosia.learn.optimize.descent import Floats, Integers, project_onto, slope_of


class Descent(NamedTuple):
    """What is the same for all parties: the problem, and the step size, momentum and number of the steps."""

    bound: float
    mu: float
    penalty: float
    rate: float
    momentum: float
    steps: int
    loss: Floats
    shape: Floats


@njit(nogil=True, inline="always")
def _fill_gradient(
    rows: Floats, targets: Floats, start: Floats, weights: Floats, run: Descent, out: Floats, slope: Any
) -> None:
    """Write the gradient of the mean loss and of both penalties; a slope that is no number counts as none."""
    size = out.size
    out[:] = 0.0
    for i in range(targets.size):
        prediction = 0.0
        for j in range(size):
            prediction += rows[i, j] * weights[j]
        steepness = slope(prediction, targets[i], run.loss)
        if steepness == steepness:  # noqa: PLR0124 - NaN
            steepness = min(max(steepness, -run.bound), run.bound)
            for j in range(size):
                out[j] += steepness * rows[i, j]
    for j in range(size):
        out[j] = out[j] / targets.size + run.penalty * weights[j] + run.mu * (weights[j] - start[j])


@njit(nogil=True, inline="always")
def _minimise_own(  # noqa: PLR0913, PLR0917 - a compiled kernel takes its state one by one
    rows: Floats,
    targets: Floats,
    offsets: Integers,
    starts: Floats,
    weights: Floats,
    gradients: Floats,
    run: Descent,
    slope: Any,
) -> None:
    """Run the steps of all parties with a slope of the caller's own: every process compiles it."""
    size = starts.shape[1]
    for p in range(offsets.size - 1):
        own, wanted = rows[offsets[p] : offsets[p + 1]], targets[offsets[p] : offsets[p + 1]]
        current, ahead, gradient = starts[p].copy(), starts[p].copy(), gradients[p]
        if wanted.size:
            for _ in range(run.steps):
                _fill_gradient(own, wanted, starts[p], ahead, run, gradient, slope)
                for j in range(size):
                    ahead[j] -= run.rate * gradient[j]
                project_onto(ahead, run.shape)
                for j in range(size):
                    moved = ahead[j]
                    ahead[j] += run.momentum * (moved - current[j])
                    current[j] = moved
            _fill_gradient(own, wanted, starts[p], current, run, gradient, slope)
        weights[p] = current


@njit(cache=True, nogil=True)
def _minimise(
    rows: Floats,
    targets: Floats,
    offsets: Integers,
    starts: Floats,
    weights: Floats,
    gradients: Floats,
    run: Descent,
) -> None:
    """Run the steps of all parties with the losses of this package."""
    _minimise_own(rows, targets, offsets, starts, weights, gradients, run, slope_of)


def minimise(  # noqa: PLR0913 - plain arrays, one by one
    rows: Floats,
    targets: Floats,
    offsets: Integers,
    starts: Floats,
    *,
    weights: Floats,
    gradients: Floats,
    run: Descent,
    slope: Any = None,
) -> None:
    """Fill the last weights of each party, and the gradient there; a party without records stays at its start."""
    if slope is None:
        _minimise(rows, targets, offsets, starts, weights, gradients, run)
    else:
        _minimise_own(rows, targets, offsets, starts, weights, gradients, run, slope)
