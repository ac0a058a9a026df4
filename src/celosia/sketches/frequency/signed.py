"""Tables in which every value has its own sign: the base of the count sketch and AMS.

A value's weight is added or subtracted, by a sign that is ±1 with equal chance in each row, so that what others add to
its counter is 0 on average. With four-wise independent signs the sum of the squares of a row is, on average, F2, the
sum of the squared frequencies, with a variance of at most 2 F2^2/w (Alon, Matias and Szegedy 1999; with one counter for
each value, not all w, Thorup and Zhang 2004). The sum of products with another table is alike an inner product.
"""

import math
from typing import Self

import numpy as np

from celosia.core.exact import Exact
from celosia.sketches.base.medians import row_failure
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.frequency.table import CounterTable
from celosia.sketches.hashing.family import collision_chance


class SignedTable(CounterTable):
    """Second moments and inner products of frequencies, of which any may be negative.

    >>> from celosia.sketches.frequency.ams import AMS
    >>> left, right = AMS(5, 1_000), AMS(5, 1_000)
    >>> left.update([1, 1, 2]), right.update([1, 3])
    (None, None)
    >>> left.inner_product(right)
    2.0
    """

    __slots__ = ()

    _SIGNED = True

    def second_moment(self) -> float:
        """Return F2, the sum of all squared frequencies: the median of the rows' sums of squares.

        >>> from celosia.sketches.frequency.count_sketch import CountSketch
        >>> visits = CountSketch(5, 1_000)
        >>> visits.update([1, 1, 1, 2])
        >>> visits.second_moment()
        10.0
        """
        return float(np.median(self._products(self)))

    def second_moment_error(self, failure: Exact) -> float:
        """Return the relative error that the second moment exceeds with probability at most ``failure``.

        It follows from Chebyshev's inequality for one row, and the binomial distribution for half of them. An inner
        product is off by more than this share of √F2 here times √F2 there with that probability at most.

        >>> from celosia.sketches.frequency.ams import AMS
        >>> AMS(5, 7_600).second_moment_error("0.01") <= 0.05
        True
        """
        chance = row_failure(self.rows, open_unit(failure, name="failure"))
        return math.sqrt(2 * collision_chance(self.width) / chance)

    def second_moment_bounds(self, failure: Exact = "0.05") -> tuple[float, float]:
        """Return bounds for F2 with probability 1 - ``failure``; never more than ``volume`` squared.

        >>> from celosia.sketches.frequency.ams import AMS
        >>> AMS(5, 1_000).second_moment_bounds()
        (0.0, 0.0)
        """
        middle, error = self.second_moment(), self.second_moment_error(failure)
        most = float(self.volume) ** 2
        return min(middle / (1 + error), most), min(middle / (1 - error), most) if error < 1 else most

    def inner_product(self, other: Self) -> float:
        """Return the sum over all values of their frequencies here times there: the size of a join.

        >>> from celosia.sketches.frequency.count_sketch import CountSketch
        >>> CountSketch(5, 1_000).inner_product(CountSketch(5, 1_000))
        0.0
        """
        return float(np.median(self._products(other)))
