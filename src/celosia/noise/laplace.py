"""The discrete Laplace distribution (two-sided geometric): P(k) proportional to exp(-|k|/scale) on the integers.

The noise of the pure mechanisms. Ghosh, Roughgarden and Sundararajan 2009; Inusah and Kozubowski 2006.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.noise.cells import GeometricCells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(GeometricCells):
    """Two-sided geometric noise of a rational scale.

    >>> from celosia.noise import Seeded
    >>> DiscreteLaplace(10).sample(3, Seeded(7)).tolist()
    [53, 19, -6]
    """

    _signed: ClassVar[bool] = True

    def log_mass(self, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each value.

        >>> round(float(np.exp(DiscreteLaplace(1).log_mass(0))), 9)
        0.462117157
        """
        scale = float(self.scale)
        return np.asarray(math.log(math.tanh(0.5 / scale)) - np.abs(np.asarray(values, dtype=np.float64)) / scale)

    def margin(self, level: float) -> int:
        """Return the smallest ``k`` such that a draw is within ``-k..k`` with probability ``level``.

        >>> DiscreteLaplace(1).margin(0.95)
        3
        """
        return self.reach(1 - level)

    def reach(self, failure: float) -> int:
        """Return the smallest ``k`` such that a draw is beyond ``-k..k`` with probability ``failure`` at most.

        >>> DiscreteLaplace(1).reach(1e-30)
        69
        """
        # P(|X| > k) = 2 r^(k+1) / (1 + r), with r = exp(-1/scale)
        scale = float(self.scale)
        ratio = math.exp(-1 / scale)
        return max(0, math.ceil(scale * math.log(2 / ((1 + ratio) * failure)) - 1e-9) - 1)
