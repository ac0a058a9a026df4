"""Bloom filters: sets that answer "surely not" or "probably yes" (Bloom 1970).

Of m bits, each value sets k; a value all of whose bits are set is taken for a member, wrongly with probability
(1 - e^(-nk/m))^k after n members, which k = (m/n) ln 2 makes least. The k positions are the first k words of SplitMix64
(Steele, Lea and Flood 2014) started at the value's digest, each scaled to m by its upper half product: as good as
independent ones, where arithmetic progressions of two hashes repeat themselves in small filters. Not private: a filter
shows of every value whether it is a member. One value more or less changes up to k bits.
"""

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.relative_error import open_unit, standard_deviations
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.sketch import ArraySketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.hashing.columns import Values, read_column
from celosia.sketches.membership.bits import contains_all, count_bits, set_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_BITS = 2**32
_MAX_HASHES = 64


class BloomFilter(ArraySketch):
    """A set of values in ``bits`` bits, with ``hashes`` of them for each value.

    >>> seen = BloomFilter(1 << 16, 7, seed=1)
    >>> seen.update(["sun", "rain"])
    >>> seen.contains(["sun", "snow"]).tolist()
    [True, False]
    >>> round(seen.estimate(), 2)
    2.0
    """

    __slots__ = ("bits", "hashes")

    _NOT_ALIKE = "sketches.filters_not_alike"

    bits: Final[int]
    """The number of bits, m."""

    hashes: Final[int]
    """The number of bits that a value sets, k."""

    def __init__(self, bits: int, hashes: int, *, seed: int = 0) -> None:
        self.bits, self.hashes = shape_of_filter(bits, hashes)
        super().__init__(seed)
        self._state = np.zeros((self.bits + 63) // 64, dtype=np.uint64)

    @classmethod
    def suggest(cls, error: Exact, *, items: int, seed: int = 0) -> Self:
        """Return a small filter that has a false positive rate of at most ``error`` with ``items`` members.

        >>> BloomFilter.suggest("0.01", items=1_000)
        BloomFilter(9598, 7)
        """
        return cls(*best_shape(error, items), seed=seed)

    @property
    def fill(self) -> float:
        """The share of bits that are set.

        >>> BloomFilter(100, 3).fill
        0.0
        """
        return count_bits(self._state) / self.bits

    def update(self, values: Values) -> None:
        """Put values into the set.

        >>> numbers = BloomFilter(1_000, 5)
        >>> numbers.update(range(50))
        >>> bool(numbers.contains(range(50)).all())
        True
        """
        for digests in digest_chunks(values, self.seed):
            set_bits(digests, self._state, self.bits, self.hashes)

    def contains(self, values: Values) -> "NDArray[np.bool_]":
        """Return for each value whether it is probably in the set; False is certain.

        >>> BloomFilter(1_000, 5).contains([7]).tolist()
        [False]
        """
        column = read_column(values)
        out, start = np.empty(len(column), dtype=np.bool_), 0
        for digests in digest_chunks(column, self.seed):
            contains_all(digests, self._state, self.bits, self.hashes, out[start : start + digests.size])
            start += digests.size
        return out

    def false_positive_rate(self) -> float:
        """Return the probability that a value outside the set is taken for a member.

        >>> half = BloomFilter.suggest("0.01", items=1_000)
        >>> half.update(range(1_000))
        >>> round(half.false_positive_rate(), 3)
        0.01
        """
        return self.fill**self.hashes

    def estimate(self) -> float:
        """Return the number of different values, from the number of set bits; infinite if all are set.

        Swamidass and Baldi 2007.

        >>> half = BloomFilter.suggest("0.01", items=1_000)
        >>> half.update(list(range(500)) * 3)
        >>> round(half.estimate())
        508
        """
        return _members(count_bits(self._state), self.bits, self.hashes)

    def bounds(self, deviations: Exact = 2) -> tuple[float, float]:
        """Return bounds for the number of different values, at a number of standard deviations.

        >>> half = BloomFilter.suggest("0.01", items=1_000)
        >>> half.update(range(500))
        >>> low, high = half.bounds(3)
        >>> low < 500 < high
        True
        """
        return fill_bounds(count_bits(self._state), self.bits, self.hashes, deviations)

    def estimate_union(self, other: Self) -> float:
        """Return the number of different values in either of two sets.

        >>> few, many = BloomFilter(10_000, 5), BloomFilter(10_000, 5)
        >>> few.update(range(10)), many.update(range(100))
        (None, None)
        >>> round(few.estimate_union(many)) == round(many.estimate())
        True
        """
        self._require_alike(other)
        return _members(count_bits(self._state | other._state), self.bits, self.hashes)

    def estimate_intersection(self, other: Self) -> float:
        """Return the number of different values in both of two sets: the sum of their sizes less that of their union.

        Its error is that of these larger numbers; an estimate below 0 becomes 0.

        >>> evens, thirds = BloomFilter(100_000, 5), BloomFilter(100_000, 5)
        >>> evens.update(range(0, 6_000, 2)), thirds.update(range(0, 6_000, 3))
        (None, None)
        >>> abs(evens.estimate_intersection(thirds) - 1_000) < 40
        True
        """
        either = self.estimate_union(other)
        shared = self.estimate() + other.estimate() - either
        return shared if math.isnan(shared) else max(shared, 0.0)

    def merge(self, other: Self) -> Self:
        """Put the members of another filter into this one: the union, the same as if they were added one by one.

        >>> a, b = BloomFilter(1_000, 5), BloomFilter(1_000, 5)
        >>> b.update(["sun"])
        >>> a.merge(b).contains(["sun"]).tolist()
        [True]
        """
        self._require_alike(other)
        self._state |= other._state
        return self

    def serialize(self) -> bytes:
        """Return the filter as bytes: bits, hashes and seed, then the bits, in words of 64 from the lowest bit up.

        >>> BloomFilter.deserialize(BloomFilter(100, 3).serialize()) == BloomFilter(100, 3)
        True
        """
        return pack(Kind.BLOOM, [self.bits, self.hashes, self.seed], write_array(self._state))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the filter that ``serialize`` wrote.

        >>> BloomFilter.deserialize(BloomFilter(100, 3, seed=5).serialize())
        BloomFilter(100, 3, seed=5)
        """
        (bits, hashes, seed), payload = unpack(data, kind=Kind.BLOOM, fields=3)
        try:
            shape_of_filter(bits, hashes)
        except ParameterError as error:
            raise FormatError("sketches.bloom_bad_parameters") from error
        return cls.from_words(read_array(payload, np.uint64, ((bits + 63) // 64,)), bits, hashes, seed=seed)

    @classmethod
    def from_words(cls, words: "NDArray[np.uint64]", bits: int, hashes: int, *, seed: int = 0) -> Self:
        """Return the filter whose bits are these, in words of 64 from the lowest bit up.

        >>> BloomFilter.from_words(np.array([5], dtype=np.uint64), 64, 2).fill
        0.03125
        """
        size, _ = shape_of_filter(bits, hashes)
        if (
            words.dtype != np.uint64
            or words.shape != ((size + 63) // 64,)
            or (size % 64 and int(words[-1]) >> (size % 64))
        ):
            raise FormatError("sketches.bad_bloom_words")
        filled = cls(size, hashes, seed=seed)
        filled._state = words.copy()
        return filled

    def _parameters(self) -> tuple[int, int, int]:
        return self.bits, self.hashes, self.seed

    def __repr__(self) -> str:
        return f"BloomFilter({self.bits}, {self.hashes}{f', seed={self.seed}' if self.seed else ''})"


def shape_of_filter(bits: int, hashes: int) -> tuple[int, int]:
    """Return the numbers of bits and of hashes of a filter, or raise ``ParameterError``."""
    shape = exact_integer(bits, name="bits"), exact_integer(hashes, name="hashes")
    if shape[0] > _MAX_BITS:
        raise ParameterError("sketches.too_many_bits", bits=safe_repr(bits))
    if shape[1] > _MAX_HASHES:
        raise ParameterError("sketches.too_many_hashes", most=_MAX_HASHES, hashes=safe_repr(hashes))
    return shape


def best_shape(error: Exact, items: int) -> tuple[int, int]:
    """Return numbers of bits and of hashes with a false positive rate of at most ``error``, and few spare bits."""
    rate, count = open_unit(error, name="error"), exact_integer(items, name="items")
    ideal = min(max(-math.log2(rate), 1.0), float(_MAX_HASHES))
    bits, hashes = min(
        (math.ceil(-hashes * count / math.log1p(-(rate ** (1 / hashes)))), hashes)
        for hashes in (math.floor(ideal), math.ceil(ideal))
    )
    least, _ = shape_of_filter(bits, hashes)
    most = least  # the classical rate is a little too low: a few bits more, or many if there are few members
    while _strangers_taken(most, hashes, count) > rate:
        most *= 2
    more = bisect_left(range(least, most), -rate, key=lambda size: -_strangers_taken(size, hashes, count))
    return shape_of_filter(least + more, hashes)


def _strangers_taken(bits: int, hashes: int, items: int) -> float:
    """Return the rate of false positives with ideal hash functions: a bound from above, and close.

    Some positions of a non-member may coincide. Of d different ones, each is set with the same probability q, and
    all with at most q^d: the more values set one bit, the fewer can set another (Joag-Dev and Proschan 1983).
    """
    if bits == 1:
        return 1.0
    again = np.arange(hashes + 1) / bits
    different = np.zeros(hashes + 1)
    different[0] = 1.0
    for _ in range(hashes):
        different = different * again + np.concatenate([[0.0], (different * (1 - again))[:-1]])
    one = -math.expm1(items * hashes * math.log1p(-1 / bits))
    return float(different @ one ** np.arange(hashes + 1))


def fill_bounds(filled: int, places: int, hashes: int, deviations: Exact) -> tuple[float, float]:
    """Return bounds for the number of values that filled ``filled`` of the places.

    With load r = n·hashes/places the number of filled places has the variance places·e^(-r)·(1 - (1 + r)·e^(-r))
    (Whang, Vander-Zanden and Taylor 1990); each bound is a number of values from which the observed fill is the given
    number of standard deviations away.
    """
    width, middle = standard_deviations(deviations), _members(filled, places, hashes)
    if filled == 0:
        return 0.0, 0.0
    beyond = 4 * places / hashes * (math.log(places) + 8)  # more values, and not one place would be empty
    least = filled / hashes  # a value fills at most that many places
    low = _crossing(filled, places, hashes, -width, (least, min(middle, beyond)))
    return low, math.inf if filled == places else _crossing(filled, places, hashes, width, (middle, beyond))


def _crossing(filled: int, places: int, hashes: int, width: float, within: tuple[float, float]) -> float:
    """Return the number of values at which the expected fill, less ``width`` of its deviations, is the observed one."""
    low, high = within
    for _ in range(100):
        middle = (low + high) / 2
        empty = math.exp(-middle * hashes / places)
        spread = places * empty * (1 - (1 + middle * hashes / places) * empty)
        if places * (1 - empty) - width * math.sqrt(max(spread, 0.0)) < filled:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _members(filled: int, places: int, hashes: int) -> float:
    return math.inf if filled >= places else -places / hashes * math.log1p(-filled / places)
