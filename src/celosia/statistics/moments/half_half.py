"""The textbook's mean: half the budget on the sum, half on the count (Algorithm 2), for comparison.

Both are noised at once, in units in which one row moves either by at most M, the bound further from 0: noise of the
scale of 2M is then the textbook's, Lap(2M / epsilon) on the sum and Lap(2 / epsilon) on the count. Noising the
distances to both bounds together (``FirstMoments``) has half the variance or less. Dwork and Roth 2014.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Between, Estimate, Ratio, nearer, over
from celosia.statistics.base.noise import ContributionBounds, RowSensitivity, Sensitivity
from celosia.statistics.moments.ratio_measure import RatioMeasure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise

_MAX_STEP = 2**39  # so that a row's two features stay below 2^40 together
_MIN_ROUNDED_SUM = 2**13  # below, no unit's sums times its allowed rows reach 2^53


@dataclass(frozen=True, slots=True)
class HalfHalfMean(RatioMeasure):
    """The mean as a noisy sum over a noisy count.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> from fractions import Fraction
    >>> HalfHalfMean(Axis(0, 120, Fraction(1))).sensitivity(ContributionBounds())
    Sensitivity(l1=240, l2_squared=28800)
    """

    axis: Axis

    width: ClassVar[int] = 2
    """The sum, and the count in units of ``M``."""

    quantities: ClassVar[tuple[str, ...]] = ("mean",)
    """The names of the quantities that it answers."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis, coarser where its ends are far from 0."""
        return (nearer(self.axis, _MAX_STEP),)

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest step, and the unit of the count."""
        (axis,) = self.axes
        return ((min(axis.lowest, 0), max(axis.highest, 0)), (0, self._unit))

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Up to ``M`` in the sum and ``M`` in the count; two rows differ in the sum alone."""
        (axis,), unit = self.axes, self._unit
        return RowSensitivity(
            l1=2 * unit,
            l2_squared=2 * unit**2,
            replace_l1=2 * unit,  # of a row and an absent one; two rows are R apart, which is not more
            replace_l2_squared=max(axis.steps**2, 2 * unit**2),
        )

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return the sensitivity to one unit, with the rounding of averages of very many rows.

        The two features of a person are rounded apart where their sums are beyond 2^53: by up to two steps each.

        >>> from fractions import Fraction
        >>> HalfHalfMean(Axis(0, 2**20, Fraction(1))).sensitivity(ContributionBounds()).l1 - 2**21
        4
        """
        exact = self.row_sensitivity.sensitivity(bounding)
        more = 4 * bounding.groups if self._unit * bounding.rows >= _MIN_ROUNDED_SUM else 0
        return Sensitivity(l1=exact.l1 + more, l2_squared=exact.l2_squared + more)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the step itself, and the unit of the count.

        >>> from fractions import Fraction
        >>> HalfHalfMean(Axis(-5, 10, Fraction(1))).features(7)
        (2, 10)
        """
        (step,) = k
        return (step + self.axes[0].lowest, self._unit)

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the quotient, within the bounds; their middle where the noisy count is not positive."""
        self._check(quantity)
        (axis,), unit = self.axes, self._unit
        low, high, grid = float(axis.lowest), float(axis.highest), float(axis.grid)
        rows = noisy[:, 1] / unit
        mean = np.clip(over(noisy[:, 0].astype(np.float64), rows, (low + high) / 2), low, high)
        centre = over(noisy[:, 0].astype(np.float64), rows, 0.0)
        ratio = Ratio(
            weights=lambda least, most: np.stack(
                [np.ones_like(least), np.maximum(np.abs(least), np.abs(most)) / unit], axis=1
            ),
            rows=rows,
            total=1,
            noise=noise,
            bounds=(low, high),
        )

        def interval(level: float) -> Between:
            ends = ratio.between(centre, centre, 1 - level)
            return ends[0] * grid, ends[1] * grid

        return Estimate.around(mean * grid, interval)

    def _ratio_spread(self, quantity: str, noise: "Noise", rows: float, level: float) -> float:  # noqa: ARG002 - the mean
        (axis,) = self.axes
        return min(float(noise.margin_of([1.0, 1.0], level)) / rows, float(axis.steps)) * float(axis.grid)

    @property
    def _unit(self) -> int:
        (axis,) = self.axes
        return max(-axis.lowest, axis.highest)
