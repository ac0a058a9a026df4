"""Noisy moments of columns between -1 and 1, and the line that fits them best.

Least squares divides by a matrix that is noisy itself. Directions in which the data hardly vary would be all noise, so
each is damped by how far its eigenvalue stands out: ``L / (L^2 + f^2)`` takes the place of ``1 / L``, and 0 where L is
negative. The floor f follows from the known noise, from how far the target varies and from how much the features do,
all of it noisy: nothing here looks at data. As the noise goes to 0 so does f, and least squares remains.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_MEANS = 0.15  # how far means are from the middle of public bounds: the variance that is supposed
_SLACK = 0.5  # how much of the matrix's own noise the floor counts: the rest is in its eigenvalues already
_FLATTEST = 0.05  # features are supposed to vary by at least this much of what they can
_STEADIEST = 0.02  # and the target by this much


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """Slopes and a constant in columns between -1 and 1, and the floor below which an eigenvalue counts as noise."""

    slopes: Numbers
    constant: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Sums of the products of (1, features, target), noisy; ``variance`` is that of each entry's own noise.

    The noise of the count is also part of every square, ``carried`` times. Anything else is independent.
    """

    values: Numbers
    variance: Numbers
    carried: float = 0.0
    noise: str = "Gaussian"

    @property
    def rows(self) -> float:
        """The noisy number of rows; never less than its noise."""
        return max(float(self.values[0, 0]), math.sqrt(self.variance[0, 0]), 1.0)

    def means(self) -> Numbers:
        """The noisy means of all columns, drawn to the middle by as much as they are noise."""
        off = self.variance[0, 1:] / self.rows**2
        means: Numbers = np.clip(self.values[0, 1:] / self.rows / (1 + off / _MEANS), -1, 1)
        return means

    def spread(self) -> Numbers:
        """The variance of each entry's noise, the count's part in squares included."""
        spread = self.variance.copy()
        squares = np.arange(1, len(spread))
        spread[squares, squares] += self.carried**2 * self.variance[0, 0]
        return spread

    def error(self, direction: Numbers) -> Numbers:
        """Return the covariance of the noise in ``values @ direction``."""
        own = self.variance.copy()
        own[0, 0] = 0
        covariance = own * np.outer(direction, direction)
        np.fill_diagonal(covariance, own @ direction**2)
        shared = self.carried * direction
        shared[0] = direction[0]
        found: Numbers = covariance + self.variance[0, 0] * np.outer(shared, shared)
        return found

    def fit(self, *, through: Numbers | None = None, penalty: Numbers | None = None) -> Line:
        """Return the line of least squares, through a given point or through the means.

        ``penalty`` is added to the diagonal: one number for each feature.
        """
        centre = self.means() if through is None else through
        centred = self._about(centre)
        floor = self._floor(centred, centre)
        matrix = centred.values[1:-1, 1:-1]
        if penalty is not None:
            matrix = matrix + np.diag(penalty)
        slopes = _solve_damped(matrix, centred.values[1:-1, -1], floor)
        return Line(slopes=slopes, constant=float(centre[-1] - slopes @ centre[:-1]), floor=floor)

    def _about(self, centre: Numbers) -> "Moments":
        """Return the same moments about another point; variances are those of each entry alone."""
        shift = np.eye(len(self.values))
        shift[1:, 0] = -centre
        values = self.values.copy()
        values[0, 0] = self.rows
        squared, spread = shift**2, self.spread()
        crossed = spread - np.diag(np.diag(spread))
        variance = squared @ spread @ squared.T
        # An entry off the diagonal occurs twice in a square, as one noise.
        np.fill_diagonal(variance, np.diag(variance) + np.einsum("ia,ab,ib->i", squared, crossed, squared))
        return Moments(values=shift @ values @ shift.T, variance=variance, noise=self.noise)

    def _floor(self, centred: "Moments", centre: Numbers) -> float:
        """Return how large an eigenvalue must be to stand out from the noise."""
        count, rows = len(centre) - 1, self.rows
        matrix_noise = float(centred.variance[1:-1, 1:-1].mean())
        product_noise = float(centred.variance[1:-1, -1].mean())
        values = np.linalg.eigvalsh(centred.values[1:-1, 1:-1])
        varied = min(max(float(centred.values[-1, -1]), _STEADIEST * rows), rows * (1 + float(centre[-1]) ** 2))
        slope = varied / max(float(values[values > 0].sum()), count * _FLATTEST * rows)
        return math.sqrt(product_noise / slope + _SLACK * count * matrix_noise)


def _solve_damped(matrix: Numbers, products: Numbers, floor: float) -> Numbers:
    """Return the solution of ``matrix @ x = products``, each eigenvector damped by the floor."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > max(0.0, np.finfo(np.float64).eps * len(values) * float(np.abs(values).max(initial=0.0)))
    along = np.where(kept, values, 0.0)
    factors = np.divide(along, along**2 + floor**2, out=np.zeros_like(along), where=kept)
    slopes: Any = vectors @ (factors * (vectors.T @ products))
    return np.asarray(slopes, dtype=np.float64)
