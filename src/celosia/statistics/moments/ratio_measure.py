"""Base of the measures that answer ratios: the error of a mean or covariance depends on the number of rows."""

from abc import abstractmethod
from typing import TYPE_CHECKING

from celosia.statistics.base.measure import Measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise


class RatioMeasure(Measure):
    """A measure with quantities that are weighted sums of its features, and others that are ratios of such sums."""

    __slots__ = ()

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None, level: float = 0.95) -> float | None:
        """Return a bound on the error of a quantity for the worst column; a ratio needs a number of rows.

        A standard deviation or a correlation has no useful worst case: its bound is for values spread evenly.

        >>> from fractions import Fraction
        >>> from celosia.data.schema.axis import Axis
        >>> from celosia.statistics import ContributionBounds, FirstMoments, Noise
        >>> ages = FirstMoments(Axis(0, 120, Fraction(1)))
        >>> noise = Noise.laplace(1, ages.sensitivity(ContributionBounds()), 1, 2, ContributionBounds())
        >>> round(ages.spread("mean", noise, rows=100_000), 4)
        0.0036
        """
        self._check(quantity)
        weights = self._weights(quantity)
        if weights is not None:
            return float(noise.margin_of(weights, level)) / self.row_sensitivity.l1
        if rows is None or not rows > 0:
            return None
        return self._ratio_spread(quantity, noise, rows, level)

    def _weights(self, quantity: str) -> "NDArray[np.float64] | None":  # noqa: ARG002 - for subclasses
        """Return the weights of the features, in units of a row's sum, that give a quantity; None for a ratio."""
        return None

    @abstractmethod
    def _ratio_spread(self, quantity: str, noise: "Noise", rows: float, level: float) -> float:
        """Return the bound on the error of a ratio over this many rows."""
