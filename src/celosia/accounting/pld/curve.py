"""The privacy curve of a loss distribution on a grid: delta for epsilon, epsilon for delta.

The hockey-stick divergence is the sum of ``m (1 - exp(epsilon - loss))`` over the losses above epsilon. With A, the
mass from a grid point on, and D, the divergence at that point, one step down the grid it is
``(1 - exp(-interval)) A + exp(-interval) D``: positive terms only, so nothing cancels, and one factor above the
rounding of the sums makes every answer an upper bound (``proofs/loss-distributions.md``).
"""

import math

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.pld.discretise import Cells
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

_UNIT = 2.0**-53
_UNDERFLOW = 1e-300  # more than what the rounding of numbers too small for all their digits takes away
_REPAIRS = 64  # steps, each twice the last: the first one or two pass the rounding


class Curve:
    """delta(epsilon) of a distribution on a grid, rounded up, and back."""

    __slots__ = ("_above", "_divergence", "_safe", "cells")

    def __init__(self, cells: Cells) -> None:
        from scipy.signal import lfilter

        self.cells = cells
        self._above: Array = np.cumsum(cells.masses[::-1])[::-1]
        keep = math.exp(-cells.interval)
        steps = np.append(0.0, -math.expm1(-cells.interval) * self._above[:0:-1])
        self._divergence: Array = lfilter([1.0], [1.0, -keep], steps)[::-1]
        self._safe = 1 + 8 * _UNIT * (len(cells.masses) + 8)

    @property
    def floor(self) -> float:
        """The smallest delta with a finite epsilon: the mass at infinity, numerical error included."""
        return min(1.0, self.cells.infinity * self._safe)

    def delta(self, epsilons: Array) -> Array:
        """Return an upper bound of delta at each epsilon."""
        size, interval = len(self._above), self.cells.interval
        place = np.clip(np.ceil(epsilons / interval) - self.cells.first, 0, size)
        index = np.minimum(place, size - 1).astype(np.intp)
        loss = (self.cells.first + index) * interval
        gap = np.maximum(loss - epsilons, 0.0)
        gap = np.where(gap > 0, gap + 4 * _UNIT * (np.abs(loss) + np.abs(epsilons)), 0.0)
        finite = -np.expm1(-gap) * self._above[index] + np.exp(-gap) * self._divergence[index]
        finite = np.where(finite > 0, finite + _UNDERFLOW, 0.0)
        return np.minimum((np.where(place < size, finite, 0.0) + self.cells.infinity) * self._safe, 1.0)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon of at least 0 at which this curve is at most ``delta``."""
        if delta < self.floor:
            raise ParameterError("accounting.delta_below_floor", least=self.floor, delta=safe_repr(delta))
        epsilon = max(0.0, self._solve(delta / self._safe - self.cells.infinity))
        step = 4 * _UNIT * (epsilon + self.cells.interval)
        for _ in range(_REPAIRS):  # the solution is right up to rounding; the returned epsilon is checked
            if self.delta(np.array([epsilon]))[0] <= delta:
                break
            epsilon, step = epsilon + step, 2 * step
        return epsilon

    def _solve(self, target: float) -> float:
        """Solve ``(1 - exp(-gap)) A + exp(-gap) D = target`` below the first grid point whose divergence is less."""
        size = len(self._divergence)
        index = min(size - int(np.searchsorted(self._divergence[::-1], max(target, 0.0), side="right")), size - 1)
        loss = (self.cells.first + index) * self.cells.interval
        above, divergence = float(self._above[index]), float(self._divergence[index])
        if above <= target:
            return loss - self.cells.interval if index > 0 else -math.inf
        gap = math.log(max(above - divergence, 0.0) / (above - target)) if above > divergence else 0.0
        return loss - max(gap, 0.0)
