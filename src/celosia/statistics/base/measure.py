"""Measures: integers that are summed over rows, how far one row moves them, and the estimates from their noisy sums.

One definition of the features of a row serves arrays, plain integers and database expressions alike, for it is made of
sums and products only. The exact sums never leave the engine that made them: what a measure answers from is noisy.

An estimate is computed from noisy numbers and public parameters alone, so it costs no privacy. Its values are always
finite, whatever the noise.

Means and similar quantities are quotients of two noisy sums. If t is the true ratio, a weighted sum of features with
weights that depend on t is 0 without noise; t stays in the set as long as the noisy sum is within the reach of the
noise (Fieller 1954). The set is found from outside: start from all that is possible, bound the noise for the largest
weights in there, cut, and repeat. Every cut keeps all ratios of the set, so only width is lost and never coverage.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.data.schema.axis import Axis
from celosia.statistics.base.noise import ContributionBounds, Noise, RowSensitivity, Sensitivity

Values: TypeAlias = NDArray[Any]
Interval: TypeAlias = Callable[[float], tuple[Values, Values]]
Numbers: TypeAlias = NDArray[np.float64]
Between: TypeAlias = tuple[Numbers, Numbers]
"""The lower and the upper ends of an interval, cell by cell."""

_ITERATIONS = 3
_AVERAGE_PARTS = 2**24  # parts of a person's average: rounded down, a million persons lose a few hundredths of one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """Values in the caller's units, one (or one row of several) for each cell, and their intervals.

    ``interval(level)`` gives the lower and the upper ends: each covers the answer of the exact summary with probability
    ``level`` or more. It is None where there is none.

    >>> estimate = Estimate.within(np.array([112]), lambda level: 3)
    >>> [end.tolist() for end in estimate.interval(0.95)]
    [[109], [115]]
    """

    value: Values
    interval: Interval | None = None

    def ends(self, level: float) -> tuple[Values, Values]:
        """Return the ends of the interval; the whole line where there is none.

        >>> Estimate(value=np.array([3.0])).ends(0.95)
        (array([-inf]), array([inf]))
        """
        if self.interval is None:
            nowhere = np.full(len(self.value), np.inf)
            return -nowhere, nowhere
        return self.interval(level)

    @classmethod
    def around(cls, value: Values, between: Interval) -> "Estimate":
        """Return values with intervals that are widened, if need be, to contain them.

        Very unlikely noise can move a value out of its own confidence set.

        >>> estimate = Estimate.around(np.array([3.0]), lambda level: (np.array([1.0]), np.array([2.0])))
        >>> estimate.interval(0.95)
        (array([1.]), array([3.]))
        """

        def interval(level: float) -> tuple[Values, Values]:
            low, high = between(level)
            return np.minimum(low, value), np.maximum(high, value)

        return cls(value=value, interval=interval)

    @classmethod
    def within(cls, centre: Values, margin: Callable[[float], Any], value: Values | None = None) -> "Estimate":
        """Return values whose intervals reach ``margin(level)`` to both sides of ``centre``, by default the values.

        >>> Estimate.within(np.array([0.5]), lambda level: level).interval(0.5)
        (array([0.]), array([1.]))
        """

        def interval(level: float) -> tuple[Values, Values]:
            reach = np.asarray(margin(level))
            return centre - reach, centre + reach

        return cls(value=centre if value is None else value, interval=interval)


class Measure(ABC):
    """Base of all measures; ``k`` is a row's step on an axis, counted from its lower end.

    >>> from celosia.statistics.moments.measures import RowCount
    >>> RowCount().sensitivity(ContributionBounds(groups=2, cells=5))
    Sensitivity(l1=2, l2_squared=2)
    """

    __slots__ = ()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of its columns; none if it only counts.

        >>> from fractions import Fraction
        >>> from celosia.statistics.moments.measures import Total
        >>> Total(Axis(-5, 5, Fraction(1))).axes
        (Axis(-5, 5, 1),)
        """
        return ()

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features that are summed."""

    @property
    @abstractmethod
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that it answers."""

    @property
    @abstractmethod
    def row_sensitivity(self) -> RowSensitivity:
        """The distances of one row's features."""

    @property
    def row(self) -> int:
        """The most that one row adds to one of the numbers: the unit in which noise is shown and compared.

        >>> from celosia.statistics.moments.measures import RowCount
        >>> RowCount().row
        1
        """
        return self.row_sensitivity.l1

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest of each feature, including an absent row's 0: the limits of averaged rows.

        >>> from fractions import Fraction
        >>> from celosia.statistics.moments.measures import Total
        >>> Total(Axis(-5, 3, Fraction(1))).reach
        ((-5, 3),)
        """
        return ((0, self.row_sensitivity.l1),) * self.width

    @property
    def counts_missing(self) -> bool:
        """Whether rows without a value count as well: ``features`` then takes, after the step, 1 or 0 for a value.

        >>> from celosia.statistics.moments.measures import RowCount
        >>> RowCount().counts_missing
        False
        """
        return False

    @abstractmethod
    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the ``width`` integers of a row."""

    def refine_for_averages(self) -> "Measure":
        """Return the measure for averaged rows of a person, in parts so fine that rounding is negligible.

        >>> from fractions import Fraction
        >>> from celosia.statistics.moments.measures import Total
        >>> Total(Axis(0, 1, Fraction(1))).refine_for_averages().parts
        16777216
        """
        return self

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return the sensitivity of the summary to one unit.

        >>> from celosia.statistics.moments.measures import Distinct
        >>> Distinct().sensitivity(ContributionBounds(rows=3))
        Sensitivity(l1=3, l2_squared=9)
        """
        return self.row_sensitivity.sensitivity(bounding)

    def pure_noise(self, epsilon: Exact, cells: int, bounding: ContributionBounds) -> Noise:
        """Return the noise that makes the whole summary epsilon-private: Laplace, for the L1 sensitivity.

        >>> from celosia.statistics.moments.measures import RowCount
        >>> RowCount().pure_noise("0.5", 1, ContributionBounds()).event
        LaplaceEvent(scale=2, sensitivity=1)
        """
        return Noise.laplace(epsilon, self.sensitivity(bounding), cells, self.width, bounding)

    def of(self, quantity: str) -> "tuple[str, Measure]":
        """Return a quantity as that of a measure of one column: itself, unless several columns share a measurement.

        >>> from celosia.statistics.moments.measures import RowCount
        >>> RowCount().of("count")
        ('count', RowCount())
        """
        return quantity, self

    @abstractmethod
    def answer(self, quantity: str, noisy: NDArray[np.int64], noise: Noise) -> Estimate:
        """Return a quantity from a noisy summary, cells by width, in the caller's units."""

    @abstractmethod
    def spread(self, quantity: str, noise: Noise, *, rows: float | None, level: float = 0.95) -> float | None:
        """Return a bound on the error of the answer, with probability ``level``; a ratio needs a guess of ``rows``.

        ``rows`` is a public guess of the rows of a cell; the result is None if it is needed and missing.
        """

    def _check(self, quantity: str) -> None:
        if quantity not in self.quantities:
            raise ParameterError(
                "statistics.unknown_quantity",
                type=type(self).__name__,
                known=", ".join(self.quantities),
                quantity=safe_repr(quantity),
            )


