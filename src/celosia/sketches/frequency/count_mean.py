"""Count-mean: unbiased frequencies of values (the sketch that Apple 2017 makes private).

The mean of d rows, each read as in ``levelled``, is unbiased, and has the variance (F2 - f^2)/(d (w - 1)), with F2 the
sum of squared frequencies and f the value's own.
"""

import math
from typing import TYPE_CHECKING

from celosia.core.exact import Exact
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.levelled import LevelledTable, levelled_width, row_spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROWS = 5  # the error depends on rows times width alone: a few rows are enough against one unlucky hash function


class CountMean(LevelledTable):
    """Frequencies of values, without bias; the mean of the rows.

    Adding or removing a record changes ``rows`` counters by 1 each; the table alone is not private.

    >>> visits = CountMean(5, 1_000, seed=7)
    >>> visits.update(["sun"] * 20 + ["rain"] * 3)
    >>> visits.estimate(["sun", "rain", "snow"]).round(1).tolist()
    [20.0, 3.0, -0.0]
    """

    __slots__ = ()

    _KIND = Kind.COUNT_MEAN

    @staticmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        return _ROWS, levelled_width(_ROWS * chance * wanted**2, error=error)

    def relative_error(self, failure: Exact) -> float:
        """Return beyond which share of √F2 an estimate is off with probability at most ``failure`` (Chebyshev).

        >>> CountMean(5, 1602).relative_error("0.05") <= 0.05
        True
        """
        return math.sqrt(row_spread(self.width) / (self.rows * open_unit(failure, name="failure")))

    @staticmethod
    def _over_rows(levelled: "NDArray[np.float64]") -> "NDArray[np.float64]":
        means: NDArray[np.float64] = levelled.mean(axis=0)
        return means
