"""Confidence intervals for the coefficients of a line: sampling error and privacy noise together.

A private line is drawn towards a flat one, so an interval around it would miss. Instead, a value of a coefficient is
kept if, with some values of the others, what the noisy moments leave over is no more than noise and sampling explain
(Anderson and Rubin 1949; that the others are free costs a degree of freedom each: Guggenberger, Kleibergen, Mavroeidis
and Chen 2012). Where the noise leaves a coefficient open, its interval is infinite: so it is. Residuals are supposed
to have the same spread everywhere, as in the classical intervals. Everything is computed from noisy numbers.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.exact import Exact, exact_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.learn.linear_model.least_squares import Moments

Numbers = NDArray[np.float64]

_MAX_SLOPE = 1e6  # slopes beyond, between columns of the same width, are none
_TINY = 1e-12
_CLOSE = 1e-3
_ASTRAY = 1e9  # steps of the size of the noise, beyond which the search stops
_DOUBLINGS = 64


def coefficient_intervals(
    moments: "Moments", combinations: Numbers, level: Exact = 0.95, *, through: Numbers | None = None
) -> tuple[Numbers, Numbers]:
    """Return the lowest and highest values of combinations of (constant, slopes), in columns between -1 and 1.

    ``combinations`` has a row for each interval. Of a line ``through`` a given point the slopes alone are combined.
    """
    failure = float(1 - exact_level(level))
    test = _Test.of(moments, through)
    most = _quantile(failure, max(moments.rows - test.unknown, 1.0), moments.noise)
    ends = [test.interval(row, most) for row in np.asarray(combinations, dtype=np.float64)]
    low, high = (np.array(side, dtype=np.float64) for side in zip(*ends, strict=True))
    return low, high


def _quantile(failure: float, freedom: float, noise: str) -> float:
    """Return how large the statistic may be: a squared quantile of Student's t, or of Laplace's if that is more."""
    from scipy.special import stdtrit

    square = float(stdtrit(freedom, 1 - failure / 2)) ** 2
    return max(square, math.log(failure) ** 2 / 2) if noise == "Laplace" else square


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Test:
    """What noisy moments leave over for given weights, measured by what noise and sampling explain.

    ``reading`` are the equations: a row for every unknown, of (1, features, target). ``sampling`` is the covariance of
    what sampling leaves over in them.
    """

    moments: "Moments"
    reading: Numbers
    target: Numbers
    sampling: Numbers

    @classmethod
    def of(cls, moments: "Moments", through: Numbers | None) -> "_Test":
        size = len(moments.values)
        shift = np.eye(size)
        if through is not None:
            shift[1:, 0] = -through
        reading, target = shift[1 if through is not None else 0 : -1], shift[-1]
        line = moments.fit(through=through)
        weights = line.slopes if through is not None else np.concatenate([[line.constant], line.slopes])
        left = target - weights @ reading
        matrix = reading @ moments.values @ reading.T
        values, vectors = np.linalg.eigh(matrix)
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return cls(
            moments=moments, reading=reading, target=target, sampling=positive * _spread(moments, left, len(weights))
        )

    @property
    def unknown(self) -> int:
        return len(self.reading)

    def statistic(self, weights: Numbers) -> tuple[float, Numbers]:
        """Return the statistic for some weights, and its gradient."""
        left = self.target - weights @ self.reading
        over = self.reading @ self.moments.values @ left
        solved = np.linalg.solve(self.covariance(weights), over)
        across = solved @ self.reading
        slope = self.moments.error(across) @ left - self.moments.values @ across
        return float(over @ solved), 2 * (self.reading @ slope)

    def covariance(self, weights: Numbers) -> Numbers:
        """Return what noise and sampling explain; a trace more, so that it can always be divided by."""
        left = self.target - weights @ self.reading
        found = self.reading @ self.moments.error(left) @ self.reading.T + self.sampling
        ridge = _TINY * float(np.trace(found)) + np.finfo(np.float64).tiny
        covariance: Numbers = found + ridge * np.eye(len(found))
        return covariance

    def interval(self, row: Numbers, most: float) -> tuple[float, float]:
        """Return the ends between which a combination of the weights is kept."""
        matrix = self.reading @ self.moments.values @ self.reading.T
        right = self.reading @ self.moments.values @ self.target
        centre = np.linalg.lstsq(matrix, right, rcond=None)[0].astype(np.float64)
        back = np.linalg.lstsq(matrix.T, row, rcond=None)[0]
        width = math.sqrt(float(back @ self.covariance(centre) @ back) * most) + _TINY
        middle = float(row @ centre)
        profile = _Profile(self, row, centre)
        return tuple(_edge(profile, middle, side * width, most) for side in (-1.0, 1.0))  # type: ignore[return-value] # two


class _Profile:
    """The least statistic for one value of a combination, over all weights that have it."""

    def __init__(self, test: _Test, row: Numbers, centre: Numbers) -> None:
        self._test, self._row, self._centre = test, row, centre
        self._free = np.linalg.svd(row[None, :])[2][1:].T
        self._size = float(row @ row)

    def __call__(self, value: float) -> float:
        from scipy.optimize import minimize

        start = self._centre + self._row * (value - float(self._row @ self._centre)) / self._size
        if not self._free.shape[1]:
            return self._test.statistic(start)[0]
        start, scale = self._approach_least(start)

        def along(moved: Numbers) -> tuple[float, Numbers]:
            if np.abs(moved).max() > _ASTRAY:
                return _ASTRAY**2, moved
            found, slope = self._test.statistic(start + scale @ moved)
            return found, scale.T @ slope

        found = minimize(along, np.zeros(scale.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-5})
        return float(found.fun)

    def _approach_least(self, start: Numbers) -> tuple[Numbers, Numbers]:
        """Return weights near the least, with the covariance held where it was, and steps of the same size."""
        test = self._test
        matrix = test.reading @ test.moments.values @ test.reading.T @ self._free
        for _ in range(3):
            root = np.linalg.cholesky(test.covariance(start))
            over = test.reading @ test.moments.values @ (test.target - start @ test.reading)
            bent = np.linalg.solve(root, matrix)
            start = start + self._free @ np.linalg.lstsq(bent, np.linalg.solve(root, over), rcond=None)[0]
        vectors, values = np.linalg.svd(bent)[2].T, np.zeros(bent.shape[1])
        found = np.linalg.svd(bent, compute_uv=False)
        values[: len(found)] = found
        return start, self._free @ (vectors / np.maximum(values, _TINY + 1e-4 * float(values.max(initial=0.0))))


def _edge(statistic: "Callable[[float], float]", middle: float, step: float, most: float) -> float:
    """Return where the statistic becomes too large on the way out; infinity if it never does."""
    from scipy.optimize import brentq

    far = middle + math.copysign(max(_MAX_SLOPE, 1e3 * abs(step)), step)
    if statistic(far) <= most:
        return math.copysign(math.inf, step)
    inner, outer = middle, middle + step
    for _ in range(_DOUBLINGS):
        if abs(outer) >= abs(far) or statistic(outer) > most:
            break
        inner, step = outer, 2 * step
        outer = middle + step

    def above(value: float) -> float:
        return math.sqrt(max(statistic(value), 0.0)) - math.sqrt(most)

    if above(inner) >= 0:
        return inner
    found: Any = brentq(above, inner, outer, xtol=_CLOSE * abs(outer - middle), rtol=_CLOSE)
    return float(found)


def _spread(moments: "Moments", left: Numbers, unknown: int) -> float:
    """Return the variance of the residuals: the residual sum and one deviation of its noise, above 0."""
    total = float(left @ moments.values @ left) + math.sqrt(max(float(left @ moments.error(left) @ left), 0.0))
    return max(total, _TINY * max(abs(float(moments.values[-1, -1])), 1.0)) / max(moments.rows - unknown, 1.0)
