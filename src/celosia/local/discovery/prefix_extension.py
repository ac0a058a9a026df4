"""Heavy hitters of a very large domain by prefix extension (PEM: Wang, Li and Jha 2021).

A value is a string of bits: an integer, or a string over an alphabet. Each person draws one of a few groups and reports
only a prefix of the value, longer in later groups, by local hashing (Wang, Blocki, Li and Jha 2017) with all of
epsilon: the client draws a hash function from a public set, and reports the hash of the prefix by randomized response.
Group and function do not depend on the value, so a report is epsilon-private.

The server lists all short prefixes, keeps the most frequent ones, extends them in all ways, and so on; the last group,
which has no part in the choice before, tests and counts whole values.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer
from celosia.local.base.checks import check_crowd, exact_at_most, exact_total
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.base.hashed_rows import build_hash_family, exact_seed
from celosia.local.base.null_law import TableLaws
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, Protocol, State
from celosia.local.base.support import support
from celosia.local.base.support_probabilities import SupportProbabilities
from celosia.local.discovery.base import FAILURE, Discovery, build_discovery
from celosia.local.discovery.bit_strings import BitStrings
from celosia.local.discovery.spelling import Alphabet
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate
    from celosia.sketches.hashing.family import HashFamily

_MAX_STEP = 16
_MAX_HASHES = 1 << 20
_MAX_HASH_RANGE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PrefixExtension(Protocol[Estimate]):
    """Find the values that many people hold, in a domain that is too large to list.

    See ``celosia.local`` for ``epsilon`` and ``seed``.

    Parameters
    ----------
    domain
        Values are integers from 0 to ``domain - 1``, at most 2^62; or else give an alphabet and a length.
    alphabet, length
        Values are strings (or bytes) of these letters, truncated to ``length`` of them.
    step
        The most bits by which the prefixes of a group are longer than those of the group before. Longer steps give
        fewer groups, which are larger and so more accurate, and more candidates.
    hashes
        The size of the public set of hash functions.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = PrefixExtension(epsilon=4, alphabet="abcdefghijklmnopqrstuvwxyz", length=8)
    >>> words = ["sunshine"] * 4000 + ["rain"] * 3000 + ["fog", "hail", "sleet"] * 1000
    >>> protocol.aggregate().absorb(protocol.privatize(words, source=Seeded(7))).estimate().candidates
    ['sunshine', 'rain', 'fog', 'hail', 'sleet']
    """

    domain: int | None = None
    alphabet: Alphabet | None = None
    length: int | None = None
    step: int = 8
    hashes: int = 4096
    seed: int = 0

    def __init__(
        self,
        *,
        epsilon: Exact,
        domain: int | None = None,
        alphabet: Alphabet | bytes | None = None,
        length: int | None = None,
        step: int = 8,
        hashes: int = 4096,
        seed: int = 0,
    ) -> None:
        values = BitStrings(domain=domain, alphabet=alphabet, length=length)  # type: ignore[arg-type]  # takes bytes
        self._set(
            epsilon=exact_epsilon(epsilon),
            domain=values.domain,
            alphabet=values.alphabet,
            length=values.length,
            step=exact_at_most(step, _MAX_STEP, name="step"),
            hashes=exact_at_most(hashes, _MAX_HASHES, name="hashes"),
            seed=exact_seed(seed),
        )

    # ---------------------------------------------------------------- sizes

    @property
    def value_bits(self) -> int:
        """The number of bits of a value.

        >>> PrefixExtension(epsilon=1, domain=1000).value_bits
        10
        """
        return self._strings.bits

    @property
    def prefixes(self) -> tuple[int, ...]:
        """The number of bits of the prefixes of each group; the last group has whole values.

        >>> PrefixExtension(epsilon=1, domain=2**20).prefixes
        (7, 14, 20)
        """
        groups = -(-self.value_bits // self.step)
        return tuple(-(-(group + 1) * self.value_bits // groups) for group in range(groups))

    @property
    def width(self) -> int:
        """The number of values of a hash: e^epsilon + 1, rounded, which has the least variance.

        >>> PrefixExtension(epsilon=2, domain=1000).width
        8
        """
        return min(round(math.exp(min(float(self.epsilon), 16.0))) + 1, _MAX_HASH_RANGE)

    @property
    def bits(self) -> int:
        """A report is a group, a hash function and a hash.

        >>> PrefixExtension(epsilon=2, domain=2**20).bits
        17
        """
        return sum(self._widths)

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count if ``count`` of the reporters have the value, without collisions.

        Only the last group counts it: the variance has the noise of its reports, scaled up, and the draw of the group.

        >>> round(PrefixExtension(epsilon=2, domain=2**20).variance(1))
        2
        """
        check_crowd(reports, count)
        groups = len(self.prefixes)
        return groups**2 * self._chances.variance(reports / groups, count / groups) + count * (groups - 1)

    # ---------------------------------------------------------------- the exact law

    def outputs(self) -> Bytes | None:
        """All groups, functions and hashes.

        >>> len(PrefixExtension(epsilon=1, domain=4, hashes=2).outputs())
        8
        """
        shape = (len(self.prefixes), self.hashes, self.width)
        if math.prod(shape) > MAX_OUTPUTS:
            return None
        fields = np.indices(shape).reshape(3, -1)
        return pack(list(zip(fields, self._widths, strict=True)))

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return log probabilities: group and function are uniform, the hash is true or one of the others.

        >>> protocol = PrefixExtension(epsilon=1, domain=4, hashes=2)
        >>> round(float(np.exp(protocol.log_masses(3, protocol.outputs())).sum()), 12)
        1.0
        """
        group, row, said = self._fields(payload)
        true = self._hash(np.broadcast_to(self.encode([value]), group.shape), group, row)
        drawn = math.log(len(self.prefixes)) + math.log(self.hashes)
        told = -math.log1p((self.width - 1) * math.exp(-float(self.epsilon)))
        return np.where(said == true, told, told - float(self.epsilon)) - drawn

    # ---------------------------------------------------------------- client

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return self._strings.read(values)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        group = uniform_below(len(self.prefixes), items.size, source)
        row = uniform_below(self.hashes, items.size, source)
        kept = bernoulli_logistic(self.epsilon, items.size, categories=self.width, source=source)
        other = uniform_below(self.width - 1, items.size, source)
        true = self._hash(items, group, row)
        said = np.where(kept, true, other + (other >= true))
        return pack(list(zip((group, row, said), self._widths, strict=True)))

    def sample_one(self, item: Any, source: "Source") -> int:
        group, row = integer_below(len(self.prefixes), source), integer_below(self.hashes, source)
        kept = flip_logistic(self.epsilon, self.width, source)
        other = integer_below(self.width - 1, source)  # always drawn: the time must not reveal which one
        true = int(self._hash(np.array([item]), np.array([group]), np.array([row]))[0])
        said = true if kept else other + (other >= true)
        return group | row << self._widths[0] | said << self._widths[0] + self._widths[1]

    # ---------------------------------------------------------------- server

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"said": (len(self.prefixes), self.hashes, self.width)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["said"]) == reports

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(PrefixExtension, self).is_valid(payload)  # slots=True replaces the class
        group, row, said = self._fields(payload)
        return padded & (group < len(self.prefixes)) & (row < self.hashes) & (said < self.width)

    def accumulate(self, state: State, payload: Bytes) -> None:
        said = state["said"]
        # One by one: a table of counts for every few reports would be as large as the state.
        np.add.at(said.reshape(-1), np.ravel_multi_index(self._fields(payload), said.shape), 1)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        if candidates is None:
            return self.discover(aggregate, postprocess=postprocess)
        values = self._strings.read(candidates, name="candidates")
        counts = self._counts(aggregate, values)
        return build_estimate(
            self._strings.labels(values),
            counts.raw,
            variances=counts.variances,
            null_variances=np.full(counts.raw.size, counts.null_variance),
            reports=aggregate.reports,
            postprocess=postprocess,
            slopes=counts.slopes,
            laws=counts.laws,
        )

    def discover(
        self, aggregate: "Aggregate[Any]", *, top: int = 64, failure: Exact = FAILURE, postprocess: str | None = None
    ) -> Discovery:
        """Return the values that many people hold.

        It keeps and extends the ``top`` prefixes of each group. With probability at most ``failure``, any of the
        returned values is absent.

        >>> protocol = PrefixExtension(epsilon=4, domain=2**20)
        >>> protocol.discover(protocol.aggregate()).candidates
        []
        """
        top = exact_integer(top, name="top")
        if aggregate.protocol != self:
            raise ParameterError("local.aggregate_of_other_protocol")
        values = self._extend_prefixes(aggregate, top)
        counts = self._counts(aggregate, values)
        # Every group must show a value: the cuts before are lower, so a miss there is rarer than at the last.
        return build_discovery(
            self._strings.labels(values),
            counts.raw,
            variances=counts.variances,
            null_variance=counts.null_variance,
            reports=aggregate.reports,
            postprocess=postprocess,
            failure=failure,
            slopes=counts.slopes,
            laws=counts.laws,
        )

    def _extend_prefixes(self, aggregate: "Aggregate[Any]", top: int) -> "NDArray[np.int64]":
        """Return the values to test: the extensions of the most frequent prefixes."""
        values, length = np.zeros(1, dtype=np.int64), 0
        for group, longer in enumerate(self.prefixes):
            if group:
                support = self._support(aggregate, group - 1, values)
                values = values[np.argsort(-support, kind="stable")[:top]]
            ways = np.arange(1 << longer - length, dtype=np.int64)
            values = ((values[:, None] << (longer - length)) | ways).reshape(-1)
            values, length = values[self._strings.is_prefix(values, longer)], longer
        return values

    def _support(self, aggregate: "Aggregate[Any]", group: int, prefixes: "NDArray[np.int64]") -> "NDArray[np.int64]":
        return support(aggregate.state["said"][group], self.hash_family, self._digests(group, prefixes))

    def _digests(self, group: int, prefixes: "NDArray[np.int64]") -> "NDArray[np.uint64]":
        return digest(prefixes | 1 << self.prefixes[group])

    def _counts(self, aggregate: "Aggregate[Any]", values: "NDArray[np.int64]") -> "_Counts":
        """Return the counts among all people from the last group's reports."""
        last = len(self.prefixes) - 1
        said = aggregate.state["said"][last]
        size = int(said.sum())
        if not size:  # no reports
            nothing, unknown = np.zeros(values.size), float(aggregate.reports) ** 2
            return _Counts(nothing, np.full(values.size, unknown), unknown, nothing)
        chances, scale = self._chances, aggregate.reports / size
        raw = (self._support(aggregate, last, values).astype(np.float64) - size * chances.if_not) / chances.gap
        null, own = chances.variance(size) + self._collisions(said), chances.variance(0.0, 1.0)
        held = np.clip(raw, 0.0, size)
        # The last group is a sample without replacement of all reporters.
        drawn = scale * held * (scale - 1) * (1 - held / size)
        laws = TableLaws.of(said, self.hash_family, self._digests(last, values), raw, scale=scale / chances.gap)
        return _Counts(
            scale * raw,
            scale**2 * (null + held * own) + drawn,
            scale**2 * null,
            scale * own + (scale - 1) * (1 - 2 * held / size),
            laws,
        )

    def _collisions(self, said: "NDArray[np.int64]") -> float:
        """Return the variance from people with the same function and the same value, who collide together.

        The unevenness of the rows estimates the number of such pairs: two reports of the same value in one row agree
        more often than with probability 1 / ``width``, by the square of the report's gap; other pairs do not.
        """
        table, missed = said.astype(np.float64), 1 - self._chances.if_not
        agreeing = np.square(table).sum() - np.square(table.sum(axis=1)).sum() / self.width - table.sum() * missed
        pairs = float(agreeing) * missed / self._chances.gap / self._chances.gap
        return max(pairs, 0.0) / (self.width - 1)

    # ---------------------------------------------------------------- both sides

    @property
    def _strings(self) -> BitStrings:
        return BitStrings(domain=self.domain, alphabet=self.alphabet, length=self.length)

    @property
    def _widths(self) -> tuple[int, int, int]:
        return field_width(len(self.prefixes)), field_width(self.hashes), field_width(self.width)

    @property
    def hash_family(self) -> "HashFamily":
        """The hash functions of the rows of the table."""
        return build_hash_family(self.hashes, self.width, self.seed)

    def _fields(self, payload: Bytes) -> "tuple[NDArray[np.int64], ...]":
        return tuple(field.astype(np.int64) for field in unpack(payload, self._widths))

    @property
    def _chances(self) -> SupportProbabilities:
        """The probabilities that a report supports the value of its sender, and any other value."""
        others = (self.width - 1) * math.exp(-float(self.epsilon))
        gap = -math.expm1(-float(self.epsilon)) * (self.width - 1) / self.width / (1 + others)
        return SupportProbabilities(if_true=1 / (1 + others), if_not=1 / self.width, gap=gap)

    def _hash(
        self, values: "NDArray[np.int64]", group: "NDArray[np.int64]", row: "NDArray[np.int64]"
    ) -> "NDArray[np.int64]":
        """Return the hash of each value's prefix, which has a leading one, so that its length counts."""
        lengths = np.array(self.prefixes)[group]
        return self.hash_family.columns(digest((values >> (self.value_bits - lengths)) | (1 << lengths)), row)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts, their variances, that of a count of zero, the variance of one more holder, and the laws of the table."""

    raw: "NDArray[np.float64]"
    variances: "NDArray[np.float64]"
    null_variance: float
    slopes: "NDArray[np.float64]"
    laws: TableLaws | None = None
