"""A table of counters with one cell of each row for every value: the base of the frequency sketches.

The state is linear in the data: merging two tables is adding them, and a record that is added and taken away leaves no
trace. One record of weight 1 changes one counter in each row, by 1 (L1 distance ``rows``, L2 distance √rows; twice and
√2 times that if it is replaced by another): this is what noise must cover, for a table alone is *not* private.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.relative_error import open_unit
from celosia.sketches.base.serial import Kind, pack, read_array, signed_field, unpack, unsigned_field, write_array
from celosia.sketches.base.sketch import WeightedSketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.base.weights import MAX_COUNTER, exact_sum, read_weights, signed_sums
from celosia.sketches.frequency.counters import add_counts, add_signed, read_counts, read_signed
from celosia.sketches.hashing.columns import Values, read_column
from celosia.sketches.hashing.family import HashFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

_MAX_CELLS = 2**32
_MAX_INT64 = 2**63 - 1


def table_shape(rows: int, width: int) -> tuple[int, int]:
    """Return the number of rows and of counters in each, or raise ``ParameterError``."""
    shape = exact_integer(rows, name="rows"), exact_integer(width, name="width")
    if shape[1] < 2 or shape[0] * shape[1] > _MAX_CELLS:
        raise ParameterError("sketches.table_shape_out_of_range", shape=safe_repr((rows, width)))
    return shape


class CounterTable(WeightedSketch):
    """``rows`` times ``width`` counters; subclasses define the estimates.

    >>> from celosia.sketches.frequency.count_min import CountMin
    >>> visits = CountMin(3, 100, seed=7)
    >>> visits.update(["sun", "rain", "sun"])
    >>> visits.update(["rain"], weights=-1)
    >>> visits.total, visits.volume, visits.memory
    (2, 4, 2400)
    """

    __slots__ = ("_counters", "_family", "_signs", "rows", "width")

    _NOT_ALIKE = "sketches.tables_not_alike"
    _KIND: ClassVar[Kind]
    _INDEPENDENCE: ClassVar[int] = 2
    _SIGNED: ClassVar[bool] = False

    rows: Final[int]
    """The number of rows: independent hash functions."""

    width: Final[int]
    """The number of counters in a row."""

    def __init__(self, rows: int, width: int, *, seed: int = 0) -> None:
        self._family, self._signs = self._families(rows, width, seed)
        super().__init__(self._family.seed)
        self.rows, self.width = self._family.rows, self._family.width
        self._counters = np.zeros((self.rows, self.width), dtype=np.int64)

    @classmethod
    def _families(cls, rows: int, width: int, seed: int) -> tuple[HashFamily, HashFamily | None]:
        family = HashFamily(*table_shape(rows, width), independence=cls._INDEPENDENCE, seed=seed)
        # Another seed: with the same one the signs would share coefficients with the columns.
        signs = HashFamily(rows, 2, independence=4, seed=family.seed ^ (2**64 - 1)) if cls._SIGNED else None
        return family, signs

    @classmethod
    def suggest(cls, error: Exact, failure: Exact, *, seed: int = 0) -> Self:
        """Return a small empty sketch whose ``relative_error(failure)`` is at most ``error``.

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> CountMin.suggest("0.01", "0.05")
        CountMin(3, 272)
        """
        wanted, chance = open_unit(error, name="error"), open_unit(failure, name="failure")
        return cls(*cls._shape_for(wanted, chance, error), seed=seed)

    @staticmethod
    @abstractmethod
    def _shape_for(wanted: float, chance: float, error: Exact) -> tuple[int, int]:
        """Return the rows and width of a small table for a relative error; ``error`` is as the caller gave it."""

    @abstractmethod
    def relative_error(self, failure: Exact) -> float:
        """Return the relative error that an estimate exceeds with probability at most ``failure``."""

    @property
    def memory(self) -> int:
        """The bytes of the counters."""
        return self._counters.nbytes

    @property
    def counters(self) -> "NDArray[np.int64]":
        """The table itself, to read."""
        view = self._counters.view()
        view.flags.writeable = False
        return view

    def update(self, values: Values, weights: "ArrayLike | None" = None) -> None:
        """Count values, each once or by its weight; a negative weight takes away.

        >>> from celosia.sketches.frequency.count_sketch import CountSketch
        >>> sales = CountSketch(5, 1_000, seed=7)
        >>> sales.update(["bread", "milk"], weights=[3, -2])
        >>> sales.estimate(["bread", "milk", "salt"]).tolist()
        [3.0, -2.0, 0.0]
        """
        column = read_column(values)
        amounts = read_weights(weights, len(column))
        total, volume = signed_sums(amounts, len(column))
        self._require_room(volume)
        start = 0
        for digests in digest_chunks(column, self.seed):
            part = amounts if amounts.size == 1 else amounts[start : start + digests.size]
            if self._signs is None:
                add_counts(self._family.coefficients, digests, part, self._counters)
            else:
                add_signed(self._family.coefficients, self._signs.coefficients, digests, part, self._counters)
            start += digests.size
        self._total += total
        self._volume += volume

    def merge(self, other: Self) -> Self:
        """Add another table of the same parameters into this one: the table of both streams together.

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> monday, tuesday = CountMin(3, 100), CountMin(3, 100)
        >>> monday.update(["sun"]), tuesday.update(["sun", "rain"])
        (None, None)
        >>> monday.merge(tuesday).estimate(["sun"]).tolist()
        [2]
        """
        self._require_alike(other)
        self._require_room(other._volume)
        self._counters += other._counters
        self._total += other._total
        self._volume += other._volume
        return self

    def serialize(self) -> bytes:
        """Return the table as bytes: rows, width, seed, total and volume, then the counters row by row.

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> CountMin.deserialize(CountMin(3, 100).serialize()) == CountMin(3, 100)
        True
        """
        fields = [self.rows, self.width, self.seed, unsigned_field(self._total), self._volume]
        return pack(self._KIND, fields, write_array(self._counters))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the table that ``serialize`` wrote.

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> CountMin.deserialize(CountMin(3, 100, seed=5).serialize())
        CountMin(3, 100, seed=5)
        """
        (rows, width, seed, total, volume), payload = unpack(data, kind=cls._KIND, fields=5)
        counters = read_array(payload, np.int64, (rows, width))
        return cls.from_counters(counters, seed=seed, total=signed_field(total), volume=volume)

    @classmethod
    def from_counters(cls, counters: "NDArray[np.int64]", *, seed: int, total: int, volume: int) -> Self:
        """Return the table with this state, if a stream can lead to it.

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> CountMin.from_counters(np.array([[0, 1], [1, 0]]), seed=0, total=1, volume=1)
        CountMin(2, 2)
        """
        if counters.dtype != np.int64 or counters.ndim != 2:
            raise FormatError("sketches.counters_not_integers")
        try:
            table = cls(counters.shape[0], counters.shape[1], seed=seed)
        except ParameterError as error:
            raise FormatError("sketches.table_bad_parameters", kind=cls.__name__) from error
        table._counters, table._total, table._volume = counters.copy(), total, volume
        if not table._consistent():
            raise FormatError("sketches.table_impossible_counters", kind=cls.__name__)
        return table

    def _consistent(self) -> bool:
        if self._volume > MAX_COUNTER or abs(self._total) > self._volume or (self._volume - self._total) % 2:
            return False
        if int(self._counters.min()) < -MAX_COUNTER:  # its absolute value might overflow 64 bits
            return False
        plain = self._signs is None
        for row in self._counters:
            missing = self._total - exact_sum(row)  # signs change a sum by twice a weight
            if exact_sum(np.abs(row)) > self._volume or (missing if plain else missing % 2):
                return False
        return True

    def cells(self, values: Values) -> "NDArray[np.int64]":
        """Return the counters of each value, times its signs if the sketch has any: an array (rows, values).

        >>> from celosia.sketches.frequency.count_min import CountMin
        >>> CountMin(3, 100).cells([1, 2]).shape
        (3, 2)
        """
        return np.concatenate([np.empty((self.rows, 0), dtype=np.int64), *self._chunks(values)], axis=1)

    def _chunks(self, values: Values) -> "Iterator[NDArray[np.int64]]":
        """Yield the cells of some values at a time."""
        for digests in digest_chunks(values, self.seed):
            out = np.empty((self.rows, digests.size), dtype=np.int64)
            if self._signs is None:
                read_counts(self._family.coefficients, digests, self._counters, out)
            else:
                read_signed(self._family.coefficients, self._signs.coefficients, digests, self._counters, out)
            yield out

    def _products(self, other: Self) -> "NDArray[np.float64]":
        """Return the inner product of each row with the same row of another table of the same parameters."""
        self._require_alike(other)
        # If no sum of products can leave the 64-bit integers, these are exact.
        kind = np.int64 if self._volume * other._volume <= _MAX_INT64 else np.float64
        left, right = self._counters.astype(kind, copy=False), other._counters.astype(kind, copy=False)
        products: NDArray[np.float64] = np.einsum("ij,ij->i", left, right).astype(np.float64)
        return products

    def _parameters(self) -> tuple[int, int, int]:
        return self.rows, self.width, self.seed

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, CounterTable):
            return NotImplemented
        return (
            self._parameters() == other._parameters()
            and (self._total, self._volume) == (other._total, other._volume)
            and bool(np.array_equal(self._counters, other._counters))
        )

    __hash__ = None  # type: ignore[assignment] # mutable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows}, {self.width}{f', seed={self.seed}' if self.seed else ''})"