def nearer(axis: Axis, most: int) -> Axis:
    """Return the axis with the finest grid on which neither end is more than ``most`` steps from 0."""
    factor = 1
    while max(-(axis.lowest // factor), -(-axis.highest // factor)) > most:
        factor *= 2
    return Axis(axis.lowest // factor, -(-axis.highest // factor), axis.grid * factor)


def parts_of(total: int) -> int:
    """Return the number of parts of a step if the largest row has ``total`` steps."""
    return 1 << max(0, (_AVERAGE_PARTS // total).bit_length() - 1)


# ---------------------------------------------------------------------------------------------------- ratios


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A quotient whose noise is that of a weighted sum, over the noisy number of rows.

    ``weights(low, high)`` gives, for ratios between these, the largest magnitudes of the weights of the sum that is 0
    at the truth, the last axis running over the summary's coordinates. ``rows`` is the noisy number of rows, ``total``
    what a row's features sum to, ``bounds`` where the ratio lies in any case.
    """

    weights: Callable[[Numbers, Numbers], Numbers]
    rows: Numbers
    total: int
    noise: Noise
    bounds: tuple[float, float] = (0.0, 1.0)

    def between(self, low: Numbers, high: Numbers, failure: float) -> Between:
        """Return an interval of the ratio, except with ``failure``, if the noisy one lies between two numbers."""
        some = self.rows > 0
        rows = np.where(some, self.rows, 1.0) * self.total
        ends = np.full_like(rows, self.bounds[0]), np.full_like(rows, self.bounds[1])
        for _ in range(_ITERATIONS):
            reach = self.noise.margin_of(self.weights(*ends), 1 - failure) / rows
            cut = np.clip(low - reach, *self.bounds), np.clip(high + reach, *self.bounds)
            ends = np.where(some, cut[0], self.bounds[0]), np.where(some, cut[1], self.bounds[1])
        return ends


def over(sums: Numbers, rows: Numbers, otherwise: float) -> Numbers:
    """Return sums divided by a noisy number of rows, or a number where there are none."""
    return np.where(rows > 0, sums / np.where(rows > 0, rows, 1.0), otherwise)


def lines(centres: Between, degree: int) -> Between:
    """Return the range of the Bernstein coefficients of ``x - c``, for c between the two, in a new last axis."""
    line = np.arange(degree + 1) / degree
    return line - centres[1][..., None], line - centres[0][..., None]


def squares(centres: Between) -> Between:
    """Return the range of the Bernstein coefficients of ``(x - c)^2``, for c between the two, in a new last axis."""
    low, high = centres
    middle = np.clip(0.5, low, high)  # where c^2 - c is least
    falling = np.maximum(low**2 - low, high**2 - high)
    return (
        np.stack([low**2, middle**2 - middle, (1 - high) ** 2], axis=-1),
        np.stack([high**2, falling, (1 - low) ** 2], axis=-1),
    )


def magnitudes(low: Numbers, high: Numbers) -> Numbers:
    """Return the largest magnitudes between lower and upper ends."""
    return np.maximum(np.abs(low), np.abs(high))


def variance_between(variance: Numbers, mean: Numbers, means: Between, ratio: Ratio, failure: float) -> Between:
    """Return an interval of a variance, given its noisy value and an interval of the mean.

    The sum of ``(x - c)^2 - v`` is 0 at the true c and v. Divided by the noisy rows it is ``variance - v`` and the
    square of how far c is from the noisy mean: the effect of the noise of the mean is of second order.
    """
    farthest = np.maximum(np.square(means[0] - mean), np.square(means[1] - mean))
    return ratio.between(variance, variance + farthest, failure)


def whole_counts(features: NDArray[np.int64], total: int) -> Any:
    """Return the nearest integer number of rows, from noisy features that sum to ``total`` in each."""
    return np.rint(features.sum(axis=1, dtype=np.float64) / total).astype(np.int64)
