"""The Gaussian mechanism on a grid: discrete Gaussian noise for numbers and arrays of bounded L2 sensitivity.

From a (epsilon, delta) target the noise is calibrated on the exact *discrete* distribution for one number. For arrays
delta depends on the direction in which neighbours differ: Gaussian privacy covers all of them, and rho-zCDP where the
noise is hardly a step wide. The classical formula is an option, only below epsilon = 1, and only where it is enough.
Canonne, Kamath and Steinke 2020; Dong, Roth and Su 2022.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.enclosure import log_at_least, root_at_least, root_at_most
from celosia.core.errors import ParameterError
from celosia.core.events import GaussianEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_positive
from celosia.core.guarantees import ZCDP, ApproxDP
from celosia.mechanisms.added import AddedNoise, one_of
from celosia.mechanisms.grid import FINENESS, check_width, fine_step, grid_step
from celosia.noise.gaussian import DiscreteGaussian

_MAX_SHORT_VARIANCE = 2**1000
_MIN_DELTA = Fraction(1, 10**200)  # below it, doubles are too coarse for the calibration


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Gaussian(AddedNoise[GaussianEvent]):
    """Add discrete Gaussian noise to a number or an array.

    Parameters
    ----------
    epsilon, delta
        The target of approximate privacy; both or none.
    rho, sigma
        Instead: the target of zCDP, or the noise itself (then rho is ``sensitivity^2 / (2 sigma^2)``).
    sensitivity, sensitivity_squared
        How far two neighbours' values can be apart in L2, or the square of that, which is exact for integers.
    calibration
        ``"exact"``, or ``"classical"`` for sigma^2 = 2 ln(1.25/delta) sensitivity^2 / epsilon^2 (epsilon < 1 only).
    grid, dimension, adjacency, unit
        As in ``Laplace``. The variance for an array is larger than for one number.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> Gaussian(epsilon=1, delta="1e-6", sensitivity=1).release(108, source=Seeded(7))
    Release(118, ApproxDP(epsilon=1, delta='1e-06'), seeded=True)
    >>> Gaussian(rho="0.5", sensitivity_squared=2).guarantee
    ZCDP(rho=0.5)
    """

    sensitivity_squared: Fraction
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    calibration: Literal["exact", "classical"] = "exact"

    def __init__(  # noqa: PLR0913 - the parameters of the mechanism
        self,
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        sigma: Exact | None = None,
        sensitivity: Exact | None = None,
        sensitivity_squared: Exact | None = None,
        calibration: Literal["exact", "classical"] = "exact",
        grid: Exact | None = None,
        dimension: int | None = None,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        one_of(sensitivity=sensitivity, sensitivity_squared=sensitivity_squared)
        one_of(epsilon=epsilon, rho=rho, sigma=sigma)
        if sensitivity is not None:
            sensitivity_squared = exact_positive(sensitivity, name="sensitivity") ** 2
        self._set(
            sensitivity_squared=exact_positive(_or_zero(sensitivity_squared), name="sensitivity_squared"),
            calibration=calibration,
            grid=grid_step(grid),
            dimension=None if dimension is None else exact_integer(dimension, name="dimension"),
        )
        if epsilon is not None:
            self._set(epsilon=exact_epsilon(epsilon), delta=_exact_delta(delta), rho=None)
        elif delta is not None:
            raise ParameterError("mechanisms.delta_without_epsilon")
        else:
            if sigma is not None:
                rho = self.sensitivity_squared / (2 * exact_positive(sigma, name="sigma") ** 2)
            self._set(epsilon=None, delta=None, rho=exact_positive(_or_zero(rho), name="rho"))
        self._check_calibration()
        self._keep(self._make_guarantee(adjacency, unit))
        self._plan(integral=True, size=self.dimension or 1)  # raises now if the target cannot be met

    def _make_guarantee(self, adjacency: Adjacency, unit: str) -> ApproxDP | ZCDP:
        if self.epsilon is not None and self.delta is not None:
            return ApproxDP(epsilon=self.epsilon, delta=self.delta, adjacency=adjacency, unit=unit)
        return ZCDP(rho=self.rho or Fraction(0), adjacency=adjacency, unit=unit)

    def _check_calibration(self) -> None:
        if self.calibration not in ("exact", "classical"):
            raise ParameterError("mechanisms.unknown_calibration", calibration=repr(self.calibration))
        if self.calibration == "classical" and (self.epsilon is None or self.epsilon >= 1):
            raise ParameterError("mechanisms.epsilon_too_large_for_classical")

    @property
    def sigma(self) -> float:
        """The parameter sigma of the noise of ``event``, in the caller's units, as a float to look at.

        >>> round(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).sigma, 4)
        4.2308
        """
        return math.sqrt(self.event.variance) * float(self.event.grid)

    def plan_noise(self, size: int, step: Fraction | None) -> tuple[GaussianEvent, DiscreteGaussian]:
        """Return the event and the sampler for ``size`` coordinates; ``step`` is None for real values."""
        squared = self.sensitivity_squared
        if step is None:
            # Real values: the rounding of d coordinates is a vector of length sqrt(d) steps at the most.
            length, spread = root_at_least(squared), root_at_least(Fraction(size))
            step = self.grid or fine_step(length / (FINENESS * spread))
            squared = (length / step + spread) ** 2
        else:
            squared = Fraction(math.floor(squared))  # integers differ by a whole squared length
        variance = self._variance(squared, size)
        check_width(root_at_most(variance))
        event = GaussianEvent(variance=variance, sensitivity_squared=squared, **self._scope(size, step))
        return event, DiscreteGaussian(event.variance)

    def _variance(self, squared: Fraction, size: int) -> Fraction:
        """Return the smallest variance that reaches the target, in squared steps."""
        if self.rho is not None:
            return squared / (2 * self.rho)
        # Imported here because it loads SciPy, which takes half a second.
        from celosia.accounting.prices.certified import certified_rho
        from celosia.accounting.prices.gaussian import smallest_variance

        epsilon, delta = self.epsilon or Fraction(0), self.delta or Fraction(0)
        if size == 1:
            shift = math.isqrt(math.floor(squared))  # one number moves by an integer number of steps
            variance = smallest_variance(epsilon, delta, shift)
        else:
            variance = squared / (2 * certified_rho(epsilon, delta, squared, size))
        if self.calibration == "classical":
            classical = 2 * log_at_least(Fraction(5, 4) / delta) * squared / epsilon**2
            variance = max(variance, classical)  # the textbook's proof is for continuous noise
        # Rounded up to a double: as good, and short in an event.
        return Fraction(math.nextafter(float(variance), math.inf)) if variance < _MAX_SHORT_VARIANCE else variance

    def has_integer_sensitivity(self) -> bool:
        """Return whether integers can stay on the grid of integers."""
        return self.sensitivity_squared.denominator == 1


def _or_zero(value: Exact | None) -> Exact:
    return 0 if value is None else value


def _exact_delta(delta: Exact | None) -> Fraction:
    if delta is None:
        raise ParameterError("mechanisms.missing_delta")
    number = exact_positive(delta, name="delta")
    if not _MIN_DELTA <= number < 1:
        raise ParameterError("mechanisms.delta_out_of_range", delta=repr(delta))
    return number
