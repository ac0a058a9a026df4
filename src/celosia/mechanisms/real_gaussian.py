"""Normal noise for theorems about real numbers: iterations whose steps stay secret, perturbed objectives.

Those theorems need noise with a density, which a computer cannot draw. The nearest substitute is drawn here: the exact
discrete Gaussian on a grid of sigma / 2^48, as doubles. It is *not* the noise of the theorems (it reveals shifts that
are not whole steps, and sums of doubles are rounded). Its users therefore have events with ``arithmetic="real"``, which
a ledger refuses unless its policy allows them. It is not a mechanism: it has no ``release`` and no guarantee. Where a
theorem for integers exists, use `Gaussian`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from celosia.core.exact import Exact, exact_integer, exact_positive
from celosia.noise.gaussian import DiscreteGaussian

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_FINENESS = 48  # binary digits of sigma, in steps: 32 sigma are then still whole in a double


@dataclass(frozen=True, slots=True, init=False)
class RealGaussian:
    """Normal noise of standard deviation ``sigma``, to 48 binary digits; for events with ``arithmetic="real"``."""

    sigma: Fraction

    def __init__(self, sigma: Exact) -> None:
        object.__setattr__(self, "sigma", exact_positive(sigma, name="sigma"))

    @property
    def step(self) -> Fraction:
        """The distance of neighbouring values: a power of two, between sigma / 2^49 and sigma / 2^48."""
        power = Fraction(2) ** (self.sigma.numerator.bit_length() - self.sigma.denominator.bit_length())
        step: Fraction = (power if power <= self.sigma else power / 2) / 2**_FINENESS
        return step

    def sample(self, shape: int | tuple[int, ...], *, source: "Source | None" = None) -> "NDArray[np.float64]":
        """Draw independent numbers, in an array of this shape."""
        sizes = (shape,) if not isinstance(shape, tuple) else shape
        sizes = tuple(exact_integer(size, name="shape", least=0) for size in sizes)
        steps = DiscreteGaussian((self.sigma / self.step) ** 2).sample(math.prod(sizes), source)
        return steps.reshape(sizes).astype("<f8") * float(self.step)
