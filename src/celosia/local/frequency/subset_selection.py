"""Subset selection: report a set of values that contains the true one with a known probability.

A report is a subset of fixed size w of the k values; those with the true value are e^epsilon times as likely as
those without. With w about k / (e^epsilon + 1) no protocol has a smaller variance for all values together (Ye and Barg
2018); the size here is the integer with the smaller exact variance, and at least 1, where it is direct encoding.
See ``proofs/subset-selection.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.local.base.bit_counts import add_bits, count_ones
from celosia.local.base.checks import exact_total
from celosia.local.base.packing import Bytes, Words, pack_vector
from celosia.local.base.protocol import MAX_OUTPUTS, State
from celosia.local.base.support_probabilities import BitVectorProtocol, SupportProbabilities
from celosia.local.base.values import Domain, exact_domain
from celosia.noise.bernoulli import bernoulli_odds, flip_odds
from celosia.noise.packed import packed_bernoulli
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_NUMBERS = 1 << 15  # drawn at once: they stay in the cache
_PARTS = 32  # in which a share is rounded down


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class SubsetSelection(BitVectorProtocol):
    """Subset selection over a known domain.

    See ``celosia.local`` for ``domain`` and ``epsilon``. ``chosen`` is the size of the subsets, from 1 to k - 1; the
    default has the least variance.

    >>> from celosia.noise import Seeded
    >>> protocol = SubsetSelection(domain=20, epsilon=1)
    >>> protocol.chosen
    5
    >>> reports = protocol.privatize([3] * 600 + [9] * 400, source=Seeded(8))
    >>> protocol.aggregate().absorb(reports).estimate([3, 4, 9])
    Estimate(3: 556 ± 62, 4: 12 ± 57, 9: 438 ± 61; reports=1000)
    """

    chosen: int

    def __init__(self, *, domain: Domain | list[str] | list[int], epsilon: Exact, chosen: int | None = None) -> None:
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon))
        self._set(chosen=self._best() if chosen is None else exact_integer(chosen, name="chosen"))
        if self.chosen >= self.size:
            raise ParameterError("local.subset_too_large", size=self.size, value=safe_repr(chosen))

    def outputs(self) -> Bytes | None:
        """All subsets, if at most 65536.

        >>> SubsetSelection(domain=3, epsilon=1, chosen=2).outputs().tolist()
        [[3], [5], [6]]
        """
        if math.comb(self.size, self.chosen) > MAX_OUTPUTS:
            return None
        members = np.array(list(combinations(range(self.size), self.chosen)))
        marks = np.zeros((len(members), self.size), dtype=np.bool_)
        np.put_along_axis(marks, members, values=True, axis=1)
        return np.packbits(marks, axis=1, bitorder="little")

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of e^epsilon or 1, over the sum of all subsets' weights.

        >>> protocol = SubsetSelection(domain=3, epsilon=1, chosen=2)
        >>> np.exp(protocol.log_masses(0, protocol.outputs())).round(3).tolist()
        [0.422, 0.422, 0.155]
        """
        own = self._own_bits(value, payload)
        k, w, epsilon = self.size, self.chosen, float(self.epsilon)
        # C(k-1, w-1) subsets have the value, and (k-w) / w times as many have not.
        log_with = math.lgamma(k) - math.lgamma(w) - math.lgamma(k - w + 1)
        log_true = -log_with - math.log1p((k - w) / w * math.exp(-epsilon))
        return np.where(own, log_true, log_true - epsilon)

    def _best(self) -> int:
        k = self.size
        guess = int(k / (1 + math.exp(min(float(self.epsilon), 700.0))))
        sizes = range(max(1, guess), min(k - 1, guess + 1) + 1)
        return min(sizes, key=lambda size: self._chances_of(size).variance(1))

    def _chances(self) -> SupportProbabilities:
        return self._chances_of(self.chosen)

    def _chances_of(self, chosen: int) -> SupportProbabilities:
        k, ratio = self.size, math.exp(-float(self.epsilon))
        weight = chosen + (k - chosen) * ratio
        if_true = chosen / weight
        others = chosen - if_true  # the mean number of other values that a report supports
        gap = -math.expm1(-float(self.epsilon)) * chosen * (k - chosen) / ((k - 1) * weight)
        return SupportProbabilities(if_true=if_true, if_not=others / (k - 1), gap=gap)

    @property
    def _odds(self) -> Fraction:
        """The ratio of subsets without a value to those with it."""
        return Fraction(self.size - self.chosen, self.chosen)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        kept = bernoulli_odds(self.epsilon, self._odds, items.size, source)
        # Coins for all others, a little too few, and then uniform members one by one until the number is right.
        others = self.size - 1
        vectors = packed_bernoulli(Fraction(_PARTS * self.chosen // others, _PARTS), items.size, others, source)
        missing = self.chosen - kept.astype(np.int64) - count_ones(vectors.view(np.uint8))
        done = 0
        while done < items.size:
            wanted = min(_MAX_NUMBERS, (items.size - done) * (others // _PARTS + _PARTS))
            done = _complete(vectors, missing, uniform_below(others, wanted, source), done)
        out = np.empty((items.size, -(-self.size // 64)), dtype=np.uint64)
        _insert(vectors, items, kept, out)
        return pack_vector(out, self.size)

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw a coin for the value, a subset of the others, and the member of it to leave out.

        For ``last`` from k - 1 - w to k - 2, draw a number below last + 1, and take it, or last if it is already taken;
        the others are numbered without the own value. Then a number below w: the place of a member in increasing order.
        """
        own = int(item)
        kept = flip_odds(self.epsilon, self._odds, source)
        others: set[int] = set()
        for last in range(self.size - 1 - self.chosen, self.size - 1):
            number = integer_below(last + 1, source)
            others.add(last if number in others else number)
        members = sorted(others)
        left_out = integer_below(self.chosen, source)  # always drawn: the time must not reveal which one
        return sum(
            1 << (own if kept and i == left_out else number + (number >= own)) for i, number in enumerate(members)
        )

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"supports": (self.size,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["supports"]) == reports * self.chosen

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(SubsetSelection, self).is_valid(payload)  # slots=True replaces the class
        right: NDArray[np.bool_] = count_ones(payload) == self.chosen
        return padded & right

    def accumulate(self, state: State, payload: Bytes) -> None:
        add_bits(payload, state["supports"])


@njit(cache=True, nogil=True)
def _complete(vectors: Words, missing: "NDArray[np.int64]", numbers: "NDArray[np.int64]", first: int) -> int:
    """Set missing bits, or clear surplus ones (negative), at given places; return the first row that still lacks some.

    A place whose bit is already right is skipped: the set or cleared bits are uniform among the others.
    """
    used = 0
    for i in range(first, len(vectors)):
        while missing[i] != 0:
            if used == numbers.size:
                return i
            word, bit = numbers[used] >> 6, np.uint64(1) << np.uint64(numbers[used] & 63)
            used += 1
            if missing[i] > 0 and not vectors[i, word] & bit:
                vectors[i, word] |= bit
                missing[i] -= 1
            elif missing[i] < 0 and vectors[i, word] & bit:
                vectors[i, word] ^= bit
                missing[i] += 1
    return len(vectors)


@njit(cache=True, nogil=True)
def _insert(vectors: Words, own: "NDArray[np.int64]", kept: "NDArray[np.bool_]", out: Words) -> None:
    """Make room for the own value's bit, and write it: bits from there on move up by one."""
    for i in range(len(vectors)):
        carry = np.uint64(0)
        for j in range(out.shape[1]):
            word = vectors[i, j] if j < vectors.shape[1] else np.uint64(0)
            start = own[i] - 64 * j  # of the bits that move
            stays = np.uint64(0)
            if start >= 64:
                stays = np.uint64(2**64 - 1)
            elif start >= 0:
                stays = (np.uint64(1) << np.uint64(start)) - np.uint64(1)
            moved = word & ~stays
            out[i, j] = (word & stays) | (moved << np.uint64(1)) | carry
            carry = moved >> np.uint64(63)
            if 0 <= start < 64 and kept[i]:
                out[i, j] |= np.uint64(1) << np.uint64(start)
