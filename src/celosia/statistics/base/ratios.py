"""Confidence sets of ratios: means and their kin are quotients of sums that are noisy, above and below the line.

If t is the true ratio, a weighted sum of features with weights that depend on t is 0 without noise; t stays in the set
as long as the noisy sum is within what the noise alone explains (Fieller 1954). The set is found from outside: start
from all that is possible, bound the noise for the largest weights in there, cut, and repeat. Every cut keeps all ratios
that belong to the set, so that coverage is never lost and only width is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from celosia.statistics.base.noise import Noise

__all__ = ["Between", "Ratio", "lines", "magnitudes", "over", "squares", "variance_between", "whole_counts"]

Numbers: TypeAlias = NDArray[np.float64]
Between: TypeAlias = tuple[Numbers, Numbers]
"""The lower and the upper ends of an interval, cell by cell."""

_CUTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A quotient whose noise is that of a weighted sum, over the noisy number of rows.

    ``weights(low, high)`` gives, for ratios between these, the largest magnitudes of the weights of the sum that is 0
    at the truth, the last axis running over the summary's coordinates. ``rows`` is the noisy number of rows, ``total``
    what a row's features sum to, ``bounds`` where the ratio lies in any case.

    >>> from celosia.statistics.base.contribution import Bounding, Sensitivity
    >>> from celosia.statistics.base.noise import Noise
    >>> noise = Noise.laplace(1, Sensitivity(l1=100, l2_squared=10_000), 1, 2, Bounding())
    >>> rows, half = np.array([1000.0]), np.array([0.5])
    >>> share = Ratio(
    ...     weights=lambda low, high: np.stack([1 - low, high], axis=1), rows=rows, total=100, noise=noise
    ... )
    >>> [round(float(end[0]), 4) for end in share.between(half, half, 0.05)]
    [0.4979, 0.5021]
    """

    weights: Callable[[Numbers, Numbers], Numbers]
    rows: Numbers
    total: int
    noise: "Noise"
    bounds: tuple[float, float] = (0.0, 1.0)

    def between(self, low: Numbers, high: Numbers, failure: float) -> Between:
        """Return where the ratio lies but for ``failure``, if the noisy one lies between two numbers."""
        some = self.rows > 0
        rows = np.where(some, self.rows, 1.0) * self.total
        ends = np.full_like(rows, self.bounds[0]), np.full_like(rows, self.bounds[1])
        for _ in range(_CUTS):
            reach = self.noise.margin_of(self.weights(*ends), 1 - failure) / rows
            cut = np.clip(low - reach, *self.bounds), np.clip(high + reach, *self.bounds)
            ends = np.where(some, cut[0], self.bounds[0]), np.where(some, cut[1], self.bounds[1])
        return ends


def over(sums: Numbers, rows: Numbers, otherwise: float) -> Numbers:
    """Return sums divided by a noisy number of rows, or a number where there are none.

    >>> over(np.array([1.0, 1.0]), np.array([4.0, -2.0]), 0.5).tolist()
    [0.25, 0.5]
    """
    return np.where(rows > 0, sums / np.where(rows > 0, rows, 1.0), otherwise)


def lines(centres: Between, degree: int) -> Between:
    """Return the range of the Bernstein coefficients of ``x - c``, for c between the two, in a new last axis.

    >>> [end.tolist() for end in lines((np.array([0.25]), np.array([0.5])), 1)]
    [[[-0.5, 0.5]], [[-0.25, 0.75]]]
    """
    line = np.arange(degree + 1) / degree
    return line - centres[1][..., None], line - centres[0][..., None]


def squares(centres: Between) -> Between:
    """Return the range of the Bernstein coefficients of ``(x - c)^2``, for c between the two, in a new last axis.

    >>> [end.tolist() for end in squares((np.array([0.25]), np.array([0.5])))]
    [[[0.0625, -0.25, 0.25]], [[0.25, -0.1875, 0.5625]]]
    """
    low, high = centres
    middle = np.clip(0.5, low, high)  # where c^2 - c is least
    falling = np.maximum(low**2 - low, high**2 - high)
    return (
        np.stack([low**2, middle**2 - middle, (1 - high) ** 2], axis=-1),
        np.stack([high**2, falling, (1 - low) ** 2], axis=-1),
    )


def magnitudes(low: Numbers, high: Numbers) -> Numbers:
    """Return the largest magnitudes between lower and upper ends.

    >>> magnitudes(np.array([-3.0]), np.array([2.0])).tolist()
    [3.0]
    """
    return np.maximum(np.abs(low), np.abs(high))


def variance_between(variance: Numbers, mean: Numbers, means: Between, ratio: Ratio, failure: float) -> Between:
    """Return where a variance lies, given its noisy value and where the mean lies.

    The sum of ``(x - c)^2 - v`` is 0 at the true c and v. Divided by the noisy rows it is ``variance - v`` and the
    square of how far c is from the noisy mean: what the noise of the mean does is of second order.

    >>> from celosia.statistics.base.contribution import Bounding, Sensitivity
    >>> from celosia.statistics.base.noise import Noise
    >>> noise = Noise.laplace(1, Sensitivity(l1=100, l2_squared=10_000), 1, 3, Bounding())
    >>> ratio = Ratio(
    ...     weights=lambda low, high: np.ones((1, 3)),
    ...     rows=np.array([1000.0]),
    ...     total=100,
    ...     noise=noise,
    ...     bounds=(0, 0.25),
    ... )
    >>> means = np.array([0.49]), np.array([0.51])
    >>> found = variance_between(np.array([0.1]), np.array([0.5]), means, ratio, 0.05)
    >>> [round(float(end[0]), 4) for end in found]
    [0.095, 0.1051]
    """
    farthest = np.maximum(np.square(means[0] - mean), np.square(means[1] - mean))
    return ratio.between(variance, variance + farthest, failure)


def whole_counts(features: NDArray[np.int64], total: int) -> Any:
    """Return the nearest whole number of rows, from noisy features that sum to ``total`` in each.

    >>> whole_counts(np.array([[119, 122], [-3, 1]]), 120).tolist()
    [2, 0]
    """
    return np.rint(features.sum(axis=1, dtype=np.float64) / total).astype(np.int64)
