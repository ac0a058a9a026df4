"""Counts, sums and histograms: measures whose noisy sums are nearly the answers.

A row moves a count by one, a sum by the bound further from 0, and one bin of a histogram; where the number of rows is
public, a sum is counted from the middle of the range. The proof is in ``proofs/moments.md``.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Estimate, Measure, nearer, parts_of
from celosia.statistics.base.noise import ContributionBounds, RowSensitivity, Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise

_MAX_ROW = 2**40  # steps of one row: sums of 2^22 rows stay below 2^62
_ONE = RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1)


class _Counts(Measure):
    """Base of measures with one integer that is the answer."""

    __slots__ = ()

    width: ClassVar[int] = 1

    @property
    def row_sensitivity(self) -> RowSensitivity:
        return _ONE

    def features(self, *k: Any) -> tuple[Any, ...]:  # noqa: ARG002 - a count looks at no column
        return (1,)

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        self._check(quantity)
        return Estimate.within(noisy[:, 0], noise.margin)

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None = None, level: float = 0.95) -> float:  # noqa: ARG002 - a count is as far off whatever the rows
        self._check(quantity)
        return float(noise.margin(level))


@dataclass(frozen=True, slots=True)
class RowCount(_Counts):
    """The number of rows.

    >>> RowCount().features()
    (1,)
    """

    quantities: ClassVar[tuple[str, ...]] = ("count",)
    """The names of the quantities that it answers."""


@dataclass(frozen=True, slots=True)
class Distinct(_Counts):
    """The number of different values, or of different persons: one row brings at most one new.

    >>> Distinct().quantities
    ('distinct',)
    """

    quantities: ClassVar[tuple[str, ...]] = ("distinct",)
    """The names of the quantities that it answers."""


@dataclass(frozen=True, slots=True)
class Total(Measure):
    """The sum of a column; one row moves it by the bound that is further from 0.

    ``parts`` splits every step: where the rows of a person are averaged, a coarse axis would round too much.

    >>> Total(Axis(-5, 3, Fraction(1))).sensitivity(ContributionBounds())
    Sensitivity(l1=5, l2_squared=25)
    """

    axis: Axis
    parts: int = 1

    width: ClassVar[int] = 1
    """One sum."""

    quantities: ClassVar[tuple[str, ...]] = ("sum",)
    """The names of the quantities that it answers."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis, coarser where its ends are more than 2^40 steps from 0.

        >>> Total(Axis(2**50, 2**50 + 1, Fraction(1))).axes
        (Axis(549755813888, 549755813889, 2048),)
        """
        return (nearer(self.axis, _MAX_ROW // self.parts),)

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest of a row, in parts of steps."""
        (axis,) = self.axes
        return ((min(axis.lowest, 0) * self.parts, max(axis.highest, 0) * self.parts),)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """The distances of a row from 0, and from another row or 0."""
        ((low, high),) = self.reach
        far = max(-low, high)
        return RowSensitivity(l1=far, l2_squared=far**2, replace_l1=high - low, replace_l2_squared=(high - low) ** 2)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the step itself.

        >>> Total(Axis(-5, 3, Fraction(1))).features(2)
        (-3,)
        """
        (step,) = k
        value = step + self.axes[0].lowest
        return (value if self.parts == 1 else value * self.parts,)

    def refine_for_averages(self) -> "Total":
        """Return the same sum in parts of steps."""
        return replace(self, parts=parts_of(self.row_sensitivity.l1))

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the sum, whole where every step is one."""
        self._check(quantity)
        grid = self._grid
        if grid == 1:
            return Estimate.within(noisy[:, 0], noise.margin)
        return Estimate.within(noisy[:, 0] * float(grid), lambda level: noise.margin(level) * float(grid))

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None = None, level: float = 0.95) -> float:  # noqa: ARG002 - a sum is as far off whatever the rows
        """Return a bound on the error of the sum."""
        self._check(quantity)
        return noise.margin(level) * float(self._grid)

    @property
    def _grid(self) -> Fraction:
        return self.axes[0].grid / self.parts


