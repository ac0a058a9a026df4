"""Tables that subtract the mean contribution of other values: the base of count-mean and count-median.

A counter holds the weight of its value and a share of all others, of 1/w on average. Subtracting that share, by
(w · counter - total)/(w - 1), leaves an unbiased number in each row, of the variance (F2 - f^2)/(w - 1), F2 the sum
of squared frequencies and f the value's own. That needs three-wise independence: the value's own column is given, and
two others must fall independently into it.
"""

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.exact import Exact
from celosia.sketches.frequency.table import CounterTable
from celosia.sketches.hashing.columns import Values
from celosia.sketches.hashing.family import collision_chance, width_for

if TYPE_CHECKING:
    from numpy.typing import NDArray


def row_spread(width: int) -> float:
    """Return a bound on the variance of one row, as a multiple of the second moment."""
    return collision_chance(width) * (width / (width - 1)) ** 2


def levelled_width(spread: float, *, error: Exact) -> int:
    """Return the least width of which ``row_spread`` is at most this; errors name the parameter ``error``."""
    width = width_for(spread, name="error", given=error)
    while row_spread(width) > spread:
        width += 1
    return width


class LevelledTable(CounterTable):
    """Frequencies without bias in every row; subclasses combine the rows.

    >>> from celosia.sketches.frequency.count_mean import CountMean
    >>> visits = CountMean(5, 1_000)
    >>> visits.update(range(1_000))
    >>> visits.second_moment_at_most() >= 1_000
    True
    """

    __slots__ = ()

    _INDEPENDENCE = 3

    @staticmethod
    @abstractmethod
    def _over_rows(levelled: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return one number for each value, from one for each row and value."""

    def estimate(self, values: Values) -> "NDArray[np.float64]":
        """Return the frequency of each value; negative where others brought less than their average share.

        >>> from celosia.sketches.frequency.count_mean import CountMean
        >>> CountMean(3, 100).estimate([1, 2]).tolist()
        [0.0, 0.0]
        """
        parts = [self._over_rows(self._level(cells)) for cells in self._chunks(values)]
        return np.concatenate(parts) if parts else np.empty(0)

    def bounds(self, values: Values, failure: Exact = "0.05") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return bounds for each frequency, each with probability 1 - ``failure``.

        >>> from celosia.sketches.frequency.count_median import CountMedian
        >>> visits = CountMedian(5, 1_000)
        >>> visits.update([1] * 500 + [2] * 500)
        >>> low, high = visits.bounds([1])
        >>> bool(low[0] < 500 < high[0])
        True
        """
        margin = self._margin(failure)
        middle = self.estimate(values)
        return middle - margin, middle + margin

    def _margin(self, failure: Exact) -> float:
        # A width that does not divide 2^32 makes columns unequal, and the average share wrong by a little.
        bias = self.volume * self.width * 2.0**-63
        return self.relative_error(failure) * math.sqrt(self.second_moment_at_most()) + bias

    def _level(self, cells: "NDArray[np.int64]") -> "NDArray[np.float64]":
        return (cells.astype(np.float64) * self.width - self.total) / (self.width - 1)

    def second_moment_at_most(self) -> float:
        """Return an upper bound on F2, the sum of squared frequencies, which is certain.

        Where nothing was taken away, it is the least sum of squares in a row: (a + b)^2 ≥ a^2 + b^2. Otherwise
        counters may have cancelled, and it is the square of ``volume``.

        >>> from celosia.sketches.frequency.count_mean import CountMean
        >>> CountMean(5, 1_000).second_moment_at_most()
        0.0
        """
        crude = float(self.volume) ** 2
        return min(float(self._products(self).min()), crude) if self.volume == self.total else crude
