"""dBitFlip: a client answers for d of k buckets whether its value is in them, each by randomized response.

An answer is true with probability e^(epsilon/2) / (e^(epsilon/2) + 1). Two values differ in at most two answers, so a
report is epsilon-private for every d; for d = 1 they differ in one, and it is epsilon/2-private. The buckets do not
depend on the value. With a secret the client keeps its buckets, and the d answers that it gave once for a pattern of
truths (which of its buckets holds the value, or none): then at most d + 1 different reports occur (dBitFlipPM).
Ding, Kulkarni and Yekhanin 2017.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.events import Event, RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.core.guarantees import PureDP
from celosia.core.structure import RepeatedEvent
from celosia.local.base.checks import check_crowd, exact_total
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.base.memoised import Memo, Memoised, flip_words, reduce_words
from celosia.local.base.packing import Bytes, field_width, pack_vector, unpack_vector
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.base.values import Domain, codes, domain_labels, domain_size, exact_domain
from celosia.noise.bernoulli import flip_logistic
from celosia.noise.decide import logistic_enclosure
from celosia.noise.keyed import keyed_words
from celosia.noise.packed import packed_logistic
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.columns import Column
from celosia.sketches.hashing.digest import as_seed, digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

PERMUTATIONS = 64
"""The number of public orders of the buckets: a client's buckets are d neighbours in one of them, as in a ring."""

