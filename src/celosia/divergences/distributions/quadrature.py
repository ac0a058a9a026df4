"""Integrals over the line of functions given by their logarithm, without overflow and with checked tails.

Each piece of the line is stretched so that power-law tails and singular ends become exponentials: x = sinh t on the
whole line, x = e^t on a half-line, the logistic curve on an interval (as in double-exponential quadrature, Takahasi and
Mori 1974). A scan finds where the integrand has mass, however far out; Gauss-Legendre panels are halved there until
they agree. A tail that rises or stays level to the end of the scan makes the integral infinite; one that falls, but not
far enough to be left out, is an error rather than a guess.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy

from celosia.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_Function: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"

_SCAN_LIMIT = 150.0  # in the stretched variable: about 1e65 times the scale of the distributions
_SCAN = 4_001
_NEGLIGIBLE = 60.0  # powers of e below the largest value
_RESOLVED = 32.0
_MIN_HEAVY_POINTS = 64
_PANELS = 65
_TOLERANCE = 1e-12
_HALVINGS = 50
_MAX_PANELS = 2_000  # where rounding in the log-densities is larger than the tolerance, halving would never end
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A map of the line, t to x, onto the interval from ``low`` to ``high``; either end may be infinite."""

    low: float
    high: float
    centre: float
    scale: float

    def points(self, t: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return x, strictly inside the interval."""
        if math.isinf(self.low) and math.isinf(self.high):
            x = self.centre + self.scale * np.sinh(t)
        elif math.isinf(self.high):
            x = self.low + self.scale * np.exp(t)
        elif math.isinf(self.low):
            x = self.high - self.scale * np.exp(-t)
        else:
            width = self.high - self.low
            x = np.where(t < 0, self.low + width * scipy.special.expit(t), self.high - width * scipy.special.expit(-t))
        return np.clip(x, np.nextafter(self.low, math.inf), np.nextafter(self.high, -math.inf))

    def log_slope(self, t: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return log dx/dt."""
        if math.isinf(self.low) and math.isinf(self.high):
            return math.log(self.scale / 2) + np.logaddexp(t, -t)
        if math.isinf(self.high):
            return math.log(self.scale) + t
        if math.isinf(self.low):
            return math.log(self.scale) - t
        return math.log(self.high - self.low) + scipy.special.log_expit(t) + scipy.special.log_expit(-t)

    def inverse(self, x: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return t for points strictly inside; those outside are dropped."""
        x = x[(x > self.low) & (x < self.high)]
        if math.isinf(self.low) and math.isinf(self.high):
            return np.arcsinh((x - self.centre) / self.scale)
        if math.isinf(self.high):
            return np.log((x - self.low) / self.scale)
        if math.isinf(self.low):
            return -np.log((self.high - x) / self.scale)
        return np.log((x - self.low) / (self.high - x))


def log_integral(log_values: _Function, stretch: Stretch, marks: "NDArray[np.float64]") -> float:
    """Return the log of the integral of ``exp(log_values(x))``; ``marks`` are points that must not be overlooked."""

    def stretch_values(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return log_values(stretch.points(t)) + stretch.log_slope(t)

    inside = np.clip(stretch.inverse(marks), -_SCAN_LIMIT, _SCAN_LIMIT)
    found = window(stretch_values, inside)
    if found is None:
        return -math.inf
    low, high, top = found
    if top == math.inf:
        return math.inf
    edges = np.unique(np.concatenate([np.linspace(low, high, _PANELS), inside[(inside > low) & (inside < high)]]))
    return top + math.log(_integrate(lambda t: np.exp(stretch_values(t) - top), edges))


def window(log_values: _Function, marks: "NDArray[np.float64]") -> tuple[float, float, float] | None:
    """Return where the integrand has mass and the log of its maximum (infinite if it does not fall off)."""
    low, high = -_SCAN_LIMIT, _SCAN_LIMIT
    for _ in range(30):
        t = np.unique(np.concatenate([np.linspace(low, high, _SCAN), marks[(marks >= low) & (marks <= high)]]))
        values = log_values(t)
        if np.isnan(values).any():
            raise InputError("divergences.densities_not_numbers")
        top = float(values.max())
        if top == -math.inf:
            return None
        if top == math.inf or (low == -_SCAN_LIMIT and _endless(t, values)):
            return low, high, math.inf
        heavy = np.flatnonzero(values >= top - _NEGLIGIBLE)
        first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(t) - 1)
        low, high = float(t[first]), float(t[last])
        if len(heavy) >= _MIN_HEAVY_POINTS:
            return low, high, top
    raise InputError("divergences.densities_too_concentrated")


def supremum(values: _Function, stretch: Stretch, marks: "NDArray[np.float64]") -> float:
    """Return the largest value found by ever finer scans; infinity where it still rises at the end of the known values.

    Where a value is unknown the function returns minus infinity.
    """
    low, high, best = -_SCAN_LIMIT, _SCAN_LIMIT, -math.inf
    inside = np.clip(stretch.inverse(marks), -_SCAN_LIMIT, _SCAN_LIMIT)
    for _ in range(8):
        t = np.unique(np.concatenate([np.linspace(low, high, _SCAN), inside[(inside >= low) & (inside <= high)]]))
        heights = values(stretch.points(t))
        known = np.flatnonzero(heights > -math.inf)
        if not len(known):
            return best
        if low == -_SCAN_LIMIT and high == _SCAN_LIMIT and _rises(heights[known]):
            return math.inf
        top = int(np.argmax(heights))
        best = max(best, float(heights[top]))
        low, high = float(t[max(top - 1, 0)]), float(t[min(top + 1, len(t) - 1)])
        if not low < high or best == math.inf:
            break
    return best


def _rises(heights: "NDArray[np.float64]") -> bool:
    """Return whether the largest value is at an end that was reached by rising."""
    step = max(1, len(heights) // 50)
    ends = ((heights[0], heights[min(step, len(heights) - 1)]), (heights[-1], heights[max(-1 - step, -len(heights))]))
    top = heights.max()
    return any(end == top and end > before + 1e-6 * (1 + abs(before)) for end, before in ends)


def _endless(t: "NDArray[np.float64]", values: "NDArray[np.float64]") -> bool:
    """Return whether an end of the scan still has mass; raise ``InputError`` if it falls too slowly."""
    top = values.max()
    for end, before in ((0, np.searchsorted(t, -0.9 * _SCAN_LIMIT)), (-1, np.searchsorted(t, 0.9 * _SCAN_LIMIT))):
        if values[end] >= top - _RESOLVED:
            if values[end] >= values[before]:
                return True
            raise InputError("divergences.tails_too_heavy")
    return False


def _integrate(values: _Function, edges: "NDArray[np.float64]") -> float:
    """Integrate over the panels between ``edges``, halving those whose halves do not add up to them."""
    left, right = edges[:-1], edges[1:]
    whole = _panels(values, left, right)
    done = 0.0
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        first, second = _panels(values, left, middle), _panels(values, middle, right)
        halves = first + second
        open_ = np.abs(halves - whole) > _TOLERANCE * (done + halves.sum())
        done += halves[~open_].sum()
        if not open_.any():
            return float(done)
        left, right = np.concatenate([left[open_], middle[open_]]), np.concatenate([middle[open_], right[open_]])
        whole = np.concatenate([first[open_], second[open_]])
        if len(left) > _MAX_PANELS:
            break
    return float(done + whole.sum())


def _panels(values: _Function, left: "NDArray[np.float64]", right: "NDArray[np.float64]") -> "NDArray[np.float64]":
    half = (right - left)[:, None] / 2
    t = left[:, None] + half * (1 + _NODES)
    result: NDArray[np.float64] = (values(t.ravel()).reshape(t.shape) * _WEIGHTS * half).sum(axis=1)
    return result
