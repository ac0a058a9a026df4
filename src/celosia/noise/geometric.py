"""The geometric distribution P(k) proportional to exp(-k/scale) on 0, 1, 2…: one side of the discrete Laplace.

The discrete form of exponential noise, for noisy maxima.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.noise.cells import GeometricCells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False)
class Geometric(GeometricCells):
    """One-sided geometric noise of ratio ``exp(-1/scale)``.

    >>> from celosia.noise import Seeded
    >>> bool((Geometric(10).sample(100, Seeded(7)) >= 0).all())
    True
    """

    _signed: ClassVar[bool] = False

    def log_mass(self, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each value; minus infinity below 0.

        >>> round(float(np.exp(Geometric(1).log_mass(0))), 9)
        0.632120559
        """
        numbers = np.asarray(values, dtype=np.float64)
        scale = float(self.scale)
        return np.where(numbers >= 0, math.log(-math.expm1(-1 / scale)) - numbers / scale, -np.inf)