_MAX_PLACES = 1 << 22  # buckets times orders, which every client and server computes
_MAX_BITS = 1 << 20  # of a report
_BLOCK = 1 << 19  # words of keystream at a time
_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class DBitFlip(Memoised[Estimate]):
    """Histograms of k buckets from d bits of each client.

    A report is d bits, and then the assignment a (none if d = k), drawn by the client below 64 k: its buckets are those
    at the places a mod k, a mod k + 1, … (mod k) of order a // k. Order r has the buckets b by increasing XXH64, with
    the protocol's seed, of r and b (64 bits each, little-endian). Each bucket is in d/k of all assignments.

    Drawn in this order: the assignment below 64 k (unless d = k), from the client's memo; then for each of the d
    buckets whether the answer is true, from the memo of the pattern: the place of the value among the d, or d for none.

    Parameters
    ----------
    buckets
        The number k of buckets, whose numbers are then 0 to k - 1, or the values themselves. At most 65,536, unless d
        is k. For real counters see ``Bucketing``.
    d
        The number of buckets that a client answers for.
    epsilon
        Epsilon of one report.
    seed
        Public seed of the orders of the buckets.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = DBitFlip(buckets=5, d=4, epsilon=4, seed=7)
    >>> reports = protocol.privatize([0] * 600 + [3] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate([3]).counts.round().tolist()
    [413.0]
    """

    buckets: Domain
    d: int
    seed: int = 0

    def __init__(self, *, buckets: Domain | list[str] | list[int], d: int, epsilon: Exact, seed: int = 0) -> None:
        self._set(
            buckets=exact_domain(buckets, name="buckets"), d=exact_integer(d, name="d"), epsilon=exact_epsilon(epsilon)
        )
        self._set(seed=int(as_seed(seed)))
        if self.d > self.size:
            raise ParameterError("local.more_bits_than_buckets", size=self.size, value=safe_repr(d))
        if self.d < self.size and PERMUTATIONS * self.size > _MAX_PLACES:
            raise ParameterError("local.too_many_buckets_to_order", most=_MAX_PLACES // PERMUTATIONS, value=self.size)
        if self.d > _MAX_BITS:
            raise ParameterError("local.too_many_bits", most=_MAX_BITS, value=safe_repr(d))

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of one report: epsilon, or half of it if d is 1.

        >>> DBitFlip(buckets=10, d=1, epsilon=1).guarantee
        PureDP(epsilon=0.5, adjacency=ReplaceOne, unit='person')
        """
        return PureDP(epsilon=self.epsilon * min(self.d, 2) / 2, adjacency=ReplaceOne, unit=PERSON)

    @property
    def event(self) -> Event:
        """The event of one report: at most two randomized answers depend on the value.

        >>> DBitFlip(buckets=10, d=4, epsilon=1).event.times
        2
        """
        answer = RandomizedResponseEvent(epsilon=self.epsilon / 2, unit=PERSON)
        return answer if self.d == 1 else RepeatedEvent(event=answer, times=2)

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return the epsilon of repeated answers under ``SameChanges``: that of one report for each pattern of truths.

        There are d + 1 patterns. It holds between histories whose patterns change and return at the same times; a value
        that never changes costs one report for all time. It does not hide that the pattern changed, nor when: between
        any two histories no epsilon is finite (``plain_lifetime_epsilon``).

        >>> protocol = DBitFlip(buckets=10, d=4, epsilon=1)
        >>> protocol.lifetime_epsilon(365, 1), protocol.lifetime_epsilon(365, 100)
        (Fraction(1, 1), Fraction(5, 1))
        """
        _, different = self.exact_history(reports, values)
        return min(different, self.d + (self.d < self.size)) * self.guarantee.epsilon

    @property
    def size(self) -> int:
        """The number of buckets.

        >>> DBitFlip(buckets=10, d=4, epsilon=1).size
        10
        """
        return domain_size(self.buckets)

    @property
    def assignments(self) -> int:
        """The number of sets of d buckets to draw from.

        >>> DBitFlip(buckets=10, d=4, epsilon=1).assignments, DBitFlip(buckets=10, d=10, epsilon=1).assignments
        (640, 1)
        """
        return PERMUTATIONS * self.size if self.d < self.size else 1

    @property
    def bits(self) -> int:
        """A report is d bits and the number of an assignment.

        >>> DBitFlip(buckets=26, d=4, epsilon=1).bits
        15
        """
        return self.d + field_width(self.assignments)

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters are in the bucket.

        >>> round(DBitFlip(buckets=100, d=4, epsilon=1).variance(1), 1)
        97.9
        """
        check_crowd(reports, count)
        share, gap = self.size / self.d, -math.expm1(-float(self.epsilon) / 2)
        return reports * share * math.exp(-float(self.epsilon) / 2) / gap / gap + count * (share - 1)

    def outputs(self) -> Bytes | None:
        """All answers with all assignments.

        >>> DBitFlip(buckets=3, d=2, epsilon=1).outputs().shape
        (768, 2)
        """
        if self.bits > _WORD or self.assignments << self.d > MAX_OUTPUTS:
            return None
        answers, assignment = np.divmod(np.arange(self.assignments << self.d), self.assignments)
        width = field_width(self.assignments)
        return pack_vector(answers.astype(np.uint64)[:, None], self.d, [(assignment, width)])

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of the assignment's probability times those of the answers.

        >>> protocol = DBitFlip(buckets=3, d=2, epsilon=1)
        >>> round(float(np.exp(protocol.log_masses(1, protocol.outputs())).sum()), 12)
        1.0
        """
        answers, assignment = self._unpack(payload)
        place = self._places(np.full(len(payload), self.encode([value])[0]), assignment)
        lies = self._true_answers(answers, place)
        lied = np.bitwise_count(lies).sum(axis=1, dtype=np.int64)
        half = float(self.epsilon) / 2
        masses: NDArray[np.float64] = -half * lied - self.d * math.log1p(math.exp(-half)) - math.log(self.assignments)
        return masses

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return codes(values, self.buckets)

    def _places(self, items: "NDArray[np.int64]", assignment: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return which of its d buckets holds each client's value, or d if none does."""
        if self.assignments == 1:
            return items
        order, start = np.divmod(assignment, self.size)
        place = _orders(self.size, self.seed)[1][order, items] - start
        return np.minimum(np.where(place < 0, place + self.size, place), self.d)

    def _true_answers(self, lies: "NDArray[np.uint64]", place: "NDArray[np.int64]") -> "NDArray[np.uint64]":
        """Turn lies into answers, and answers into lies: flip the bit of the bucket that holds the value."""
        rows = np.flatnonzero(place < self.d)
        word, bit = np.divmod(place[rows], _WORD)
        lies[rows, word] ^= np.uint64(1) << bit.astype(np.uint64)
        return lies

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        assignment = np.zeros(items.size, dtype=np.int64)
        if self.assignments > 1:
            assignment = uniform_below(self.assignments, items.size, source)
        lies = packed_logistic(self.epsilon / 2, items.size, self.d, complement=True, source=source)
        return self._pack(self._true_answers(lies, self._places(items, assignment)), assignment)

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:  # noqa: ARG002 - an item of encode
        assignment = integer_below(self.assignments, memo("client", 0)) if self.assignments > 1 else 0
        place = int(self._places(np.array([item]), np.array([assignment]))[0])
        answers = memo("value", place)
        lies = sum((not flip_logistic(self.epsilon / 2, 2, answers)) << i for i in range(self.d))
        return (lies ^ (1 << place if place < self.d else 0)) | assignment << self.d

    def sample_memoised(self, items: "NDArray[np.int64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        drawn = np.empty((items.size, self.bytes_per_report), dtype=np.uint8)
        rows = max(1, _BLOCK // self.d)
        for first in range(0, items.size, rows):
            part = slice(first, first + rows)
            drawn[part] = self._draw_block(items[part], secrets[part], source)
        return drawn

    def _draw_block(self, items: "NDArray[np.int64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        assignment, again = np.zeros(items.size, dtype=np.int64), np.zeros(items.size, dtype=np.bool_)
        if self.assignments > 1:
            word = keyed_words(self.derive_keys(secrets, "client", 0), 1)[:, 0]
            assignment, again = reduce_words(word, self.assignments)
        place = self._places(items, assignment)
        told, tied = flip_words(
            keyed_words(self.derive_keys(secrets, "value", place), self.d), logistic_enclosure(self.epsilon / 2, 1)
        )
        lies = np.zeros((items.size, -(-self.d // _WORD) * 8), dtype=np.uint8)
        lies[:, : -(-self.d // 8)] = np.packbits(~told, axis=1, bitorder="little")
        packed = self._pack(self._true_answers(lies.view("<u8").astype(np.uint64, copy=False), place), assignment)
        for i in np.flatnonzero(again | tied.any(axis=1)).tolist():  # once in 2^50 clients
            number = self.sample_one_memoised(items[i], self.open_memo(bytes(secrets[i])), source)
            packed[i] = np.frombuffer(number.to_bytes(self.bytes_per_report, "little"), dtype=np.uint8)
        return packed

    def _pack(self, answers: "NDArray[np.uint64]", assignment: "NDArray[np.int64]") -> Bytes:
        return pack_vector(answers, self.d, [(assignment, field_width(self.assignments))])

    def _unpack(self, payload: Bytes) -> "tuple[NDArray[np.uint64], NDArray[np.int64]]":
        answers, (assignment,) = unpack_vector(payload, self.d, [field_width(self.assignments)])
        return answers, assignment.astype(np.int64)

    @property
    def known_domain(self) -> Domain:
        return self.buckets

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"asked": (self.size,), "ones": (self.size,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        asked = state["asked"]
        return exact_total(asked) == self.d * reports and bool((state["ones"] <= asked).all())

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(DBitFlip, self).is_valid(payload)  # slots=True replaces the class
        return padded & (self._unpack(payload)[1] < self.assignments)

    def accumulate(self, state: State, payload: Bytes) -> None:
        answers, assignment = self._unpack(payload)
        order = _orders(self.size, self.seed)[0] if self.assignments > 1 else np.arange(self.size)[None]
        _count(answers, assignment, order, self.d, state["asked"], state["ones"])

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        places = np.arange(self.size) if candidates is None else codes(candidates, self.buckets, name="candidates")
        labels, n = domain_labels(self.buckets), aggregate.reports
        share, ratio = self.size / self.d, math.exp(-float(self.epsilon) / 2)
        asked, ones = aggregate.state["asked"][places], aggregate.state["ones"][places]
        raw = share * (ones * (1 + ratio) - asked * ratio) / -math.expm1(-float(self.epsilon) / 2)
        return build_estimate(
            [labels[place] for place in places.tolist()],
            raw,
            variances=self.variance(n) + (share - 1) * np.clip(raw, 0.0, n),
            null_variances=np.full(len(places), self.variance(n)),
            reports=n,
            postprocess=postprocess,
            hits=n * ratio / share,  # proofs/d-bit-flip.md, 6
            slopes=share - 1,
        )


@lru_cache(maxsize=16)
def _orders(size: int, seed: int) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the buckets of each order, and the place of each bucket in each order."""
    pairs, offsets = np.empty((size, 2), dtype="<u8"), 16 * np.arange(size + 1)
    pairs[:, 1] = np.arange(size)
    order = np.empty((PERMUTATIONS, size), dtype=np.int64)
    place = np.empty_like(order)
    for row in range(PERMUTATIONS):
        pairs[:, 0] = row
        keys = digest(Column(offsets=offsets, data=pairs.reshape(-1).view(np.uint8)), seed=seed)
        order[row] = np.argsort(keys, kind="stable")
        place[row, order[row]] = np.arange(size)
    return order, place


@njit(cache=True, nogil=True)
def _count(
    answers: "NDArray[np.uint64]",
    assignment: "NDArray[np.int64]",
    order: "NDArray[np.int64]",
    d: int,
    asked: "NDArray[np.int64]",
    ones: "NDArray[np.int64]",
) -> None:
    size = order.shape[1]
    for row in range(len(answers)):
        ring, place = divmod(assignment[row], size)
        for i in range(d):
            bucket = order[ring, place]
            asked[bucket] += 1
            ones[bucket] += np.int64((answers[row, i >> 6] >> np.uint64(i & 63)) & np.uint64(1))
            place = place + 1 if place + 1 < size else 0
