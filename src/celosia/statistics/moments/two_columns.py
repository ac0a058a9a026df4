"""Means, variances, covariance and correlation from noisy products of two columns, with intervals.

Values are shares of their ranges, between 0 and 1. Each interval is one side of a confidence set for all unknowns
together. At the true means c, d and the true covariance v, the sum of ``(x - c)(y - d) - v`` is 0 but for the noise.
For a correlation r it is the sum of ``(x - c)(y - d) - r/2 (s (x - c)^2 + (y - d)^2 / s)``, with s the ratio of the
deviations. Both change only in the second order when c, d and s are a little off: not knowing them costs little.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.statistics.base.measure import Between, Ratio, lines, magnitudes, over, squares, variance_between

if TYPE_CHECKING:
    from celosia.statistics.base.noise import Noise

Numbers: TypeAlias = NDArray[np.float64]

_NUISANCE_SHARE = 0.05  # of the failure, for each of the other unknowns
_ITERATIONS = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoColumns:
    """Noisy sums of products of Bernstein polynomials, divided by their sum over one row."""

    shares: Numbers
    total: int
    noise: "Noise"

    @cached_property
    def rows(self) -> Numbers:
        """The noisy number of rows."""
        rows: Numbers = self.shares.sum(axis=1)
        return rows

    @cached_property
    def degree(self) -> int:
        """The degree of the polynomials of each column."""
        return 1 if self.shares.shape[1] == 4 else 2

    @cached_property
    def means(self) -> tuple[Numbers, Numbers]:
        """Both means, wherever the noise puts them; one half without rows."""
        x, y = self._columns
        return over(x @ self._line, self.rows, 0.5), over(y @ self._line, self.rows, 0.5)

    @cached_property
    def variances(self) -> tuple[Numbers, Numbers]:
        """Both variances, if squares were summed; 0 without rows."""
        (x, y), (c, d) = self._columns, self.means
        return over(x[:, 2], self.rows, 0.25) - c**2, over(y[:, 2], self.rows, 0.25) - d**2

    @cached_property
    def covariance(self) -> Numbers:
        """The covariance; 0 without rows."""
        product = self.shares @ np.outer(self._line, self._line).ravel()
        return over(product, self.rows, 0.25) - self.means[0] * self.means[1]

    @cached_property
    def correlation(self) -> Numbers:
        """The correlation; 0 without rows, or where a noisy variance is not positive."""
        x, y = self.variances
        known = (x > 0) & (y > 0) & (self.rows > 0)
        scale = np.sqrt(np.where(known, x, 1.0)) * np.sqrt(np.where(known, y, 1.0))
        return np.where(known, np.clip(self.covariance / scale, -1.0, 1.0), 0.0)

    def means_between(self, failure: float) -> tuple[Between, Between]:
        """Return intervals of the two means, each except with probability ``failure``."""
        c, d = self.means

        def x_weights(low: Numbers, high: Numbers) -> Numbers:
            return self._spread_weights(magnitudes(*lines((low, high), self.degree)), first=True)

        def y_weights(low: Numbers, high: Numbers) -> Numbers:
            return self._spread_weights(magnitudes(*lines((low, high), self.degree)), first=False)

        return (
            Ratio(weights=x_weights, rows=self.rows, total=self.total, noise=self.noise).between(c, c, failure),
            Ratio(weights=y_weights, rows=self.rows, total=self.total, noise=self.noise).between(d, d, failure),
        )

    def variance_between(self, means: Between, failure: float, *, first: bool) -> Between:
        """Return an interval of a column's variance, except with ``failure``, given one of its mean."""
        index = 0 if first else 1
        least, most = squares(means)
        ratio = Ratio(
            weights=lambda low, high: self._spread_weights(
                magnitudes(least - high[:, None], most - low[:, None]), first=first
            ),
            rows=self.rows,
            total=self.total,
            noise=self.noise,
            bounds=(0.0, 0.25),
        )
        return variance_between(self.variances[index], self.means[index], means, ratio, failure)

    def covariance_between(self, failure: float) -> Between:
        """Return an interval of the covariance, except with probability ``failure``."""
        means = self.means_between(_NUISANCE_SHARE * failure)
        least, most = _outer(lines(means[0], self.degree), lines(means[1], self.degree))
        ratio = Ratio(
            weights=lambda low, high: magnitudes(least - high[:, None], most - low[:, None]),
            rows=self.rows,
            total=self.total,
            noise=self.noise,
            bounds=(-0.25, 0.25),
        )
        low, high = self._covariance_shift(means)
        return ratio.between(self.covariance + low, self.covariance + high, (1 - 2 * _NUISANCE_SHARE) * failure)

    def correlation_between(self, failure: float) -> Between:
        """Return an interval of the correlation, except with probability ``failure``."""
        means = self.means_between(_NUISANCE_SHARE * failure)
        x = self.variance_between(means[0], _NUISANCE_SHARE * failure, first=True)
        y = self.variance_between(means[1], _NUISANCE_SHARE * failure, first=False)
        known = (x[0] > 0) & (y[0] > 0) & (self.rows > 0)
        slopes = _root(y[0], x[1], known), _root(y[1], x[0], known)
        above, below = self._covariance_shift(means), self._denominator_range(means, slopes, known)
        above = self.covariance + above[0], self.covariance + above[1]
        rows = np.where(known, self.rows, 1.0) * self.total
        low, high = -np.ones_like(rows), np.ones_like(rows)
        for _ in range(_ITERATIONS):
            weights = _correlation_weights(means, slopes, (low, high))
            reach = self.noise.margin_of(weights, 1 - (1 - 4 * _NUISANCE_SHARE) * failure) / rows
            low = np.where(known, -_largest_quotient(reach - above[0], below), -1.0)
            high = np.where(known, _largest_quotient(reach + above[1], below), 1.0)
        return low, high

    @property
    def _line(self) -> Numbers:
        return np.arange(self.degree + 1) / self.degree

    @property
    def _columns(self) -> tuple[Numbers, Numbers]:
        """The polynomials of either column alone: those of the other sum to one."""
        square = self.shares.reshape(-1, self.degree + 1, self.degree + 1)
        return square.sum(axis=2), square.sum(axis=1)

    def _spread_weights(self, weights: Numbers, *, first: bool) -> Numbers:
        """Return the weights of all products, from those of one column's polynomials."""
        wide = weights[:, :, None] if first else weights[:, None, :]
        return np.broadcast_to(wide, (len(weights), self.degree + 1, self.degree + 1)).reshape(self.shares.shape)

    def _covariance_shift(self, means: tuple[Between, Between]) -> Between:
        """Return by how much the covariance changes when it is taken from other means than the noisy ones."""
        (c, d), (x, y) = self.means, means
        return _product((x[0] - c, x[1] - c), (y[0] - d, y[1] - d))

    def _denominator_range(self, means: tuple[Between, Between], slopes: Between, known: NDArray[np.bool_]) -> Between:
        """Return the range of the mean of ``(s (x - c)^2 + (y - d)^2 / s) / 2``: at the truth, the two deviations."""
        x, y = (np.where(known, variance, 1.0) for variance in self.variances)
        best = np.clip(np.sqrt(y / x), *slopes)
        far = [np.max(np.square(np.stack(ends) - mean), axis=0) for ends, mean in zip(means, self.means, strict=True)]
        ends = [(slope * (x + far[0]) + (y + far[1]) / slope) / 2 for slope in slopes]
        return (best * x + y / best) / 2, np.maximum(*ends)


