"""Means and sums of several columns of the same rows, which share one measurement and one noisy number of rows.

A row gives a constant P and, for each column, the value's distance from the middle of the range, scaled to lie between
-P and P. A column that may miss a value gives a second number for its presence. All lie in a cube, so K-norm noise of
the scale of *one* number protects all of them together. For one column that is what ``FirstMoments`` does, turned by 45
degrees; for more it has less noise than a measurement for each. The proof is in ``proofs/k-norm.md``.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Between, Estimate, Measure, Ratio, magnitudes, over
from celosia.statistics.base.noise import Noise, RowSensitivity
from celosia.statistics.moments.bernstein import FirstMoments

if TYPE_CHECKING:
    from celosia.core.exact import Exact
    from celosia.statistics.base.noise import ContributionBounds

MAX_SHARED_COLUMNS: Final = 7
"""Columns that share a measurement: noise vectors have at most 16 coordinates."""

_MAX_STEPS = 2**24  # rounding to these is far below any noise
_MIN_ROW = 2**24
_FINENESS = 2**6  # a column uses at least all but one part in this of the cube
_PRESENCE = Fraction(5, 8)  # of P, for or against a value: then means have less Gaussian noise, too, than apart


@dataclass(frozen=True, slots=True)
class SharedMoments(Measure):
    """The number of rows, and the count, sum and mean of each column: "rows", "count 0", "sum 0", "mean 0", "count 1".

    ``nullable`` marks the columns that may miss a value; ``with_rows`` counts all rows as well, as is necessary if a
    column never misses one.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> pair = SharedMoments((Axis(0, 120, Fraction(1)), Axis(0, 1, Fraction(1))), (False, False))
    >>> pair.quantities
    ('rows', 'count 0', 'sum 0', 'mean 0', 'count 1', 'sum 1', 'mean 1')
    >>> pair.pure_noise(1, 1, ContributionBounds()).event
    KNormEvent(scale=16777216, sensitivity=16777216, width=3)
    """

    columns: tuple[Axis, ...]
    nullable: tuple[bool, ...]
    with_rows: bool = True

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MAX_SHARED_COLUMNS or len(self.nullable) != len(self.columns):
            raise ParameterError("statistics.wrong_number_of_columns", most=MAX_SHARED_COLUMNS, found=len(self.columns))
        if not (self.with_rows or all(self.nullable)):
            raise ParameterError("statistics.rows_not_counted")

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, each with at most 2^24 steps."""
        return tuple(axis.coarsen(_MAX_STEPS) for axis in self.columns)

    @property
    def width(self) -> int:
        """One number for the rows, one for each column, and one more for each that may miss a value."""
        return self.with_rows + len(self.columns) + sum(self.nullable)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities that it answers."""
        each = (f"{name} {place}" for place in range(len(self.columns)) for name in ("count", "sum", "mean"))
        return (*(("rows",) if self.with_rows else ()), *each)

    @property
    def row(self) -> int:
        """The half-width P of the cube."""
        return max(_MIN_ROW, _FINENESS * max(axis.steps for axis in self.axes))

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """P for each row, at most P to both sides of the middle of each column, and the presence of a value."""
        total, against = self.row, -self._presence if self.with_rows else 0
        values = ((-total, total) for _ in self.columns)
        return (*(((0, total),) if self.with_rows else ()), *values, *((against, self._presence),) * sum(self.nullable))

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """In a box. Two rows are farthest apart where all values are there; rounding may add two steps to each."""
        total, presence, missing = self.row, self._presence, sum(self.nullable)
        columns = len(self.columns)
        across = 2 if self.with_rows else 1  # how far a number goes that is for or against, or there or not
        return RowSensitivity(
            l1=(self.with_rows + columns) * total + missing * presence,
            l2_squared=(self.with_rows + columns) * total**2 + missing * presence**2,
            replace_l1=2 * columns * total + missing * across * presence + 2 * self.width,
            replace_l2_squared=4 * columns * total**2 + 4 * self.width,
        )

    @property
    def counts_missing(self) -> bool:
        """Yes, if values can be missing: ``features`` then takes, after all steps, whether there is one in each."""
        return any(self.nullable)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return P, the scaled distances from the middles, and the presence of values.

        >>> SharedMoments((Axis(0, 4, Fraction(1)),), (False,)).features(3)
        (16777216, 8388608)
        >>> SharedMoments((Axis(0, 4, Fraction(1)),), (True,)).features(0, 0)
        (16777216, 0, -10485760)
        """
        columns = len(self.columns)
        steps, there = k[:columns], k[columns:] or (1,) * columns
        values = (
            (step + step - axis.steps * present) * self._parts(place)
            for place, (step, present, axis) in enumerate(zip(steps, there, self.axes, strict=True))
        )
        presence = (
            (present + present - 1 if self.with_rows else present) * self._presence
            for present, nullable in zip(there, self.nullable, strict=True)
            if nullable
        )
        return (*((self.row,) if self.with_rows else ()), *values, *presence)

    def pure_noise(self, epsilon: "Exact", cells: int, bounding: "ContributionBounds") -> Noise:
        """Return K-norm noise: the largest number of a cell moves by P for a row, or by 2 P if one is replaced."""
        total = self.row
        largest = RowSensitivity(l1=total, l2_squared=total**2, replace_l1=2 * total, replace_l2_squared=4 * total**2)
        return Noise.k_norm(epsilon, largest.sensitivity(bounding).l1, cells, self.width, bounding)

    def of(self, quantity: str) -> tuple[str, Measure]:
        """Return a quantity of a column as that of a measurement of the column alone, for what only bounds matter to.

        >>> SharedMoments((Axis(0, 4, Fraction(1)), Axis(0, 9, Fraction(1))), (True, True), False).of("mean 1")
        ('mean', FirstMoments(axis=Axis(0, 9, 1), parts=1864135))
        """
        self._check(quantity)
        name, _, number = quantity.partition(" ")
        place = int(number or 0)
        return name, FirstMoments(axis=self.axes[place], parts=self._parts(place))

    def answer(self, quantity: str, noisy: NDArray[np.int64], noise: Noise) -> Estimate:
        """Return a quantity, cell by cell; where the noisy number of values is not positive, a mean is the middle.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> pair = SharedMoments((Axis(0, 120, Fraction(1)), Axis(0, 1, Fraction(1))), (False, False))
        >>> noise = pair.pure_noise(1, 1, ContributionBounds())
        >>> noisy = np.array([[1000 * 2**24, 250 * 2**24, -500 * 2**24]])
        >>> [round(float(pair.answer(name, noisy, noise).value[0]), 2) for name in ("rows", "mean 0", "sum 1")]
        [1000.0, 75.0, 250.0]
        """
        self._check(quantity)
        found = self._answer(quantity, noisy, noise)
        name, _, number = quantity.partition(" ")
        between, half = found.interval, self.rounding(int(number)) if name in ("sum", "mean") else 0.0
        if half == 0 or between is None:
            return found

        def interval(level: float) -> Between:
            if name == "mean":
                low, high = between(level)
                axis = self.axes[int(number)]
                return np.maximum(low - half, float(axis.low)), np.minimum(high + half, float(axis.high))
            each, weights = (1 + level) / 2, self._weights(f"count {number}")[1]
            low, high = between(each)
            # As many roundings as there are values.
            reach = half * np.maximum(noisy @ weights + float(noise.margin_of(weights, each)), 0.0)
            return low - reach, high + reach

        return Estimate(value=found.value, interval=interval)

    def rounding(self, place: int) -> float:
        """Return the largest rounding of a value: half a step, if the axis is coarser.

        >>> SharedMoments((Axis(0, 120, Fraction(1)), Axis(0, 2**30, Fraction(1))), (True, True)).rounding(1)
        32.0
        """
        coarse = self.axes[place]
        return 0.0 if coarse == self.columns[place] else float(coarse.grid) / 2

    def _answer(self, quantity: str, noisy: NDArray[np.int64], noise: Noise) -> Estimate:
        name, weights = self._weights(quantity)
        if name != "mean":
            centre = noisy @ weights
            value = np.rint(centre).astype(np.int64) if name in ("rows", "count") else centre
            return Estimate.within(centre, lambda level: float(noise.margin_of(weights, level)), value)
        place, count = int(quantity.partition(" ")[2]), self._weights(quantity.replace("mean", "count"))[1]
        return self._mean(place, noisy @ weights, noisy @ count, noise, (weights * self.row, count * self.row))

    def _mean(
        self,
        place: int,
        distances: NDArray[np.float64],
        rows: NDArray[np.float64],
        noise: Noise,
        weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> Estimate:
        """The mean m, a share of half the range: the sum of distances less m times the rows is 0 without noise."""
        share, (above, below) = over(distances, rows, 0.0), weights

        def largest(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
            sizes: NDArray[np.float64] = np.abs(above) + magnitudes(low, high)[:, None] * np.abs(below)
            return sizes  # no coordinate is in both sums

        ratio = Ratio(weights=largest, rows=rows, total=self.row, noise=noise, bounds=(-1.0, 1.0))
        middle, half = self._middle(place), self._half(place)

        def interval(level: float) -> Between:
            low, high = ratio.between(share, share, 1 - level)
            return middle + half * low, middle + half * high

        return Estimate.around(middle + half * np.clip(share, -1.0, 1.0), interval)

    def spread(self, quantity: str, noise: Noise, *, rows: float | None, level: float = 0.95) -> float | None:
        """Return a bound on the error of a quantity; of a mean, for the worst column with this many rows.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> pair = SharedMoments((Axis(0, 120, Fraction(1)), Axis(0, 1, Fraction(1))), (False, False))
        >>> noise = pair.pure_noise(1, 1, ContributionBounds())
        >>> round(pair.spread("rows", noise, rows=None), 2), round(pair.spread("mean 0", noise, rows=100_000), 4)
        (5.19, 0.0046)
        """
        self._check(quantity)
        name, weights = self._weights(quantity)
        if name != "mean":
            return float(noise.margin_of(weights, level))
        if rows is None or not rows > 0:
            return None
        count = self._weights(quantity.replace("mean", "count"))[1]
        reach = float(noise.margin_of(np.abs(weights) + np.abs(count), level)) / rows
        return min(reach, 2.0) * self._half(int(quantity.partition(" ")[2]))

    def _weights(self, quantity: str) -> tuple[str, NDArray[np.float64]]:
        """Return the weights that give a quantity; for a mean, its distance from the middle in half ranges."""
        name, _, number = quantity.partition(" ")
        weights = np.zeros(self.width)
        place, value = int(number or 0), int(number or 0) + self.with_rows
        if name in ("count", "sum") and self.nullable[place]:
            presence = self.with_rows + len(self.columns) + sum(self.nullable[:place])
            weights[presence] = (0.5 if self.with_rows else 1.0) / self._presence
            weights[0] += 0.5 / self.row if self.with_rows else 0.0
        elif name != "mean":
            weights[0] = 1 / self.row
        if name == "sum":
            weights *= self._middle(place)
            weights[value] = self._half(place) / self._span(place)
        elif name == "mean":
            weights[value] = 1 / self._span(place)
        return name, weights

    @property
    def _presence(self) -> int:
        return int(self.row * _PRESENCE) if self.with_rows else self.row

    def _parts(self, place: int) -> int:
        return self.row // self.axes[place].steps

    def _span(self, place: int) -> int:
        """The largest feature of a column: P, or a little less."""
        return self._parts(place) * self.axes[place].steps

    def _half(self, place: int) -> float:
        axis = self.axes[place]
        return float(axis.steps * axis.grid / 2)

    def _middle(self, place: int) -> float:
        return float(self.axes[place].low) + self._half(place)
