"""The geometric distribution P(k) proportional to exp(-k/scale) on 0, 1, 2…: one side of the discrete Laplace.

The discrete form of exponential noise, for noisy maxima.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.exact import Exact, exact_positive, whole
from celosia.noise.cells import Cells, cells_for
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

__all__ = ["Geometric"]


@dataclass(frozen=True, slots=True, init=False)
class Geometric:
    """One-sided geometric noise of ratio ``exp(-1/scale)``.

    >>> from celosia.noise import Seeded
    >>> bool((Geometric(10).sample(100, Seeded(7)) >= 0).all())
    True
    """

    scale: Fraction
    _cells: Cells = field(repr=False, compare=False)

    def __init__(self, scale: Exact) -> None:
        object.__setattr__(self, "scale", exact_positive(scale, name="scale"))
        object.__setattr__(self, "_cells", cells_for(1 / self.scale, Fraction(0), signed=False))

    def draw(self, source: "Source | None" = None) -> int:
        """Draw one number.

        >>> from celosia.noise import Seeded
        >>> Geometric(10).draw(Seeded(7)) == Geometric(10).draw(Seeded(7))
        True
        """
        return self._cells.draw(source_or_system(source))

    def sample(self, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
        """Draw ``count`` independent numbers.

        >>> Geometric(10).sample(1000).shape
        (1000,)
        """
        return self._cells.sample(whole(count, name="count", least=0), source_or_system(source))

    def log_mass(self, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each value; minus infinity below 0.

        >>> round(float(np.exp(Geometric(1).log_mass(0))), 9)
        0.632120559
        """
        numbers = np.asarray(values, dtype=np.float64)
        scale = float(self.scale)
        return np.where(numbers >= 0, math.log(-math.expm1(-1 / scale)) - numbers / scale, -np.inf)
