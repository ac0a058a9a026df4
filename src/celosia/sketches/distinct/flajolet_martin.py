"""Flajolet and Martin's probabilistic counting with stochastic averaging (PCSA, 1985).

A digest's upper bits choose one of m bitmaps, and the number of zeros that follow chooses a bit in it, half as often
for every place: a value sets exactly one bit. The classical estimate reads the lowest place that is still 0 in every
bitmap (relative error 0.78/√m); the likelihood of all bits gives 0.65/√m, and ``estimate`` uses it. Not private; but
one value more or less changes at most one bit, on which ``celosia.statistics.NoisyDistinct`` builds.
"""

import math
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numba import njit

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.relative_error import relative_bounds, size_for
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.sketch import ArraySketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.distinct.bit_likelihood import BitLikelihood
from celosia.sketches.hashing.columns import Values
from celosia.sketches.membership.bits import count_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_BITMAPS = 2**21
_LOWEST_ZERO = 0.78
_ALL_BITS = math.sqrt(6 * math.log(2)) / math.pi
_PHI = 0.77351  # of Flajolet and Martin
_SMALL = 1.75  # Scheuermann and Mauve 2007: the correction of few values


class FlajoletMartin(ArraySketch):
    """An estimate of the number of different values from a power of two of ``bitmaps``.

    >>> visitors = FlajoletMartin(1024)
    >>> visitors.update(range(100_000))
    >>> round(visitors.estimate()), round(visitors.classical()), round(visitors.error, 3)
    (100023, 99199, 0.02)
    """

    __slots__ = ("bitmaps", "levels")

    bitmaps: Final[int]
    """The number of bitmaps, m."""

    levels: Final[int]
    """The number of bits of a bitmap that can be set."""

    def __init__(self, bitmaps: int = 1024, *, seed: int = 0) -> None:
        self.bitmaps = _check_bitmaps(bitmaps)
        super().__init__(seed)
        self.levels = 65 - self._precision
        self._state: NDArray[np.uint64] = np.zeros(self.bitmaps, dtype=np.uint64)

    @classmethod
    def suggest(cls, error: Exact, failure: Exact = "0.05", *, seed: int = 0) -> Self:
        """Return the smallest sketch whose relative error exceeds ``error`` with probability ``failure``.

        >>> FlajoletMartin.suggest("0.02")
        FlajoletMartin(4096)
        """
        return cls(1 << max((size_for(_ALL_BITS, error, failure) - 1).bit_length(), 1), seed=seed)

    @property
    def error(self) -> float:
        """The relative standard error of ``estimate``, from about as many values as there are bitmaps on."""
        return _ALL_BITS / math.sqrt(self.bitmaps)

    @property
    def _precision(self) -> int:
        return self.bitmaps.bit_length() - 1

    def update(self, values: Values) -> None:
        """Add values.

        >>> words = FlajoletMartin(1024)
        >>> words.update(["sun", "rain", "sun"])
        >>> round(words.estimate(), 2)
        2.0
        """
        for digests in digest_chunks(values, self.seed):
            _set(digests, self._state, self._precision)

    def ones(self, levels: int | None = None) -> "NDArray[np.int64]":
        """Return the number of bitmaps with the bit of each level set; with fewer ``levels``, the last is the rest.

        >>> words = FlajoletMartin(64)
        >>> words.update(range(1_000))
        >>> words.ones()[:6].tolist()
        [64, 64, 49, 45, 33, 13]
        """
        counts: NDArray[np.int64] = self.table(levels).sum(axis=0, dtype=np.int64)
        return counts

    def table(self, levels: int | None = None) -> "NDArray[np.bool_]":
        """Return the bits, bitmaps by levels; with fewer ``levels``, the last is the rest.

        >>> FlajoletMartin(64).table(24).shape
        (64, 24)
        """
        wanted = self.levels if levels is None else min(exact_integer(levels, name="levels"), self.levels)
        places = np.arange(wanted, dtype=np.uint64)
        table: NDArray[np.bool_] = (self._state[:, None] >> places) & np.uint64(1) != 0
        table[:, -1] = self._state >> places[-1] != 0
        return table

    def estimate(self) -> float:
        """Return the number of different values, by the likelihood of all bits.

        >>> FlajoletMartin(1024).estimate()
        0.0
        """
        return BitLikelihood(ones=self.ones(), bits=self.bitmaps, chances=self.chances()).maximum()

    def classical(self) -> float:
        """Return the estimate of Flajolet and Martin, put right for few values as by Scheuermann and Mauve (2007).

        >>> FlajoletMartin(1024).classical()
        0.0
        """
        # The lowest 0 is as high as there are 1s before it: the lowest set bit of the complement.
        gaps = ~self._state
        lowest = np.log2((gaps & (~gaps + np.uint64(1))).astype(np.float64))
        mean = float(lowest.mean())
        return float(self.bitmaps / _PHI * (2.0**mean - 2.0 ** (-_SMALL * mean)))

    def chances(self, levels: int | None = None) -> "NDArray[np.float64]":
        """Return the probability that a value sets one given bit, for each level.

        >>> FlajoletMartin(4).chances(3).tolist()
        [0.125, 0.0625, 0.0625]
        """
        wanted = self.levels if levels is None else min(exact_integer(levels, name="levels"), self.levels)
        chances: NDArray[np.float64] = np.exp2(-np.arange(1.0, wanted + 1)) / self.bitmaps
        chances[-1] = 2.0 ** -(wanted - 1) / self.bitmaps
        return chances

    def bounds(self, deviations: Exact = 2) -> tuple[float, float]:
        """Return bounds for the number of different values, at a number of standard deviations.

        >>> visitors = FlajoletMartin(1024)
        >>> visitors.update(range(100_000))
        >>> low, high = visitors.bounds(3)
        >>> low < 100_000 < high
        True
        """
        return relative_bounds(self.estimate(), self.error, float(count_bits(self._state)), deviations)

    def merge(self, other: Self) -> Self:
        """Merge another sketch: the result is as if this one had seen both streams.

        >>> a, b = FlajoletMartin(64), FlajoletMartin(64)
        >>> b.update(["sun"])
        >>> a.merge(b) == b
        True
        """
        self._require_alike(other)
        self._state |= other._state
        return self

    def serialize(self) -> bytes:
        """Return the sketch as bytes: the number of bitmaps and the seed, then the bitmaps, 64 bits each.

        >>> len(FlajoletMartin(64).serialize())
        552
        """
        return pack(Kind.FLAJOLET_MARTIN, [self.bitmaps, self.seed], write_array(self._state))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the sketch that ``serialize`` wrote.

        >>> FlajoletMartin.deserialize(FlajoletMartin(64, seed=5).serialize())
        FlajoletMartin(64, seed=5)
        """
        (bitmaps, seed), payload = unpack(data, kind=Kind.FLAJOLET_MARTIN, fields=2)
        maps = read_array(payload, np.uint64, (bitmaps,))
        try:
            sketch = cls(bitmaps, seed=seed)
        except ParameterError as error:
            raise FormatError("sketches.flajolet_martin_bad_parameters") from error
        if sketch.levels < 64 and np.any(maps >> np.uint64(sketch.levels)):
            raise FormatError("sketches.flajolet_martin_impossible_bits")
        sketch._state = maps
        return sketch

    def _parameters(self) -> tuple[int, int]:
        return self.bitmaps, self.seed

    def __repr__(self) -> str:
        return f"FlajoletMartin({self.bitmaps}{f', seed={self.seed}' if self.seed else ''})"


@njit(cache=True, nogil=True)
def _set(digests: "NDArray[np.uint64]", maps: "NDArray[np.uint64]", precision: int) -> None:
    shift, skip, last = np.uint64(64 - precision), np.uint64(precision), 64 - precision
    for i in range(digests.size):
        level, rest = 0, digests[i] << skip
        while level < last and not (rest >> np.uint64(63 - level)) & np.uint64(1):
            level += 1
        maps[digests[i] >> shift] |= np.uint64(1) << np.uint64(level)


def _check_bitmaps(bitmaps: int) -> int:
    number = exact_integer(bitmaps, name="bitmaps", least=2)
    if number > _MAX_BITMAPS or number & (number - 1):
        raise ParameterError("sketches.bitmaps_not_a_power", bitmaps=safe_repr(bitmaps))
    return number
