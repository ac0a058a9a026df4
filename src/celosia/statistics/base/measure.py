"""What a measure is: integers that are summed over rows, how far one row moves them, and what they answer.

One definition of the features of a row serves arrays, plain integers and database expressions alike, for it is made of
sums and products only. The exact sums never leave the engine that made them: what a measure answers from is noisy.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, safe_repr
from celosia.data.schema.axis import Axis
from celosia.statistics.base.noise import ContributionBounds, Noise, RowSensitivity, Sensitivity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.statistics.base.estimate import Estimate

_AVERAGE_PARTS = 2**24  # parts of a person's average: rounded down, a million persons lose a few hundredths of one


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
    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: Noise) -> "Estimate":
        """Return a quantity from a noisy summary, cells by width, in the caller's units."""

    @abstractmethod
    def spread(self, quantity: str, noise: Noise, *, rows: float | None, level: float = 0.95) -> float | None:
        """Return a bound on the error of the answer, with probability ``level``; a ratio needs a guess of ``rows``.

        ``rows`` is a public guess of the rows of a cell; the result is None if it is needed and missing.
        """

    def _check(self, quantity: str) -> None:
        if quantity not in self.quantities:
            raise ParameterError(
                f"{type(self).__name__} answers {', '.join(self.quantities)}, not {safe_repr(quantity)}."
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
