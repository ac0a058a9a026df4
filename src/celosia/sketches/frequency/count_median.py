"""Count-median: frequencies of values, also with negative weights (Cormode and Muthukrishnan 2005).

It takes the median of the rows, which are read as in ``levelled``. A frequent value that collides in a few rows
affects the mean but not the median: the probability of a large error falls exponentially with the number of rows. The
median has a bias of up to total/w for a skewed stream; the bound is on its error.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.exact import Exact
from celosia.sketches.base.medians import cheapest_shape, row_failure
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.levelled import LevelledTable, levelled_width, row_spread
from celosia.sketches.hashing.family import collision_chance

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountMedian(LevelledTable):
    """Frequencies of values; the median of the rows.

    Adding or removing a record changes ``rows`` counters by 1 each; the table alone is not private.

    >>> visits = CountMedian(5, 1_000, seed=7)
    >>> visits.update(["sun"] * 20 + ["rain"] * 3)
    >>> visits.estimate(["sun", "rain", "snow"]).round(1).tolist()
    [20.0, 3.0, -0.0]
    """

    __slots__ = ()

    _KIND = Kind.COUNT_MEDIAN

    @staticmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        return cheapest_shape(chance, lambda row_chance: levelled_width(row_chance * wanted**2, error=error))

    def relative_error(self, failure: Exact) -> float:
        """Return the error, as a share of √F2, that an estimate exceeds with probability at most ``failure``.

        By Chebyshev's inequality for one row, and the binomial distribution for half of them.

        >>> CountMedian(5, 3800).relative_error("0.01") <= 0.05
        True
        """
        return math.sqrt(row_spread(self.width) / row_failure(self.rows, open_unit(failure, name="failure")))

    def _margin(self, failure: Exact) -> float:
        """Return the smaller of two margins, that hold each: by the second moment, and by the volume.

        In one row, with X what other values bring to the counter, the error is (w X - (total - f))/(w - 1), and |X| is
        above c volume/q with probability q at most (Markov), c the chance of meeting. If nothing is negative, the two
        terms have opposite signs.
        """
        chance = row_failure(self.rows, open_unit(failure, name="failure"))
        meeting = self.width * collision_chance(self.width) / chance
        terms = meeting if self.volume == self.total else meeting + 1
        return min(super()._margin(failure), self.volume * terms / (self.width - 1))

    @staticmethod
    def _over_rows(levelled: "NDArray[np.float64]") -> "NDArray[np.float64]":
        medians: NDArray[np.float64] = np.median(levelled, axis=0)
        return medians
