"""A private number of distinct values, from bitmaps whose bits are flipped at random.

A value sets one bit of Flajolet and Martin's bitmaps, so that a row more or less changes one bit at most, and
randomized response of every bit hides it: epsilon is that of one answer, however many bits there are. Flipped bitmaps
are read by their likelihood, and those of several parties can be merged after they were made private (sketch, flip,
merge: Hehir, Ting and Cormode 2023). Noise on the estimate of a HyperLogLog would not do: a register is a maximum, so
that one value can change the estimate by any amount. The proof is in ``proofs/noisy-sketches.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.enclosure import exp_at_least
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, ReprMixin, exact_epsilon, exact_integer, exact_level, safe_repr
from celosia.core.guarantees import PureDP
from celosia.core.release import Release
from celosia.core.structure import GuaranteedEvent
from celosia.mechanisms.randomized_response import RandomizedResponse
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.sketches.distinct.bit_likelihood import BitLikelihood
    from celosia.sketches.hashing.columns import Values

# celosia.sketches is imported where sketches are made, because it loads Numba.

_MAX_BITS = 2**28
_ROUNDING_FACTOR = 1 + Fraction(1, 2**40)  # room for the rounding of a logarithm


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class NoisyDistinct(ReprMixin):
    """The number of distinct values, with noise in every bit of the sketch.

    Parameters
    ----------
    epsilon
        The price.
    bitmaps, levels, seed
        The shape and the hash function: the error falls with the root of the number of bitmaps, and levels set how many
        values can be counted, about bitmaps times 2^levels.
    contributions
        How many different values one unit has at most.
    mergeable
        Whether flipped tables can be merged, at the price of more noise.
    adjacency, unit
        The neighbouring relation and the privacy unit of the price.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> visitors = NoisyDistinct(epsilon=1, bitmaps=4096)
    >>> release = visitors.release(range(100_000), source=Seeded(7))
    >>> release.guarantee, round(release.value, -3)
    (PureDP(epsilon=1), 96000.0)
    >>> low, high = release.confidence_interval(0.95)
    >>> low < 100_000 < high
    True
    """

    epsilon: Fraction
    bitmaps: int = 4096
    levels: int = 24
    seed: int = 0
    contributions: int = 1
    mergeable: bool = False
    adjacency: Adjacency = AddRemove
    unit: str = "row"

    def __init__(  # noqa: PLR0913 - the price, the bitmaps, and who is protected
        self,
        *,
        epsilon: Exact,
        bitmaps: int = 4096,
        levels: int = 24,
        seed: int = 0,
        contributions: int = 1,
        mergeable: bool = False,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        from celosia.sketches.distinct.flajolet_martin import FlajoletMartin

        sketch = FlajoletMartin(bitmaps, seed=seed)
        self._set(
            epsilon=exact_epsilon(epsilon),
            bitmaps=sketch.bitmaps,
            levels=exact_integer(levels, name="levels", least=2),
            seed=sketch.seed,
            contributions=exact_integer(contributions, name="contributions"),
            mergeable=mergeable,
        )
        if self.levels > sketch.levels or self.levels * self.bitmaps > _MAX_BITS:
            raise ParameterError("statistics.too_many_levels", most=sketch.levels, levels=safe_repr(levels))
        if not isinstance(mergeable, bool):
            raise ParameterError("statistics.mergeable_not_boolean", mergeable=safe_repr(mergeable))
        self._set(adjacency=adjacency, unit=unit)
        guarantee = self.guarantee
        self._set(adjacency=guarantee.adjacency, unit=guarantee.unit)
        _ = self.coin

    @property
    def coin(self) -> RandomizedResponse:
        """How every bit is answered.

        >>> NoisyDistinct(epsilon=1).coin
        RandomizedResponse(epsilon=1)
        """
        # A unit that comes or goes changes as many bits as it has values; one that is replaced, twice as many.
        changed = self.contributions * (1 if self.adjacency is AddRemove else 2)
        share = self.epsilon / changed
        if not self.mergeable:
            return RandomizedResponse(epsilon=share, unit=self.unit)
        # A set bit becomes a fair coin, which it stays however often it is merged.
        coin = RandomizedResponse(coins=(Fraction(1, 2), exp_at_least(-share) * _ROUNDING_FACTOR / 2), unit=self.unit)
        if coin.epsilon > share:
            raise ParameterError("statistics.epsilon_too_small_to_merge", epsilon=safe_repr(self.epsilon))
        return coin

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of a release.

        >>> NoisyDistinct(epsilon=1).guarantee
        PureDP(epsilon=1)
        """
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    @property
    def event(self) -> GuaranteedEvent:
        """The event of a release: its guarantee, which is tight, because one flipped bit costs all of epsilon.

        >>> NoisyDistinct(epsilon=1).event
        GuaranteedEvent(guarantee=PureDP(epsilon=1))
        """
        return GuaranteedEvent(guarantee=self.guarantee)

    def release(self, values: "Values", /, *, source: "Source | None" = None) -> Release[float]:
        """Return the noisy number of different values of a column, or of a ``FlajoletMartin`` of the same shape.

        >>> NoisyDistinct(epsilon=2).release(["sun", "rain"]).value >= 0
        True
        """
        flipped = self.flip(values, source=source)
        found = self.estimate(flipped.value)
        return Release(
            value=found.value,
            event=flipped.event,
            guarantee=flipped.guarantee,
            seeded=flipped.seeded,
            interval=found.confidence_interval,
        )

    def flip(self, values: "Values", /, *, source: "Source | None" = None) -> "Release[NDArray[np.bool_]]":
        """Return the table of flipped bits itself, bitmaps by levels, for others to merge and to estimate from.

        >>> NoisyDistinct(epsilon=1, bitmaps=64).flip(["sun", "rain"]).value.shape
        (64, 24)
        """
        source = source_or_system(source)
        return Release(
            value=self.coin.release(self._table(values), source=source).value,
            event=self.event,
            guarantee=self.guarantee,
            seeded=source.seeded,
        )

    def _table(self, values: "Values") -> "NDArray[np.bool_]":
        from celosia.sketches.distinct.flajolet_martin import FlajoletMartin

        if isinstance(values, FlajoletMartin):
            if (values.bitmaps, values.seed) != (self.bitmaps, self.seed):
                raise InputError("statistics.distinct_parameters_differ", bitmaps=self.bitmaps, seed=self.seed)
            return values.table(self.levels)
        sketch = FlajoletMartin(self.bitmaps, seed=self.seed)
        sketch.update(values)
        return sketch.table(self.levels)

    def merge(self, *tables: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
        """Return the table of the union of several flipped tables; ``estimate`` must know how many.

        Merging costs nothing; but a unit that is in several tables has spent epsilon in each.

        >>> both = NoisyDistinct(epsilon=2, mergeable=True)
        >>> table = both.merge(both.flip(range(50_000)).value, both.flip(range(30_000, 90_000)).value)
        >>> low, high = both.estimate(table, tables=2).confidence_interval(0.9999)
        >>> low < 90_000 < high
        True
        """
        if not self.mergeable:
            raise ParameterError("statistics.tables_not_mergeable")
        merged = np.zeros((self.bitmaps, self.levels), dtype=np.bool_)
        for table in tables:
            merged ^= self._check_table(table)
        return merged

    def estimate(self, table: "NDArray[np.bool_]", *, tables: int = 1) -> "DifferentValues":
        """Return the number of different values, read from a table that was flipped, or merged from several ``tables``.

        >>> visitors = NoisyDistinct(epsilon=1)
        >>> visitors.estimate(visitors.flip(range(10_000)).value).value > 5_000
        True
        """
        return DifferentValues(
            likelihood=self._likelihood(self._check_table(table), exact_integer(tables, name="tables"))
        )

    def relative_error(self, values: int, *, tables: int = 1) -> float:
        """Return the expected standard error with this number of values, as a share of it. Spends nothing.

        >>> round(NoisyDistinct(epsilon=1).relative_error(100_000), 3)
        0.027
        """
        none = np.zeros((self.bitmaps, self.levels), dtype=np.bool_)
        likelihood = self._likelihood(none, exact_integer(tables, name="tables"))
        return likelihood.relative_error(float(exact_integer(values, name="values")))

    def _likelihood(self, table: "NDArray[np.bool_]", tables: int) -> "BitLikelihood":
        from celosia.sketches.distinct.bit_likelihood import BitLikelihood
        from celosia.sketches.distinct.flajolet_martin import FlajoletMartin

        if_set, if_clear = (math.exp(float(self.coin.log_masses(bit, [1])[0])) for bit in (True, False))
        if tables > 1 and not self.mergeable:
            raise ParameterError("statistics.tables_not_mergeable")
        return BitLikelihood(
            ones=table.sum(axis=0, dtype=np.int64),
            bits=self.bitmaps,
            chances=FlajoletMartin(self.bitmaps).chances(self.levels),
            if_set=if_set,
            if_clear=if_clear if tables == 1 else (1 - (1 - 2 * if_clear) ** tables) / 2,
        )

    def _check_table(self, table: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
        bits = np.asarray(table)
        if bits.dtype != np.bool_ or bits.shape != (self.bitmaps, self.levels):
            raise InputError("statistics.not_a_flipped_table", bitmaps=self.bitmaps, levels=self.levels)
        return bits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DifferentValues:
    """A number of distinct values, estimated from flipped bits.

    >>> visitors = NoisyDistinct(epsilon=1, bitmaps=64)
    >>> visitors.estimate(visitors.flip(range(1_000)).value).value >= 0
    True
    """

    likelihood: "BitLikelihood"

    @property
    def value(self) -> float:
        """The likeliest number."""
        return self.likelihood.maximum()

    def confidence_interval(self, level: Exact = 0.95) -> tuple[float, float]:
        """Return the numbers whose likelihood is not too far below the largest (Wilks 1938).

        The flips and the hash function are random; both are in the interval.

        >>> visitors = NoisyDistinct(epsilon=1)
        >>> low, high = visitors.estimate(visitors.flip(range(10_000)).value).confidence_interval(0.9999)
        >>> low < 10_000 < high
        True
        """
        from celosia.sketches.base.relative_error import deviations_for

        return self.likelihood.within(deviations_for(1 - exact_level(level)) ** 2 / 2)

    def __repr__(self) -> str:
        return f"DifferentValues({self.value:.6g})"
