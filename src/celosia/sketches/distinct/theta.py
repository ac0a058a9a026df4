"""Theta sketches: the smallest digests of a set, and sets made of sets (Dasgupta, Lang, Rhodes and Thaler 2016).

A sketch keeps the ``size`` smallest different digests (k minimum values, Bar-Yossef et al. 2002); theta is the next
one, as a share of all digests. For every stream, the kept digests are a sample of its values at the rate theta, so that
their number over theta estimates the number of values, with a relative error of 1/√(size - 1); unions, intersections
and differences of samples are samples of those of the sets. Not private: one value can replace another and move theta.
"""

import math
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.sketches.base.relative_error import size_for, standard_deviations, tail_beyond
from celosia.sketches.base.serial import Kind, pack, read_array, unpack, write_array
from celosia.sketches.base.sketch import Sketch
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.distinct.sample_bounds import share_bounds, size_bounds
from celosia.sketches.hashing.columns import Values
from celosia.sketches.hashing.digest_set import DigestSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MIN_SIZE, _MAX_SIZE = 16, 2**26
_ALL = 2**64


class Theta(Sketch):
    """A set of values by its ``size`` smallest digests; ``a | b``, ``a & b`` and ``a - b`` are sets too.

    >>> monday, tuesday = Theta(4096), Theta(4096)
    >>> monday.update(range(30_000)), tuesday.update(range(20_000, 60_000))
    (None, None)
    >>> [round(days.estimate()) for days in (monday, monday | tuesday, monday & tuesday, monday - tuesday)]
    [30043, 59627, 9758, 20382]
    """

    __slots__ = ("_kept", "_theta", "size")

    size: Final[int]
    """The most digests that are kept."""

    def __init__(self, size: int = 4096, *, seed: int = 0) -> None:
        self.size = _check_size(size)
        super().__init__(seed)
        self._theta = _ALL  # kept digests are below; 2^64 stands for 1
        self._kept = DigestSet(2 * self.size)

    @classmethod
    def suggest(cls, error: Exact, failure: Exact = "0.05", *, seed: int = 0) -> Self:
        """Return the smallest sketch whose relative error exceeds ``error`` with probability ``failure``.

        >>> Theta.suggest("0.02")
        Theta(9605)
        """
        return cls(max(size_for(1.0, error, failure) + 1, _MIN_SIZE), seed=seed)

    @property
    def memory(self) -> int:
        """The bytes of the state: up to twice the size, so that it is not trimmed at every value."""
        return self._kept.memory

    @property
    def theta(self) -> float:
        """The rate at which values are sampled: 1 until there are more of them than ``size``."""
        self._cut()
        return self._theta / _ALL

    @property
    def error(self) -> float:
        """The relative standard error of the estimate of a stream; 0 while all its values are kept."""
        return 0.0 if self.theta == 1 else 1 / math.sqrt(self.size - 1)

    def update(self, values: Values) -> None:
        """Add values.

        >>> words = Theta()
        >>> words.update(["sun", "rain", "sun"])
        >>> words.estimate()
        2.0
        """
        for digests in digest_chunks(values, self.seed):
            done = self._kept.add(digests, self._theta - 1)
            while done < digests.size:
                self._cut()
                done += self._kept.add(digests[done:], self._theta - 1)

    def _cut(self) -> None:
        """Keep the smallest digests, and set theta to the next one."""
        if len(self._kept) > self.size:
            members = self._kept.members()
            self._theta = int(members[self.size])
            self._kept.replace(members[: self.size])

    def _sample(self) -> "NDArray[np.uint64]":
        self._cut()
        return self._kept.members()

    def estimate(self) -> float:
        """Return the number of different values, without bias.

        >>> Theta().estimate()
        0.0
        """
        self._cut()
        return len(self._kept) / (self._theta / _ALL)

    def bounds(self, deviations: Exact = 2) -> tuple[float, float]:
        """Return bounds for the number of values, with the confidence of a number of normal standard deviations.

        The number of kept digests is binomial with rate theta: the bounds are those of Clopper and Pearson (1934), and
        hold for small intersections too.

        >>> visitors = Theta(1024)
        >>> visitors.update(range(100_000))
        >>> low, high = visitors.bounds(2)
        >>> low < 100_000 < high
        True
        """
        self._cut()
        tail = tail_beyond(standard_deviations(deviations))
        return size_bounds(len(self._kept), self._theta / _ALL, tail)

    def merge(self, other: Self) -> Self:
        """Merge another sketch: the result is as if this one had seen both streams.

        >>> a, b = Theta(), Theta()
        >>> b.update(["sun"])
        >>> a.merge(b) == b
        True
        """
        self._require_alike(other)
        members, theta = self._union(other)
        self._theta = theta
        self._kept = DigestSet(2 * self.size, members)
        self._cut()
        return self

    def __or__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return self._of(min(self.size, other.size), self.seed, *self._union(other))

    def __and__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        theta = self._common_theta(other)
        shared = np.intersect1d(self._sample(), other._sample(), assume_unique=True)
        return self._of(min(self.size, other.size), self.seed, shared, theta)  # it is below both thetas

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        theta = self._common_theta(other)
        alone = np.setdiff1d(self._sample(), other._sample(), assume_unique=True)
        return self._of(min(self.size, other.size), self.seed, _below(alone, theta), theta)

    def _common_theta(self, other: Self) -> int:
        if type(other) is not type(self) or self.seed != other.seed:
            raise ParameterError("sketches.theta_seeds_differ", sketch=repr(self), other=safe_repr(other))
        self._cut()
        other._cut()
        return min(self._theta, other._theta)

    def _union(self, other: Self) -> "tuple[NDArray[np.uint64], int]":
        theta = self._common_theta(other)
        return _below(np.union1d(self._sample(), other._sample()), theta), theta

    @classmethod
    def _of(cls, size: int, seed: int, members: "NDArray[np.uint64]", theta: int) -> Self:
        """Return the sketch of a sample, at most twice its size, at the rate theta."""
        made = cls(size, seed=seed)
        made._theta = theta
        made._kept = DigestSet(max(2 * size, members.size), members)
        made._cut()
        return made

    def jaccard(self, other: Self, deviations: Exact = 2) -> tuple[float, float, float]:
        """Return the Jaccard similarity of two sets: the lower bound, the estimate, the upper bound.

        >>> a, b = Theta(1024), Theta(1024)
        >>> a.update(range(30_000)), b.update(range(10_000, 40_000))
        (None, None)
        >>> low, middle, high = a.jaccard(b)
        >>> low < 0.5 < high
        True
        """
        tail = tail_beyond(standard_deviations(deviations))
        either, theta = self._union(other)
        smaller = min(self.size, other.size)
        either = either[:smaller]
        if either.size == 0:
            return 0.0, 1.0, 1.0  # two empty sketches are equal, but may be small parts of different sets
        shared = np.isin(either, np.intersect1d(self._sample(), other._sample(), assume_unique=True))
        common = int(np.count_nonzero(shared))
        whole_sets = theta == _ALL and either.size < smaller
        low, high = (common / either.size,) * 2 if whole_sets else share_bounds(common, either.size, tail)
        return low, common / either.size, high

    def serialize(self) -> bytes:
        """Return the sketch as bytes: size, seed, and the largest digest below theta; then the digests, increasing.

        >>> len(Theta().serialize())
        48
        """
        sample = self._sample()
        return pack(Kind.THETA, [self.size, self.seed, self._theta - 1], write_array(sample))

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        """Return the sketch that ``serialize`` wrote.

        >>> Theta.deserialize(Theta(64, seed=5).serialize())
        Theta(64, seed=5)
        """
        (size, seed, below), payload = unpack(data, kind=Kind.THETA, fields=3)
        members = read_array(payload, np.uint64, (len(payload) // 8,))
        if not _MIN_SIZE <= size <= _MAX_SIZE or members.size > size:
            raise FormatError("sketches.theta_bad_parameters")
        if np.any(members[1:] <= members[:-1]) or (members.size and int(members[-1]) > below):
            raise FormatError("sketches.theta_bad_digests")
        return cls._of(size, seed, members, below + 1)

    def _parameters(self) -> tuple[int, int]:
        return self.size, self.seed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Theta):
            return NotImplemented
        mine, theirs = self._sample(), other._sample()
        alike = self._parameters() == other._parameters() and self._theta == other._theta
        return alike and bool(np.array_equal(mine, theirs))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Theta({self.size}{f', seed={self.seed}' if self.seed else ''})"


def _check_size(size: int) -> int:
    number = exact_integer(size, name="size", least=_MIN_SIZE)
    if number > _MAX_SIZE:
        raise ParameterError("sketches.theta_size_too_large", size=safe_repr(size))
    return number


def _below(members: "NDArray[np.uint64]", theta: int) -> "NDArray[np.uint64]":
    return members if theta == _ALL else members[members < theta]
