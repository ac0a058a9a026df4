"""Count-min: frequencies of values, never too low and seldom much too high (Cormode and Muthukrishnan 2005).

Each value adds to one counter in each of d rows of w; others that share its counter can only raise it, by w^-1 of the
total on average, so that the least of its counters is the best. With w = ⌈e/error⌉ and d = ⌈ln(1/failure)⌉ it is more
than error times the total too high with probability at most ``failure``. Counters are not updated conservatively:
that would make two sketches impossible to merge, and the effect of one record on the table unbounded.
"""

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from celosia.core.exact import Exact
from celosia.sketches.base.medians import row_failure
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.table import CounterTable
from celosia.sketches.hashing.columns import Values
from celosia.sketches.hashing.family import collision_chance, width_for

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountMin(CounterTable):
    """Frequencies of values, as upper bounds.

    If a weight was ever negative, counters may be too low as well, and the estimate is the median of a value's
    counters, with a two-sided error, unless ``strict=True`` states that no frequency is negative. Adding or removing a
    record changes ``rows`` counters by 1 each; the table alone is not private.

    >>> visits = CountMin.suggest("0.001", "0.01", seed=7)
    >>> visits
    CountMin(5, 2719, seed=7)
    >>> visits.update(["sun"] * 20 + ["rain"] * 3)
    >>> visits.estimate(["sun", "rain", "snow"]).tolist()
    [20, 3, 0]
    """

    __slots__ = ()

    _KIND = Kind.COUNT_MIN

    @staticmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        rows = math.ceil(math.log(1 / chance))
        least = width_for(wanted * chance ** (1 / rows), name="error", given=error)
        return rows, max(least, math.ceil(math.e / wanted))

    def relative_error(self, failure: Exact, *, strict: bool = False) -> float:
        """Return the error, as a share of ``total``, that an estimate exceeds with probability at most ``failure``.

        It is a share of ``volume`` if weights were negative and not ``strict``. It follows from Markov's inequality for
        one row, and the independence of rows.

        >>> CountMin(5, 2719).relative_error("0.01") <= 0.001
        True
        """
        chance = open_unit(failure, name="failure")
        if self._one_sided(strict):
            return float(collision_chance(self.width) * chance ** (-1 / self.rows))
        return collision_chance(self.width) / row_failure(self.rows, chance)

    def estimate(self, values: Values, *, strict: bool = False) -> "NDArray[np.int64]":
        """Return the frequency of each value: at least the true one, if no weight was negative.

        >>> CountMin(3, 100).estimate([1, 2]).tolist()
        [0, 0]
        """
        parts = [self._combine(cells, strict) for cells in self._chunks(values)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def bounds(
        self, values: Values, failure: Exact = "0.05", *, strict: bool = False
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Return bounds for each frequency, each with probability 1 - ``failure``.

        >>> visits = CountMin(5, 1_000)
        >>> visits.update([1] * 500 + [2] * 500)
        >>> [bound.tolist() for bound in visits.bounds([1])]
        [[499], [500]]
        """
        middle = self.estimate(values, strict=strict)
        share = min(self.relative_error(failure, strict=strict), 1.0)
        if self._one_sided(strict):
            return np.maximum(middle - math.floor(share * self.total), 0), middle
        margin = math.floor(share * self.volume)
        return middle - margin, middle + margin

    def inner_product(self, other: Self, *, strict: bool = False) -> float:
        """Return the sum over all values of their frequencies here times there: the size of a join.

        It is too high by more than ``relative_error(failure)`` times both totals with that probability at most. If
        either had negative weights, it is off, to either side, by more than that one's times both volumes as seldom.

        >>> left, right = CountMin(5, 1_000), CountMin(5, 1_000)
        >>> left.update([1, 1, 2]), right.update([1, 3])
        (None, None)
        >>> left.inner_product(right)
        2.0
        """
        products = self._products(other)
        one_sided = self._one_sided(strict) and other._one_sided(strict)
        return float(products.min() if one_sided else np.median(products))

    def _one_sided(self, strict: bool) -> bool:  # noqa: FBT001 - the caller's own flag, passed on
        return strict or self.volume == self.total

    def _combine(self, cells: "NDArray[np.int64]", strict: bool) -> "NDArray[np.int64]":  # noqa: FBT001 - likewise
        if self._one_sided(strict):
            least: NDArray[np.int64] = cells.min(axis=0)
            return least
        middle = (self.rows - 1) // 2  # of an even number the lower one: a half of the rows must be off for it to be
        medians: NDArray[np.int64] = np.partition(cells, middle, axis=0)[middle]
        return medians
