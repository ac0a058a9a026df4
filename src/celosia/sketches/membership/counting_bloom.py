"""Counting Bloom filters: sets with removal (Fan, Cao, Almeida and Broder 2000).

A counter takes the place of each bit of a Bloom filter: values add to their counters and, when removed, take away. A
counter that has reached its largest number stays there, because its true count is unknown: removal then leaves false
members behind, but never loses a true one. Not private: one value more or less changes up to k counters by one
each, k in all.
"""

from typing import TYPE_CHECKING, Self

import numpy as np

from celosia.core.errors import FormatError, InputError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.base.weights import read_weights
from celosia.sketches.hashing.columns import Column, Values, read_column
from celosia.sketches.hashing.digest import as_seed
from celosia.sketches.membership.bits import add_to_counters, smallest_counters, take_counters
from celosia.sketches.membership.bloom import BloomFilter, best_shape, fill_bounds, shape_of_filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TYPES = {8: np.uint8, 16: np.uint16}


class CountingBloomFilter:
    """A set of values in ``counters`` counters of 8 or 16 bits, with ``hashes`` of them for each value.

    >>> inside = CountingBloomFilter(1 << 12, 5)
    >>> inside.update(["sun", "rain", "rain"])
    >>> inside.remove(["sun"])
    0
    >>> inside.contains(["sun", "rain"]).tolist(), inside.count(["rain"]).tolist()
    ([False, True], [2])
    """

    __slots__ = ("_counters", "_hashes", "_most", "_seed", "_width")

    def __init__(self, counters: int, hashes: int, *, width: int = 8, seed: int = 0) -> None:
        size, self._hashes = shape_of_filter(counters, hashes)
        self._width = exact_integer(width, name="width")
        if self._width not in _TYPES:
            raise ParameterError(f"width must be 8 or 16 bits, not {safe_repr(width)}.")
        self._most = 2**self._width - 1
        self._seed = int(as_seed(seed))
        self._counters: NDArray[np.uint8] | NDArray[np.uint16] = np.zeros(size, dtype=_TYPES[self._width])

    @classmethod
    def suggest(cls, error: Exact, *, items: int, width: int = 8, seed: int = 0) -> Self:
        """Return a small filter that has a false positive rate of at most ``error`` with ``items`` members.

        >>> CountingBloomFilter.suggest("0.01", items=1_000).memory
        9598
        """
        return cls(*best_shape(error, items), width=width, seed=seed)

    @property
    def counters(self) -> int:
        """The number of counters."""
        return self._counters.size

    @property
    def hashes(self) -> int:
        """The number of counters that a value has."""
        return self._hashes

    @property
    def width(self) -> int:
        """The bits of a counter."""
        return self._width

    @property
    def seed(self) -> int:
        """The seed of the digests."""
        return self._seed

    @property
    def memory(self) -> int:
        """The bytes of the state."""
        return self._counters.nbytes

    @property
    def saturated(self) -> int:
        """The number of counters that have reached their largest number, and stay there.

        >>> full = CountingBloomFilter(100, 2)
        >>> full.update([7], weights=[1_000])
        >>> full.saturated
        2
        """
        return int(np.count_nonzero(self._counters == self._most))

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
            raise InputError("weights must be 0 or greater: to take values out, use remove.")
        for digests in digest_chunks(column, self._seed):
            part = times[start : start + digests.size] if times.size > 1 else times
            add_to_counters(digests, part, self._counters, self._hashes, self._most)
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
            int(take_counters(digests, self._counters, self._hashes, self._most))
            for digests in digest_chunks(values, self._seed)
        )

    def count(self, values: Values) -> "NDArray[np.int64]":
        """Return an upper bound on how often each value was added, unless a counter is saturated.

        >>> CountingBloomFilter(1_000, 5).count(["sun"]).tolist()
        [0]
        """
        column: Column = read_column(values)
        out, start = np.empty(len(column), dtype=np.int64), 0
        for digests in digest_chunks(column, self._seed):
            smallest_counters(digests, self._counters, self._hashes, out[start : start + digests.size])
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
        return float((np.count_nonzero(self._counters) / self._counters.size) ** self._hashes)

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
        filled = int(np.count_nonzero(self._counters))
        return fill_bounds(filled, self._counters.size, self._hashes, deviations)

    def as_filter(self) -> BloomFilter:
        """Return the plain filter of the present members: an eighth of the size, or less.

        >>> CountingBloomFilter(1_000, 5).as_filter()
        BloomFilter(1000, 5)
        """
        words = np.zeros((self._counters.size + 63) // 64, dtype="<u8")
        packed = np.packbits(self._counters > 0, bitorder="little")
        words.view(np.uint8)[: packed.size] = packed
        return BloomFilter.from_words(words.astype(np.uint64), self._counters.size, self._hashes, seed=self._seed)

    def merge(self, other: Self) -> Self:
        """Add the members of another filter, with their counts.

        >>> a, b = CountingBloomFilter(1_000, 5), CountingBloomFilter(1_000, 5)
        >>> a.update(["sun"]), b.update(["sun"])
        (None, None)
        >>> a.merge(b).count(["sun"]).tolist()
        [2]
        """
        if type(other) is not type(self) or self._parameters() != other._parameters():
            raise ParameterError(
                f"Only a filter with the same parameters can be merged into {self!r}, not {safe_repr(other)}."
            )
        room = self._counters.dtype.type(self._most) - self._counters
        self._counters += np.minimum(other._counters, room)
        return self

    def serialize(self) -> bytes:
        """Return the filter as bytes: counters, hashes, width and seed, then the counters one after another.

        >>> copy = CountingBloomFilter.deserialize(CountingBloomFilter(100, 3).serialize())
        >>> copy == CountingBloomFilter(100, 3)
        True
        """
        fields = [self._counters.size, self._hashes, self._width, self._seed]
        return pack(Kind.COUNTING_BLOOM, fields, write_array(self._counters))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the filter that ``serialize`` wrote.

        >>> CountingBloomFilter.deserialize(CountingBloomFilter(100, 3, width=16).serialize())
        CountingBloomFilter(100, 3, width=16)
        """
        (size, hashes, width, seed), payload = unpack(data, kind=Kind.COUNTING_BLOOM, fields=4)
        if width not in _TYPES:
            raise FormatError("These bytes are not a counting Bloom filter: its counters have no width that is known.")
        counters = read_array(payload, _TYPES[width], (size,))
        try:
            filled = cls(size, hashes, width=width, seed=seed)
        except ParameterError as error:
            raise FormatError(
                "These bytes are not a counting Bloom filter: its parameters are out of range."
            ) from error
        filled._counters = counters
        return filled

    def _parameters(self) -> tuple[int, int, int, int]:
        return self._counters.size, self._hashes, self._width, self._seed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountingBloomFilter):
            return NotImplemented
        return self._parameters() == other._parameters() and bool(np.array_equal(self._counters, other._counters))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = (f", width={self._width}" if self._width != 8 else "") + (f", seed={self._seed}" if self._seed else "")
        return f"CountingBloomFilter({self._counters.size}, {self._hashes}{more})"