@dataclass(frozen=True, slots=True)
class CentredSum(Measure):
    """The sum of a column counted from the middle of its range, where the number of rows is public.

    Under replace-one, with no row left out, one row changes it by the range and nothing else needs noise.

    >>> from celosia.core import ReplaceOne
    >>> CentredSum(Axis(0, 120, Fraction(1)), rows=1000).sensitivity(ContributionBounds(adjacency=ReplaceOne))
    Sensitivity(l1=240, l2_squared=57600)
    """

    axis: Axis
    rows: int

    width: ClassVar[int] = 1
    """One sum."""

    quantities: ClassVar[tuple[str, ...]] = ("sum", "mean")
    """The names of the quantities that it answers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", exact_integer(self.rows, name="rows", least=0))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis."""
        return (self.axis,)

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """Half steps to both sides of the middle."""
        return ((-self.axis.steps, self.axis.steps),)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """Half the range to both sides, in half steps."""
        far = self.axis.steps
        return RowSensitivity(l1=far, l2_squared=far**2, replace_l1=2 * far, replace_l2_squared=4 * far**2)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return twice the distance from the middle.

        >>> CentredSum(Axis(0, 120, Fraction(1)), rows=1000).features(120)
        (120,)
        """
        (step,) = k
        return (step + step - self.axis.steps,)

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return twice the range in half steps; only under replace-one of single rows is their number public."""
        if bounding.adjacency is AddRemove or (bounding.groups, bounding.rows, bounding.cells) != (1, 1, 1):
            raise ParameterError("statistics.row_count_not_public")
        return self.row_sensitivity.sensitivity(bounding)

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the sum or the mean; a mean stays within the bounds."""
        self._check(quantity)
        times, low, high = self._scale(quantity)
        middle, half = times * (low + high) / 2, self._half(quantity)
        if quantity == "sum":
            return Estimate.within(middle + noisy[:, 0] * half, lambda level: noise.margin(level) * half)

        if self.rows == 0:  # nothing to average: anywhere in the range
            whole_range = np.full(len(noisy), low), np.full(len(noisy), high)
            return Estimate(value=np.full(len(noisy), middle), interval=lambda _: whole_range)

        def interval(level: float) -> tuple[Any, Any]:
            reach = noise.margin(level)
            ends = middle + (noisy[:, 0] - reach) * half, middle + (noisy[:, 0] + reach) * half
            return np.clip(ends[0], low, high), np.clip(ends[1], low, high)

        return Estimate(value=np.clip(middle + noisy[:, 0] * half, low, high), interval=interval)

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None = None, level: float = 0.95) -> float:  # noqa: ARG002 - the rows are known
        """Return a bound on the error of the sum or the mean."""
        self._check(quantity)
        return noise.margin(level) * self._half(quantity)

    def _scale(self, quantity: str) -> tuple[int, float, float]:
        return (self.rows if quantity == "sum" else 1), float(self.axis.low), float(self.axis.high)

    def _half(self, quantity: str) -> float:
        return float(self.axis.grid / 2 / (1 if quantity == "sum" else max(self.rows, 1)))


@dataclass(frozen=True, slots=True)
class Bins(Measure):
    """The numbers of rows in each of several bins or categories; a row falls into one.

    >>> Bins(3).features(1)
    (0, 1, 0)
    """

    count: int

    quantities: ClassVar[tuple[str, ...]] = ("histogram",)
    """The names of the quantities that it answers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", exact_integer(self.count, name="count"))

    @property
    def width(self) -> int:
        """The number of bins."""
        return self.count

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """One in one bin; a row that changes its bin changes two."""
        moved = min(self.count, 2)
        return RowSensitivity(l1=1, l2_squared=1, replace_l1=moved, replace_l2_squared=moved)

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return one at the bin's index and 0 elsewhere; engines count rows by bin instead."""
        (index,) = k
        return tuple((index == each) * 1 for each in range(self.count))

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the counts of all bins, cell by cell."""
        self._check(quantity)
        return Estimate.within(noisy, noise.margin)

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None = None, level: float = 0.95) -> float:  # noqa: ARG002 - a count is as far off whatever the rows
        """Return a bound on the error of one bin."""
        self._check(quantity)
        return float(noise.margin(level))
