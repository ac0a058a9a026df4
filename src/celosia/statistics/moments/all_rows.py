"""Count, sum and mean of a column in which some rows have no value, together with the number of all rows.

A row adds ``k`` and ``R - k`` if it has a value and R to a third sum if it has none. The three always sum to R, so a
count of all rows comes with the mean of some of them, for no more than the mean alone costs: one unit still moves R
steps. The proof is that of the first moments (``proofs/moments.md``), with one more corner of the simplex.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Estimate, Measure, whole_counts
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.moments.bernstein import FirstMoments, simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise


@dataclass(frozen=True, slots=True)
class MomentsOfAll(Measure):
    """``rows``: all of them; ``count``, ``sum`` and ``mean``: of those that have a value.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> from fractions import Fraction
    >>> MomentsOfAll(FirstMoments(Axis(0, 120, Fraction(1)))).sensitivity(ContributionBounds())
    Sensitivity(l1=120, l2_squared=14400)
    """

    present: FirstMoments

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis of the column."""
        return self.present.axes

    @property
    def width(self) -> int:
        """Three sums."""
        return 3

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that it answers."""
        return ("rows", *self.present.quantities)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Three integers of 0 or more that sum to R."""
        return simplex(self.present.total)

    @property
    def counts_missing(self) -> bool:
        """Yes: ``features`` takes the step, 0 where there is none, and whether there is one, as 1 or 0."""
        return True

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the three integers of a row from its step and whether it has one.

        >>> from fractions import Fraction
        >>> ages = MomentsOfAll(FirstMoments(Axis(0, 120, Fraction(1))))
        >>> ages.features(30, 1), ages.features(0, 0)
        ((30, 90, 0), (0, 0, 120))
        """
        step, there = k
        parts, total = self.present.parts, self.present.total
        return step * parts, there * total - step * parts, total - there * total

    def refine_for_averages(self) -> "MomentsOfAll":
        """Return the same in parts of steps."""
        return replace(self, present=self.present.refine_for_averages())

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return a quantity from a noisy summary.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.base.noise import Noise
        >>> from fractions import Fraction
        >>> ages = MomentsOfAll(FirstMoments(Axis(0, 120, Fraction(1))))
        >>> noise = Noise.laplace(1, ages.sensitivity(ContributionBounds()), 1, 3, ContributionBounds())
        >>> noisy = np.array([[50_000, 70_000, 12_000]])
        >>> ages.answer("rows", noisy, noise).value.tolist(), ages.answer("count", noisy, noise).value.tolist()
        ([1100], [1000])
        """
        self._check(quantity)
        if quantity != "rows":
            return self.present.answer(quantity, noisy[:, :2], noise)
        total = self.present.total
        return Estimate.within(
            noisy.sum(axis=1) / total,
            lambda level: float(noise.margin_of(np.ones(3), level)) / total,
            whole_counts(noisy, total),
        )

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None, level: float = 0.95) -> float | None:
        """Return a bound on the error of a quantity, with this many rows.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.base.noise import Noise
        >>> from fractions import Fraction
        >>> ages = MomentsOfAll(FirstMoments(Axis(0, 120, Fraction(1))))
        >>> noise = Noise.laplace(1, ages.sensitivity(ContributionBounds()), 1, 3, ContributionBounds())
        >>> round(ages.spread("rows", noise, rows=None), 1)
        5.0
        """
        self._check(quantity)
        if quantity == "rows":
            return float(noise.margin_of(np.ones(3), level)) / self.present.total
        return self.present.spread(quantity, noise, rows=rows, level=level)