def _correlation_weights(means: tuple[Between, Between], slopes: Between, correlations: Between) -> Numbers:
    """Return the largest magnitudes of the weights of the sum that is 0 at the true correlation."""
    x, y = squares(means[0]), squares(means[1])
    steep = _product(x, (slopes[0][:, None], slopes[1][:, None]))
    flat = _product(y, (1 / slopes[1][:, None], 1 / slopes[0][:, None]))
    both = tuple((a[:, :, None] + b[:, None, :]).reshape(len(a), 9) / 2 for a, b in zip(steep, flat, strict=True))
    taken = _product((both[0], both[1]), (correlations[0][:, None], correlations[1][:, None]))
    least, most = _outer(lines(means[0], 2), lines(means[1], 2))
    return magnitudes(least - taken[1], most - taken[0])


def _product(a: Between, b: Between) -> Between:
    """Return the range of a product of two numbers that lie in ranges."""
    corners = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _outer(a: Between, b: Between) -> Between:
    """Return the range of every product of one of the first and one of the second."""
    low, high = _product((a[0][:, :, None], a[1][:, :, None]), (b[0][:, None, :], b[1][:, None, :]))
    shape = len(low), low.shape[1] * low.shape[2]
    return low.reshape(shape), high.reshape(shape)


def _root(above: Numbers, below: Numbers, known: NDArray[np.bool_]) -> Numbers:
    return np.sqrt(np.where(known, above / np.where(known, below, 1.0), 1.0))


def _largest_quotient(above: Numbers, below: Between) -> Numbers:
    """Return the largest quotient, between -1 and 1, for a denominator between two positive numbers."""
    return np.clip(above / np.where(above > 0, below[0], below[1]), -1.0, 1.0)
