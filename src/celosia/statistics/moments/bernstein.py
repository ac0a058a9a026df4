"""Means, variances and standard deviations from features whose sum does not depend on the value.

A row at step k of an axis of R steps gives ``(k, R - k)``, or for second moments ``((R - k)^2, 2k(R - k), k^2)``: whole
numbers of 0 or more that sum to R, or R^2 (Bernstein polynomials). So noise of the scale of *one* number protects all
of them together, and count, sum, mean and variance are read off the noisy sums; the mean has half the variance that
noising sum and count with half the budget each would give. The proof is in ``proofs/moments.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import (
    Between,
    Estimate,
    Ratio,
    magnitudes,
    over,
    parts_of,
    squares,
    variance_between,
    whole_counts,
)
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.moments.ratio_measure import RatioMeasure

if TYPE_CHECKING:
    from celosia.statistics.base.noise import Noise

Numbers: TypeAlias = NDArray[np.float64]

_MAX_STEPS = 2**16  # of a column whose squares are summed: their rounding is far below any noise
_MEAN_FAILURE_SHARE = 0.1  # of the failure probability of a variance goes to the mean
_UNIFORM_VARIANCE = 1 / 12  # the variance of values spread evenly over a range of 1


def bernstein(k: Any, steps: int, degree: int) -> tuple[Any, ...]:
    """Return the Bernstein polynomials of degree 1 or 2 at ``k`` of ``steps``: they sum to ``steps ** degree``."""
    rest = steps - k
    return (rest, k) if degree == 1 else (rest * rest, (k + k) * rest, k * k)


def simplex(total: int) -> RowSensitivity:
    """Return the row sensitivity of non-negative features that sum to ``total``; each can be all of it."""
    return RowSensitivity(l1=total, l2_squared=total**2, replace_l1=2 * total, replace_l2_squared=2 * total**2)


@dataclass(frozen=True, slots=True)
class Moments(RatioMeasure):
    """Base of the moments of one column.

    Inside, a value is a share of the range, between 0 and 1; a polynomial of it is read off the sums with its Bernstein
    coefficients as weights.

    >>> from fractions import Fraction
    >>> isinstance(FirstMoments(Axis(0, 120, Fraction(1))), Moments)
    True
    """

    axis: Axis
    parts: int = 1

    @property
    def total(self) -> int:
        """The sum of the features of a row."""
        return self.row_sensitivity.l1

    @property
    def _line(self) -> Numbers:
        """The weights with which the features give a value's share of the range."""
        raise NotImplementedError

    def answer(self, quantity: str, noisy: NDArray[np.int64], noise: "Noise") -> Estimate:
        """Return the quantity, cell by cell; where the noisy number of rows is not positive, the middle of its range.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.base.noise import Noise
        >>> from fractions import Fraction
        >>> ages = FirstMoments(Axis(0, 120, Fraction(1)))
        >>> noise = Noise.laplace(1, ages.sensitivity(ContributionBounds()), 1, 2, ContributionBounds())
        >>> ages.answer("mean", np.array([[50_000, 70_000]]), noise).value.tolist()
        [50.0]
        """
        self._check(quantity)
        weights = self._weights(quantity)
        if weights is None:
            return self._ratio(quantity, noisy / self.total, noise)
        value = whole_counts(noisy, self.total) if quantity == "count" else None
        return self._linear(noisy, noise, weights, value)

    def _linear(self, noisy: NDArray[np.int64], noise: "Noise", weights: Numbers, value: Any = None) -> Estimate:
        """Return a weighted sum of the features with its interval."""
        centre = noisy @ weights / self.total
        return Estimate.within(centre, lambda level: float(noise.margin_of(weights, level)) / self.total, value)

    def _ratio(self, quantity: str, shares: Numbers, noise: "Noise") -> Estimate:  # noqa: ARG002 - some have more than the mean
        mean, between = self._mean(shares, noise)
        low, size = self._low, self._range

        def interval(level: float) -> Between:
            ends = between(1 - level)
            return low + size * ends[0], low + size * ends[1]

        return Estimate.around(low + size * np.clip(mean, 0.0, 1.0), interval)

    def _mean(self, shares: Numbers, noise: "Noise") -> tuple[Numbers, Callable[[float], Between]]:
        """Return the mean as a share of the range, and its interval by probability of failure."""
        line, rows = self._line, shares.sum(axis=1)
        mean = over(shares @ line, rows, 0.5)
        ratio = Ratio(
            weights=lambda low, high: magnitudes(line - high[:, None], line - low[:, None]),
            rows=rows,
            total=self.total,
            noise=noise,
        )
        return mean, lambda failure: ratio.between(mean, mean, failure)

    def _weights(self, quantity: str) -> Numbers | None:
        if quantity == "count":
            return np.ones(self.width)
        return self._low + self._range * self._line if quantity == "sum" else None

    def _ratio_spread(self, quantity: str, noise: "Noise", rows: float, level: float) -> float:
        return self._limit_reach(quantity, noise.margin(level) / (self.total * rows))

    def _limit_reach(self, quantity: str, reach: float) -> float:  # noqa: ARG002 - some have more than the mean
        return min(reach, 1.0) * self._range

    @property
    def _low(self) -> float:
        return float(self.axes[0].low)

    @property
    def _range(self) -> float:
        return float(self.axes[0].steps * self.axes[0].grid)


