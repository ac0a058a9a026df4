"""Counting Bloom filters: sets with removal (Fan, Cao, Almeida and Broder 2000).

A counter takes the place of each bit of a Bloom filter: values add to their counters and, when removed, take away. A
counter that has reached its largest number stays there, because its true count is unknown: removal then leaves false
members behind, but never loses a true one. Not private: one value more or less changes up to k counters by one
each, k in all.
"""

from typing import TYPE_CHECKING, Final, Self

import numpy as np

from celosia.core.errors import FormatError, InputError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.sketch import ArraySketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.base.weights import read_weights
from celosia.sketches.hashing.columns import Column, Values, read_column
from celosia.sketches.membership.bits import add_to_counters, smallest_counters, take_counters
from celosia.sketches.membership.bloom import BloomFilter, best_shape, fill_bounds, shape_of_filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TYPES = {8: np.uint8, 16: np.uint16}


class CountingBloomFilter(ArraySketch):
    """A set of values in ``counters`` counters of 8 or 16 bits, with ``hashes`` of them for each value.

    >>> inside = CountingBloomFilter(1 << 12, 5)
    >>> inside.update(["sun", "rain", "rain"])
    >>> inside.remove(["sun"])
    0
    >>> inside.contains(["sun", "rain"]).tolist(), inside.count(["rain"]).tolist()
    ([False, True], [2])
    """

    __slots__ = ("_most", "counters", "hashes", "width")

    _NOT_ALIKE = "sketches.counting_filters_not_alike"

    counters: Final[int]
    """The number of counters."""

    hashes: Final[int]
    """The number of counters that a value has."""

    width: Final[int]
    """The bits of a counter."""

    def __init__(self, counters: int, hashes: int, *, width: int = 8, seed: int = 0) -> None:
        self.counters, self.hashes = shape_of_filter(counters, hashes)
        self.width = exact_integer(width, name="width")
        if self.width not in _TYPES:
            raise ParameterError("sketches.unknown_counter_width", width=safe_repr(width))
        self._most = 2**self.width - 1
        super().__init__(seed)
        self._state: NDArray[np.uint8] | NDArray[np.uint16] = np.zeros(self.counters, dtype=_TYPES[self.width])

    @classmethod
    def suggest(cls, error: Exact, *, items: int, width: int = 8, seed: int = 0) -> Self:
        """Return a small filter that has a false positive rate of at most ``error`` with ``items`` members.

        >>> CountingBloomFilter.suggest("0.01", items=1_000).memory
        9598
        """
        return cls(*best_shape(error, items), width=width, seed=seed)

    @property
    def saturated(self) -> int:
        """The number of counters that have reached their largest number, and stay there.

        >>> full = CountingBloomFilter(100, 2)
        >>> full.update([7], weights=[1_000])
        >>> full.saturated
        2
        """
        return int(np.count_nonzero(self._state == self._most))

    def update(self, values: Values, weights: "ArrayLike | None" = None) -> None:
        """Add values, each once or as often as its weight.

        >>> numbers = CountingBloomFilter(1_000, 5)
        >>> numbers.update([3, 4], weights=[2, 1])
        >>> numbers.count([3, 4]).tolist()
        [2, 1]
        """
        column = read_column(values)
        times, start = read_weights(weights, len(column)), 0
        if times.size and int(times.min()) < 0:
            raise InputError("sketches.negative_weights")
        for digests in digest_chunks(column, self.seed):
            part = times[start : start + digests.size] if times.size > 1 else times
            add_to_counters(digests, part, self._state, self.hashes, self._most)
            start += digests.size

    def remove(self, values: Values) -> int:
        """Remove values, each once; return the number of those that are certainly not members.

        Only remove added values: the removal of a false member lowers the counters of others.

        >>> numbers = CountingBloomFilter(1_000, 5)
        >>> numbers.update([3])
        >>> numbers.remove([3, 4])
        1
        """
        return sum(
            int(take_counters(digests, self._state, self.hashes, self._most))
            for digests in digest_chunks(values, self.seed)
        )

    def count(self, values: Values) -> "NDArray[np.int64]":
        """Return an upper bound on how often each value was added, unless a counter is saturated.

        >>> CountingBloomFilter(1_000, 5).count(["sun"]).tolist()
        [0]
        """
        column: Column = read_column(values)
        out, start = np.empty(len(column), dtype=np.int64), 0
        for digests in digest_chunks(column, self.seed):
            smallest_counters(digests, self._state, self.hashes, out[start : start + digests.size])
            start += digests.size
        return out

    def contains(self, values: Values) -> "NDArray[np.bool_]":
        """Return for each value whether it is probably in the set; False is certain.

        >>> CountingBloomFilter(1_000, 5).contains(["sun"]).tolist()
        [False]
        """
        return self.count(values) > 0

    def false_positive_rate(self) -> float:
        """Return the probability that a value outside the set is taken for a member.

        >>> CountingBloomFilter(1_000, 5).false_positive_rate()
        0.0
        """
        return float((np.count_nonzero(self._state) / self.counters) ** self.hashes)

    def estimate(self) -> float:
        """Return the number of different values, from the number of non-zero counters.

        >>> numbers = CountingBloomFilter(10_000, 5)
        >>> numbers.update([3, 4, 4])
        >>> round(numbers.estimate(), 1)
        2.0
        """
        return self.as_filter().estimate()

    def bounds(self, deviations: Exact = 2) -> tuple[float, float]:
        """Return bounds for the number of different values, at a number of standard deviations.

        >>> CountingBloomFilter(1_000, 5).bounds()
        (0.0, 0.0)
        """
        filled = int(np.count_nonzero(self._state))
        return fill_bounds(filled, self.counters, self.hashes, deviations)

    def as_filter(self) -> BloomFilter:
        """Return the plain filter of the present members: an eighth of the size, or less.

        >>> CountingBloomFilter(1_000, 5).as_filter()
        BloomFilter(1000, 5)
        """
        words = np.zeros((self.counters + 63) // 64, dtype="<u8")
        packed = np.packbits(self._state > 0, bitorder="little")
        words.view(np.uint8)[: packed.size] = packed
        return BloomFilter.from_words(words.astype(np.uint64), self.counters, self.hashes, seed=self.seed)

    def merge(self, other: Self) -> Self:
        """Add the members of another filter, with their counts.

        >>> a, b = CountingBloomFilter(1_000, 5), CountingBloomFilter(1_000, 5)
        >>> a.update(["sun"]), b.update(["sun"])
        (None, None)
        >>> a.merge(b).count(["sun"]).tolist()
        [2]
        """
        self._require_alike(other)
        room = self._state.dtype.type(self._most) - self._state
        self._state += np.minimum(other._state, room)
        return self

    def serialize(self) -> bytes:
        """Return the filter as bytes: counters, hashes, width and seed, then the counters one after another.

        >>> copy = CountingBloomFilter.deserialize(CountingBloomFilter(100, 3).serialize())
        >>> copy == CountingBloomFilter(100, 3)
        True
        """
        fields = [self.counters, self.hashes, self.width, self.seed]
        return pack(Kind.COUNTING_BLOOM, fields, write_array(self._state))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the filter that ``serialize`` wrote.

        >>> CountingBloomFilter.deserialize(CountingBloomFilter(100, 3, width=16).serialize())
        CountingBloomFilter(100, 3, width=16)
        """
        (size, hashes, width, seed), payload = unpack(data, kind=Kind.COUNTING_BLOOM, fields=4)
        if width not in _TYPES:
            raise FormatError("sketches.counting_bloom_unknown_width")
        counters = read_array(payload, _TYPES[width], (size,))
        try:
            filled = cls(size, hashes, width=width, seed=seed)
        except ParameterError as error:
            raise FormatError("sketches.counting_bloom_bad_parameters") from error
        filled._state = counters
        return filled

    def _parameters(self) -> tuple[int, int, int, int]:
        return self.counters, self.hashes, self.width, self.seed

    def __repr__(self) -> str:
        more = (f", width={self.width}" if self.width != 8 else "") + (f", seed={self.seed}" if self.seed else "")
        return f"CountingBloomFilter({self.counters}, {self.hashes}{more})"
