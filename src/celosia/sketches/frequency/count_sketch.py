"""The count sketch: frequencies of values, accurate for skewed streams (Charikar, Chen, Farach-Colton 2002).

Every value adds to one counter in each row with a sign of its own, and reads that counter with the same sign: what
others added is then 0 on average, with a variance of F2/w, F2 the sum of the squared frequencies. The median of the
rows is taken. Where few values make most of the stream, √F2 is far below the total that a count-min's error goes by.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.exact import Exact
from celosia.sketches.base.medians import cheapest_shape, row_failure
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.signed import SignedTable
from celosia.sketches.hashing.columns import Values
from celosia.sketches.hashing.family import collision_chance, width_for

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountSketch(SignedTable):
    """Frequencies of values, of which any may be negative; without bias in every row.

    Adding or removing a record changes ``rows`` counters by 1 each; the table alone is not private.

    >>> visits = CountSketch.suggest("0.05", "0.01", seed=7)
    >>> visits
    CountSketch(5, 3787, seed=7)
    >>> visits.update(["sun"] * 20 + ["rain"] * 3)
    >>> visits.estimate(["sun", "rain", "snow"]).tolist()
    [20.0, 3.0, 0.0]
    """

    __slots__ = ()

    _KIND = Kind.COUNT_SKETCH

    @staticmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        """Return rows of at least 3/error² counters, of a number that makes the table smallest."""
        return cheapest_shape(chance, lambda row_chance: width_for(row_chance * wanted**2, name="error", given=error))

    def relative_error(self, failure: Exact) -> float:
        """Return the error, as a share of √F2, that an estimate exceeds with probability at most ``failure``.

        It follows from Chebyshev's inequality for one row, and the binomial distribution for half of them.

        >>> CountSketch(5, 3800).relative_error("0.01") <= 0.05
        True
        """
        chance = row_failure(self.rows, open_unit(failure, name="failure"))
        return math.sqrt(collision_chance(self.width) / chance)

    def estimate(self, values: Values) -> "NDArray[np.float64]":
        """Return the frequency of each value.

        >>> CountSketch(3, 100).estimate([1, 2]).tolist()
        [0.0, 0.0]
        """
        parts = [np.median(cells, axis=0) for cells in self._chunks(values)]
        return np.concatenate(parts) if parts else np.empty(0)

    def bounds(self, values: Values, failure: Exact = "0.05") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return bounds for each frequency, each with probability 1 - ``failure``.

        Half of ``failure`` goes to the estimate, half to F2, which is estimated from the same table.

        >>> visits = CountSketch(5, 1_000)
        >>> visits.update([1] * 500 + [2] * 500)
        >>> low, high = visits.bounds([1])
        >>> bool(low[0] < 500 < high[0])
        True
        """
        half = open_unit(failure, name="failure") / 2
        margin = self.relative_error(half) * math.sqrt(self.second_moment_bounds(half)[1])
        middle = self.estimate(values)
        return middle - margin, middle + margin
