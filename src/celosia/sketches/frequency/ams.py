"""AMS: the sum of the squared frequencies of a stream, and inner products of two (Alon, Matias and Szegedy 1999).

F2, the sum of the squares, measures the skew of a stream, the size of a self-join, and, for a difference, the distance
of two streams. This is the fast form, in which a value changes one counter of each row (Thorup and Zhang 2004): its
error is the same.
"""

from celosia.core.exact import Exact
from celosia.sketches.base.medians import cheapest_shape
from celosia.sketches.base.serial import Kind
from celosia.sketches.frequency.signed import SignedTable
from celosia.sketches.hashing.family import width_for


class AMS(SignedTable):
    """The second moment of frequencies, of which any may be negative.

    Adding or removing a record changes ``rows`` counters by 1 each; the table alone is not private.

    >>> visits = AMS.suggest("0.1", "0.01", seed=7)
    >>> visits
    AMS(5, 1894, seed=7)
    >>> visits.update(["sun"] * 20 + ["rain"] * 3)
    >>> visits.estimate()
    409.0
    """

    __slots__ = ()

    _KIND = Kind.AMS

    @staticmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        return cheapest_shape(
            chance, lambda row_chance: width_for(row_chance * wanted**2 / 2, name="error", given=error)
        )

    def relative_error(self, failure: Exact) -> float:
        """Return the error, as a share of the true F2, that the estimate exceeds with probability at most ``failure``.

        >>> AMS(5, 1894).relative_error("0.01") <= 0.1
        True
        """
        return self.second_moment_error(failure)

    def estimate(self) -> float:
        """Return F2, the sum of all squared frequencies.

        >>> AMS(3, 100).estimate()
        0.0
        """
        return self.second_moment()

    def bounds(self, failure: Exact = "0.05") -> tuple[float, float]:
        """Return bounds for F2 with probability 1 - ``failure``.

        >>> visits = AMS(5, 1_000)
        >>> visits.update(range(100))
        >>> low, high = visits.bounds()
        >>> low < 100 < high
        True
        """
        return self.second_moment_bounds(failure)
