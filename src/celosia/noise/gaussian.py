"""The discrete Gaussian distribution: P(k) proportional to exp(-k^2 / (2 variance)) on the integers.

The noise of the concentrated and approximate mechanisms. Canonne, Kamath and Steinke, *The discrete Gaussian for
differential privacy*, 2020; their sampler is replaced by the cells, which need one word a draw.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.exact import Exact, exact_positive
from celosia.noise.cells import CellDistribution, cells_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAX_SUMMED_SIGMA = 1_000.0  # standard deviations up to which probabilities are summed one by one


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(CellDistribution):
    """Discrete Gaussian noise; ``variance`` is the parameter sigma^2 (the true variance is a little smaller).

    >>> from celosia.noise import Seeded
    >>> DiscreteGaussian(100).sample(3, Seeded(7)).tolist()
    [25, 14, -6]
    """

    variance: Fraction

    def __init__(self, variance: Exact) -> None:
        object.__setattr__(self, "variance", exact_positive(variance, name="variance"))
        object.__setattr__(self, "_cells", cells_for(Fraction(0), 1 / (2 * self.variance), signed=True))

    def log_mass(self, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each value.

        >>> round(float(np.exp(DiscreteGaussian(1).log_mass(0))), 9)
        0.398942278
        """
        variance = float(self.variance)
        return np.asarray(-(np.asarray(values, dtype=np.float64) ** 2) / (2 * variance) - log_normaliser(variance))

    def margin(self, level: float) -> int:
        """Return the smallest ``k`` such that a draw is within ``-k..k`` with probability ``level``.

        >>> DiscreteGaussian(100).margin(0.95)
        20
        """
        sigma = math.sqrt(self.variance)
        if sigma > _MAX_SUMMED_SIGMA:
            return math.ceil(-sigma * NormalDist().inv_cdf((1 - level) / 2) - 0.5)
        ahead = np.exp(self.log_mass(np.arange(1, math.ceil(40 * sigma) + 2)))
        covered = np.exp(self.log_mass(0)) + 2 * np.concatenate([[0.0], np.cumsum(ahead)])
        return int(np.searchsorted(covered, level * (1 - 1e-15)))


def log_normaliser(variance: float) -> float:
    """Return ``ln sum exp(-k^2 / (2 variance))`` over all integers, to the last digits.

    Summed as it stands where the terms fall quickly, and by Poisson's formula where they fall slowly.
    """
    terms = range(1, 12)
    if variance < 1:
        return math.log1p(2 * math.fsum(math.exp(-k * k / (2 * variance)) for k in terms))
    waves = math.fsum(math.exp(-2 * math.pi**2 * variance * k * k) for k in terms)
    return 0.5 * math.log(2 * math.pi * variance) + math.log1p(2 * waves)
