"""Covariance and correlation of two columns, from products of Bernstein polynomials.

A row at steps (k, l) gives the products of ``(R - k, k)`` and ``(S - l, l)``: four integers of 0 or more that sum
to RS. With squares, for the correlation, it gives nine that sum to R^2 S^2. As for means, noise of the scale of one
number protects all of them together. Intervals test sums that are 0 at the truth and hardly change with what else is
unknown (the means, the ratio of the deviations), so that these cost little. The proof is in ``proofs/moments.md``.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Between, Estimate, parts_of, whole_counts
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.moments.bernstein import bernstein, simplex
from celosia.statistics.moments.ratio_measure import RatioMeasure
from celosia.statistics.moments.two_columns import TwoColumns

if TYPE_CHECKING:
    from celosia.statistics.base.noise import Noise

Numbers: TypeAlias = NDArray[np.float64]

_MAX_ROW = 2**40
_UNIFORM_VARIANCE = 1 / 12  # the variance of values spread evenly over a range of 1


@dataclass(frozen=True, slots=True)
class CrossMoments(RatioMeasure):
    """Count, covariance and correlation of two columns; with ``degree=1`` no correlation, and a better covariance.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> from fractions import Fraction
    >>> tenths = Axis(0, 10, Fraction(1, 10))
    >>> CrossMoments(tenths, tenths, degree=1).sensitivity(ContributionBounds())
    Sensitivity(l1=100, l2_squared=10000)
    """

    x: Axis
    y: Axis
    degree: int = 2
    parts: int = 1

    def __post_init__(self) -> None:
        if self.degree not in (1, 2):
            raise ParameterError("statistics.unknown_degree", degree=safe_repr(self.degree))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Both axes, with at most 2^20 steps for the covariance and 2^10 for the correlation.

        >>> from fractions import Fraction
        >>> fine = Axis(0, 2**30, Fraction(1, 2**30))
        >>> CrossMoments(fine, fine).axes
        (Axis(0, 1024, 0.0009765625), Axis(0, 1024, 0.0009765625))
        """
        most = math.isqrt(math.isqrt(_MAX_ROW) if self.degree == 2 else _MAX_ROW)
        return self.x.coarsen(most), self.y.coarsen(most)

    @property
    def width(self) -> int:
        """Four products, or nine."""
        return (self.degree + 1) ** 2

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that it answers."""
        return ("count", "covariance") if self.degree == 1 else ("count", "covariance", "correlation")

    @property
    def total(self) -> int:
        """The sum of the features of a row."""
        x, y = self.axes
        area = x.steps * y.steps
        return (area if self.degree == 1 else area * area) * self.parts

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Integers of 0 or more that sum to ``total``."""
        return simplex(self.total)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the products of both columns' Bernstein polynomials, the second column's running fastest.

        >>> from fractions import Fraction
        >>> CrossMoments(Axis(0, 10, Fraction(1)), Axis(0, 10, Fraction(1)), degree=1).features(3, 4)
        (42, 28, 18, 12)
        """
        first, second = (bernstein(step, axis.steps, self.degree) for step, axis in zip(k, self.axes, strict=True))
        if self.parts != 1:
            first = tuple(feature * self.parts for feature in first)
        return tuple(a * b for a in first for b in second)

    def refine_for_averages(self) -> "CrossMoments":
        """Return the same in parts of products of steps."""
        return replace(self, parts=parts_of(self.total // self.parts))

    def answer(self, quantity: str, noisy: NDArray[np.int64], noise: "Noise") -> Estimate:
        """Return the quantity, cell by cell; 0 for a covariance or correlation without rows.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.base.noise import Noise
        >>> from fractions import Fraction
        >>> pair = CrossMoments(Axis(0, 10, Fraction(1)), Axis(0, 10, Fraction(1)), degree=1)
        >>> noise = Noise.laplace(1, pair.sensitivity(ContributionBounds()), 1, 4, ContributionBounds())
        >>> pair.answer("covariance", np.array([[50_000, 0, 0, 50_000]]), noise).value.tolist()
        [25.0]
        """
        self._check(quantity)
        if quantity == "count":
            return self._count(noisy, noise)
        both = TwoColumns(shares=noisy / self.total, total=self.total, noise=noise)
        if quantity == "correlation":
            return Estimate.around(both.correlation, lambda level: both.correlation_between(1 - level))
        unit = self._unit

        def interval(level: float) -> Between:
            low, high = both.covariance_between(1 - level)
            return low * unit, high * unit

        return Estimate.around(np.clip(both.covariance, -0.25, 0.25) * unit, interval)

    def _count(self, noisy: NDArray[np.int64], noise: "Noise") -> Estimate:
        return Estimate.within(
            noisy.sum(axis=1, dtype=np.float64) / self.total,
            lambda level: float(noise.margin_of(np.ones(self.width), level)) / self.total,
            whole_counts(noisy, self.total),
        )

    def _weights(self, quantity: str) -> Numbers | None:
        return np.ones(self.width) if quantity == "count" else None

    def _ratio_spread(self, quantity: str, noise: "Noise", rows: float, level: float) -> float:
        corners = np.outer(*(np.linspace(-0.5, 0.5, self.degree + 1),) * 2).ravel()
        if quantity == "covariance":
            corner = np.outer(*(np.linspace(0, 1, self.degree + 1),) * 2).ravel()
            return min(float(noise.margin_of(corner, level)) / (self.total * rows), 0.25) * self._unit
        return min(float(noise.margin_of(corners, level)) / (self.total * rows * _UNIFORM_VARIANCE), 1.0)

    @property
    def _unit(self) -> float:
        x, y = self.axes
        return float(x.steps * x.grid) * float(y.steps * y.grid)