@dataclass(frozen=True, slots=True)
class FirstMoments(Moments):
    """Count, sum and mean of a column from two features, ``k`` and ``R - k``, that sum to R.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> from fractions import Fraction
    >>> FirstMoments(Axis(0, 120, Fraction(1))).sensitivity(ContributionBounds())
    Sensitivity(l1=120, l2_squared=14400)
    """

    width: ClassVar[int] = 2
    """Two features."""

    quantities: ClassVar[tuple[str, ...]] = ("count", "sum", "mean")
    """The names of the quantities that it answers."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis."""
        return (self.axis,)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Two integers of 0 or more that sum to R."""
        return simplex(self.axis.steps * self.parts)

    @property
    def _line(self) -> Numbers:
        return np.array([1.0, 0.0])

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the steps from the lower end and from the upper end.

        >>> from fractions import Fraction
        >>> FirstMoments(Axis(0, 10, Fraction(1))).features(3)
        (3, 7)
        """
        (step,) = k
        return _split_steps((step, self.axis.steps - step), self.parts)

    def refine_for_averages(self) -> "FirstMoments":
        """Return the same in parts of steps."""
        return replace(self, parts=parts_of(self.axis.steps))


@dataclass(frozen=True, slots=True)
class SecondMoments(Moments):
    """Count, sum, mean, variance and standard deviation of a column from three features that sum to R^2.

    The variance is the mean squared distance from the mean (divided by n, not by n - 1).

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> from fractions import Fraction
    >>> SecondMoments(Axis(0, 120, Fraction(1))).sensitivity(ContributionBounds())
    Sensitivity(l1=14400, l2_squared=207360000)
    """

    width: ClassVar[int] = 3
    """Three features."""

    quantities: ClassVar[tuple[str, ...]] = ("count", "sum", "mean", "variance", "std")
    """The names of the quantities that it answers."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis with at most 2^16 steps.

        >>> from fractions import Fraction
        >>> SecondMoments(Axis(0, 2**30, Fraction(1))).axes
        (Axis(0, 65536, 16384),)
        """
        return (self.axis.coarsen(_MAX_STEPS),)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Three integers of 0 or more that sum to R^2."""
        return simplex(self.axes[0].steps ** 2 * self.parts)

    @property
    def _line(self) -> Numbers:
        return np.array([0.0, 0.5, 1.0])

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the Bernstein polynomials of a row's step.

        >>> from fractions import Fraction
        >>> SecondMoments(Axis(0, 10, Fraction(1))).features(3)
        (49, 42, 9)
        """
        (step,) = k
        return _split_steps(bernstein(step, self.axes[0].steps, 2), self.parts)

    def refine_for_averages(self) -> "SecondMoments":
        """Return the same in parts of squared steps."""
        return replace(self, parts=parts_of(self.axes[0].steps ** 2))

    @property
    def rounding(self) -> float:
        """The largest rounding of a value: half a step, if the axis had to be coarser.

        >>> from fractions import Fraction
        >>> SecondMoments(Axis(0, 120, Fraction(1))).rounding, SecondMoments(Axis(0, 2**30, Fraction(1))).rounding
        (0.0, 8192.0)
        """
        coarse = self.axes[0]
        return 0.0 if coarse == self.axis else float(coarse.grid) / 2

    def answer(self, quantity: str, noisy: NDArray[np.int64], noise: "Noise") -> Estimate:
        """Return the quantity, cell by cell; where values were rounded to coarser steps, the interval allows for it."""
        found = Moments.answer(self, quantity, noisy, noise)
        between, half = found.interval, self.rounding
        if half == 0 or quantity == "count" or between is None:
            return found

        def interval(level: float) -> Between:
            if quantity == "sum":  # as many roundings as there are rows
                each = (1 + level) / 2
                (low, high), (_, rows) = between(each), self._linear(noisy, noise, np.ones(self.width)).ends(each)
                reach = half * np.maximum(rows, 0.0)
                return low - reach, high + reach
            low, high = between(level)
            if quantity == "variance":  # deviations differ by no more than values do
                return np.maximum(np.sqrt(low) - half, 0.0) ** 2, (np.sqrt(high) + half) ** 2
            least, most = (0.0, np.inf) if quantity == "std" else (self._low, self._low + self._range)
            return np.clip(low - half, least, most), np.clip(high + half, least, most)

        return Estimate(value=found.value, interval=interval)

    def _ratio(self, quantity: str, shares: Numbers, noise: "Noise") -> Estimate:
        if quantity == "mean":
            return Moments._ratio(self, quantity, shares, noise)  # noqa: SLF001 - the parent's; super() and slots quarrel
        mean, between = self._mean(shares, noise)
        rows = shares.sum(axis=1)
        variance = over(shares[:, 2], rows, 0.375) - mean**2  # without rows 0.125, the middle of what it can be

        def interval(level: float) -> Between:
            failure = 1 - level
            means = between(_MEAN_FAILURE_SHARE * failure)
            low, high = squares(means)
            ratio = Ratio(
                weights=lambda least, most: magnitudes(low - most[:, None], high - least[:, None]),
                rows=rows,
                total=self.total,
                noise=noise,
                bounds=(0.0, 0.25),
            )
            ends = variance_between(variance, mean, means, ratio, (1 - _MEAN_FAILURE_SHARE) * failure)
            return self._unit(quantity, ends[0]), self._unit(quantity, ends[1])

        return Estimate.around(self._unit(quantity, np.clip(variance, 0.0, 0.25)), interval)

    def _unit(self, quantity: str, variance: Numbers) -> Numbers:
        root: Numbers = np.sqrt(variance)
        return root * self._range if quantity == "std" else variance * self._range**2

    def _limit_reach(self, quantity: str, reach: float) -> float:
        if quantity == "mean":
            return min(reach, 1.0) * self._range
        if quantity == "variance":
            return min(reach, 0.25) * self._range**2
        # The worst case of a root is no use: take values spread evenly over the range.
        return min(reach / (2 * math.sqrt(_UNIFORM_VARIANCE)), 0.5) * self._range


def _split_steps(features: tuple[Any, ...], parts: int) -> tuple[Any, ...]:
    return features if parts == 1 else tuple(feature * parts for feature in features)
