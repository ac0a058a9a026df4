"""Local hashing: hash the value into a few buckets, and answer by randomized response over these.

A report is a hash function, by its number, and a bucket: it supports all values that the function maps there. The
bucket is the value's own with probability e^epsilon / (e^epsilon + g - 1), any other with 1 / (e^epsilon + g - 1); the
function does not depend on the value. With g near e^epsilon + 1 buckets the variance is that of optimized
unary encoding, for a report of a few bytes (Wang, Blocki, Li and Jha 2017). The functions are the rows of a
``HashFamily`` that is 3-wise independent. See ``proofs/local-hashing.md``.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon
from celosia.local.base.checks import check_crowd, exact_at_most, exact_total
from celosia.local.base.domain import DomainProtocol
from celosia.local.base.estimate import Estimate
from celosia.local.base.hashed_rows import build_hash_family
from celosia.local.base.null_law import TableLaws
from celosia.local.base.packing import Bytes, Words, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.base.support import support
from celosia.local.base.support_probabilities import SupportProbabilities
from celosia.local.base.values import Domain, codes, exact_domain, read_candidates
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.columns import Column
from celosia.sketches.hashing.digest import as_seed, digest
from celosia.sketches.hashing.mersenne import evaluate_four, first_four, reduce61, to_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

_INDEPENDENCE = 3
_PRIVATE_FUNCTIONS = 1 << 32  # from which a client draws its own
_MAX_HASHES = 1 << 24
_MAX_BUCKETS = 1 << 31
_MAX_CELLS = 1 << 28  # of the state: two gibibytes
_PRIME = np.uint64(2**61 - 1)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class LocalHashing(DomainProtocol[Estimate]):
    """Optimized local hashing over a known domain.

    See ``celosia.local`` for ``domain``, ``epsilon`` and ``seed``.

    Parameters
    ----------
    hashes
        By default each report has its own function, out of 2^32: the server visits all k values for each report. With
        a number K, each has one of K public functions (fast local hashing, Cormode, Maddock and Maple 2021): a report
        is absorbed at once, and an estimate takes K steps for each candidate. Values that collide in more of the
        functions than expected then stay together: see ``variance``.
    buckets
        The number g of buckets; the default has the least variance.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = LocalHashing(domain=["red", "green", "blue"], epsilon=2)
    >>> reports = protocol.privatize(["red"] * 600 + ["blue"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["blue"])
    Estimate(blue: 384 ± 33; reports=1000)
    """

    buckets: int
    hashes: int | None = None
    seed: int = 0

    def __init__(
        self,
        *,
        domain: Domain | list[str] | list[int],
        epsilon: Exact,
        hashes: int | None = None,
        buckets: int | None = None,
        seed: int = 0,
    ) -> None:
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon), seed=int(as_seed(seed)))
        self._set(hashes=None if hashes is None else exact_at_most(hashes, _MAX_HASHES, name="hashes"))
        most = _MAX_BUCKETS if self.hashes is None else _MAX_CELLS // self.hashes
        self._set(buckets=self._best() if buckets is None else exact_at_most(buckets, most, name="buckets", least=2))

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of one report: given the function, randomized response over the buckets.

        >>> LocalHashing(domain=1000, epsilon=1).event.categories
        4
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=self.buckets, unit=PERSON)

    @property
    def bits(self) -> int:
        """A report is the number of a function, and a bucket.

        >>> LocalHashing(domain=1000, epsilon=1).bits, LocalHashing(domain=1000, epsilon=1, hashes=1024).bits
        (34, 12)
        """
        return sum(self._widths)

    def variance(self, reports: int, count: float = 0.0, *, squares: float | None = None) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters have the value.

        ``squares`` is the sum of the squared counts of the other values; the default is that they are all different.
        With K functions it adds, over the choice of the seed, (squares - others) / (K (g - 1)).

        >>> round(LocalHashing(domain=100, epsilon=1).variance(1), 2)
        3.69
        >>> protocol = LocalHashing(domain=100, epsilon=1, hashes=1000)
        >>> round(protocol.variance(10_000)), round(protocol.variance(10_000, squares=2e6))
        (36917, 37580)
        """
        check_crowd(reports, count, squares)
        others = reports - count
        further = 0.0 if squares is None else (squares - others) / (self._functions * (self.buckets - 1))
        return self._chances(self.buckets).variance(reports, count) + further

    def outputs(self) -> Bytes | None:
        """All buckets of all functions, if at most 65536.

        >>> len(LocalHashing(domain=4, epsilon=1, hashes=8).outputs())
        32
        """
        if self._functions * self.buckets > MAX_OUTPUTS:
            return None
        index, said = np.divmod(np.arange(self._functions * self.buckets), self.buckets)
        return self._pack(index, said)

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the log probability of the function, plus that of randomized response over its buckets.

        >>> protocol = LocalHashing(domain=4, epsilon=1, hashes=2)
        >>> np.exp(protocol.log_masses(0, protocol.outputs())).round(3).tolist()
        [0.238, 0.087, 0.087, 0.087, 0.238, 0.087, 0.087, 0.087]
        """
        index, said = self._unpack(payload)
        own = self._hash(np.repeat(self.encode([value]), len(payload)), index)
        epsilon = float(self.epsilon)
        log_true = -math.log(self._functions) - math.log1p((self.buckets - 1) * math.exp(-epsilon))
        return np.where(said == own, log_true, log_true - epsilon)

    def _best(self) -> int:
        guess = int(math.exp(min(float(self.epsilon), 21.0))) + 1
        best = min((guess, guess + 1), key=lambda buckets: self._chances(buckets).variance(1))
        return best if self.hashes is None else max(2, min(best, _MAX_CELLS // self.hashes))

    def _chances(self, buckets: int) -> SupportProbabilities:
        ratio = math.exp(-float(self.epsilon))
        weight = 1 + (buckets - 1) * ratio
        gap = -math.expm1(-float(self.epsilon)) * (buckets - 1) / (buckets * weight)
        return SupportProbabilities(if_true=1 / weight, if_not=1 / buckets, gap=gap)

    @property
    def _functions(self) -> int:
        return self.hashes or _PRIVATE_FUNCTIONS

    @property
    def _widths(self) -> list[int]:
        return [field_width(self._functions), field_width(self.buckets)]

    def _pack(self, index: "NDArray[np.int64]", said: "NDArray[np.int64]") -> Bytes:
        return pack(list(zip([index, said], self._widths, strict=True)))

    def _unpack(self, payload: Bytes) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        index, said = unpack(payload, self._widths)
        return index.astype(np.int64), said.astype(np.int64)

    def _hash(self, digests: Words, index: "NDArray[np.int64]") -> "NDArray[np.int64]":
        if self.hashes is not None:
            return build_hash_family(self.hashes, self.buckets, self.seed).columns(digests, index)
        out = np.empty(digests.size, dtype=np.int64)
        _hash_each(row_coefficients(index, self.seed), digests, np.uint64(self.buckets), out)
        return out

    def encode(self, values: Any) -> Words:
        return self._digests(codes(values, self.domain))

    def _digests(self, places: "NDArray[np.int64]") -> Words:
        return (
            digest(places, seed=self.seed) if isinstance(self.domain, int) else _known(self.domain, self.seed)[places]
        )

    def sample(self, items: Words, source: "Source") -> Bytes:
        index = uniform_below(self._functions, items.size, source)
        own = self._hash(items, index)
        kept = bernoulli_logistic(self.epsilon, items.size, categories=self.buckets, source=source)
        others = uniform_below(self.buckets - 1, items.size, source)
        return self._pack(index, np.where(kept, own, others + (others >= own)))

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw a function, a coin for the own bucket, and always another bucket."""
        index = integer_below(self._functions, source)
        own = int(self._hash(np.array([item], dtype=np.uint64), np.array([index]))[0])
        kept = flip_logistic(self.epsilon, self.buckets, source)
        other = integer_below(self.buckets - 1, source)
        said = own if kept else other + (other >= own)
        return index | said << self._widths[0]

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"supports": (self.size,)} if self.hashes is None else {"said": (self.hashes, self.buckets)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return self.hashes is None or exact_total(state["said"]) == reports

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(LocalHashing, self).is_valid(payload)  # slots=True replaces the class
        index, said = self._unpack(payload)
        return padded & (index < self._functions) & (said < self.buckets)

    def accumulate(self, state: State, payload: Bytes) -> None:
        index, said = self._unpack(payload)
        if self.hashes is None:
            coefficients, values = row_coefficients(index, self.seed), _known(self.domain, self.seed)
            _add_supports(coefficients, said, values, np.uint64(self.buckets), state["supports"])
        else:
            # One by one: a table of counts for every few reports would be as large as the state.
            np.add.at(state["said"].reshape(-1), index * self.buckets + said, 1)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        (places, labels), state = read_candidates(candidates, self.domain), aggregate.state
        chances, laws, same = self._chances(self.buckets), None, 0.0
        if self.hashes is None:
            supports = state["supports"][places]
        else:
            table, family, digests = (
                state["said"],
                build_hash_family(self.hashes, self.buckets, self.seed),
                self._digests(places),
            )
            supports, same = support(table, family, digests), self._same(table)
            laws = TableLaws.of(table, family, digests, supports, scale=1 / chances.gap)

        def collision_variance(counts: "NDArray[np.float64]") -> "NDArray[np.float64]":
            return np.maximum(same - counts**2, 0.0) / (self._functions * (self.buckets - 1))

        return chances.estimate(
            labels, supports, reports=aggregate.reports, postprocess=postprocess, further=collision_variance, laws=laws
        )

    def _same(self, said: "NDArray[np.int64]") -> float:
        """Estimate the number of pairs of people with the same value, from equal answers within a function."""
        cells, totals = said.astype(np.float64), said.sum(axis=1).astype(np.float64)
        people, pairs = float(totals.sum()), float((totals * (totals - 1)).sum())
        if not pairs:
            return people**2
        gap, other = self._chances(self.buckets).gap, 1 - 1 / self.buckets
        # Two people with the same value and function answer alike more often than by chance, by gap^2 / other.
        share = (float((cells * (cells - 1)).sum()) / pairs - 1 / self.buckets) * other / gap / gap
        return people**2 * min(max(share, 1 / self.size), 1.0)


def row_coefficients(rows: "NDArray[np.int64]", seed: int) -> Words:
    """Return the coefficients of some rows of a ``HashFamily``, of which there may be 2^32."""
    pairs = np.empty((len(rows), _INDEPENDENCE, 2), dtype="<u8")
    pairs[..., 0], pairs[..., 1] = rows[:, None], np.arange(_INDEPENDENCE)
    offsets = 16 * np.arange(len(rows) * _INDEPENDENCE + 1)
    words = digest(Column(offsets=offsets, data=pairs.reshape(-1).view(np.uint8)), seed=seed)
    return (words % _PRIME).reshape(len(rows), _INDEPENDENCE)


@lru_cache(maxsize=4)
def _known(domain: Domain, seed: int) -> Words:
    """Return the digests of all values of a domain."""
    return digest(np.arange(domain) if isinstance(domain, int) else domain, seed=seed)


@njit(cache=True, nogil=True)
def _hash_each(coefficients: Words, digests: Words, buckets: np.uint64, out: "NDArray[np.int64]") -> None:
    for i in range(digests.size):
        out[i] = to_range(evaluate_four(first_four(coefficients, i), _INDEPENDENCE, reduce61(digests[i])), buckets)


@njit(cache=True, nogil=True)
def _add_supports(
    coefficients: Words, said: "NDArray[np.int64]", digests: Words, buckets: np.uint64, supports: "NDArray[np.int64]"
) -> None:
    """Count, for each value, the reports whose function maps it to the reported bucket."""
    words = np.empty_like(digests)
    for place in range(digests.size):
        words[place] = reduce61(digests[place])
    for i in range(said.size):
        four = first_four(coefficients, i)
        for place in range(words.size):
            supports[place] += to_range(evaluate_four(four, _INDEPENDENCE, words[place]), buckets) == said[i]
