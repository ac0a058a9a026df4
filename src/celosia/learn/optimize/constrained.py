"""The minimum of a mean loss over a convex set, without privacy: what private descents are compared with.

Accelerated projected gradient descent with restarts (Beck and Teboulle 2009; O'Donoghue and Candès 2015), on whole
arrays. It looks at the records as often as it likes, so nothing of it may be released.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from celosia.learn.optimize.losses import LogisticLoss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.learn.optimize.losses import Loss
    from celosia.learn.optimize.projections import ConvexSet

_STEPS = 20_000
_CLOSE = 1e-13


def constrained_minimum(
    rows: "NDArray[np.float64]", targets: "NDArray[np.float64]", loss: "Loss", projection: "ConvexSet"
) -> "NDArray[np.float64]":
    """Return the weights of a set at which the mean loss of rows is least."""
    curvature = float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1]) * float(loss.smoothness)
    step = 1.0 / max(curvature, np.finfo(np.float64).tiny)
    weights = projection.project(np.zeros(rows.shape[1]))
    ahead, momentum = weights, 1.0
    for _ in range(_STEPS):
        found = projection.project(ahead - step * _gradient(ahead, rows, targets, loss))
        if np.abs(found - weights).max() <= _CLOSE * (1 + np.abs(found).max()) and momentum > 2.0:
            return found
        if (ahead - found) @ (found - weights) > 0.0:  # it has gone too far: start over from here
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = found + (momentum - 1) / following * (found - weights)
        weights, momentum = found, following
    return weights


def _gradient(
    weights: "NDArray[np.float64]", rows: "NDArray[np.float64]", targets: "NDArray[np.float64]", loss: "Loss"
) -> "NDArray[np.float64]":
    predictions = rows @ weights
    if isinstance(loss, LogisticLoss):
        slopes = -targets * special.expit(-targets * predictions)
    else:
        slopes = predictions - targets
    gradient: NDArray[np.float64] = slopes @ rows / len(rows)
    return gradient
