"""RAPPOR: values as Bloom filters, whose bits are randomized once permanently and once for each report.

A value sets ``hashes`` of ``bits`` bits, by the hash functions of the client's cohort. The permanent response flips
each bit with probability f/2, once, drawn from the client's secret and the value. A report shows a 1 with probability q
if the permanent bit is 1, and p if it is 0. Two values differ in at most 2 hashes bits: this gives epsilon for one
report, and epsilon_infinity for all reports of a value that stays. Erlingsson, Pihur and Korolova 2014.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.core.enclosure import log_at_least
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_probability, safe_repr
from celosia.local.base.checks import check_crowd, exact_total
from celosia.local.base.estimate import Estimate
from celosia.local.base.hashed_rows import build_hash_family
from celosia.local.base.memoised import Memo, Memoised, flip_words, reduce_words
from celosia.local.base.packing import Bytes, field_width, has_clear_padding, pack_vector, unpack_vector
from celosia.local.base.protocol import State
from celosia.noise.bernoulli import flip
from celosia.noise.decide import ratio_enclosure
from celosia.noise.keyed import keyed_words
from celosia.noise.packed import packed_bernoulli
from celosia.noise.uniform import integer_below, uniform_below
from celosia.sketches.hashing.digest import as_seed, digest
from celosia.sketches.hashing.mersenne import evaluate_row, reduce61, to_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

_MAX_BITS = 1 << 16
_MAX_ROWS = 1 << 20
_MAX_OUTPUTS = 16  # bits
_MAX_DENSITY = 0.999  # the probability of a bit beyond which all filters are full
_MAX_POWERS = 512
_BLOCK = 1 << 19  # words of keystream at a time
_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Rappor(Memoised[Estimate]):
    """Counts of values of an open domain (integers, strings or bytes), for candidates given to the estimate.

    A report is the filter's bits, then the cohort, then the half: one bit drawn by the client, so that a server can
    choose among candidates by one half of the reports and test its choice by the other (``rappor_decode``). Cohort c
    has the rows c hashes, c hashes + 1, … of a ``HashFamily`` of width ``bits`` with the protocol's seed, at the digest
    (same seed) of the value.

    Drawn in this order: the half, below 2, and the cohort, from the client's memo; for each bit whether it is flipped
    (not drawn if f = 0), from the memo of the digest; then from fresh draws each reported bit.

    Parameters
    ----------
    bits, hashes, cohorts
        The size of a filter, the number of bits that a value sets, the number of sets of hash functions.
    f, p, q
        The probabilities, taken exactly. With f = 0 nothing is permanent, and the epsilons of reports add up.
    seed
        Public seed of the hash functions.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = Rappor(bits=64, hashes=2, cohorts=8, f=0.25, p=0.25, q=0.75, seed=7)
    >>> reports = protocol.privatize(["sun"] * 6000 + ["rain"] * 4000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["sun", "rain", "snow"])
    Estimate(sun: 5986 ± 89, rain: 3931 ± 89, snow: 84 ± 89; reports=10000)
    """

    bits: int = 128
    hashes: int = 2
    cohorts: int = 32
    f: Fraction = Fraction(1, 2)
    p: Fraction = Fraction(1, 2)
    q: Fraction = Fraction(3, 4)
    seed: int = 0

    def __init__(  # noqa: PLR0913 - the parameters of the paper
        self,
        *,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 32,
        f: Exact = Fraction(1, 2),
        p: Exact = Fraction(1, 2),
        q: Exact = Fraction(3, 4),
        seed: int = 0,
        epsilon: Exact | None = None,
    ) -> None:
        self._set(
            bits=exact_integer(bits, name="bits", least=2),
            hashes=exact_integer(hashes, name="hashes"),
            cohorts=exact_integer(cohorts, name="cohorts"),
            f=exact_probability(f, name="f"),
            p=exact_probability(p, name="p"),
            q=exact_probability(q, name="q"),
            seed=int(as_seed(seed)),
        )
        self._check()
        self._set(epsilon=exact_epsilon(self._value_loss(1)))
        if epsilon is not None and exact_epsilon(epsilon) != self.epsilon:
            found = f"≈{float(self.epsilon):.6g}"
            raise ParameterError("local.rappor_epsilon_mismatch", found=found, value=safe_repr(epsilon))

    def _check(self) -> None:
        if self.bits > _MAX_BITS or self.cohorts * max(self.hashes, self.bits) > _MAX_ROWS:
            raise ParameterError(
                "local.rappor_too_large",
                most_bits=_MAX_BITS,
                most_rows=_MAX_ROWS,
                bits=safe_repr(self.bits),
                hashes=safe_repr(self.hashes),
                cohorts=safe_repr(self.cohorts),
            )
        if self.f == 1 or self.p == self.q or self.density > _MAX_DENSITY:
            raise ParameterError("local.reports_without_information")
        if self.f == 0 and {self.p, self.q} & {Fraction(0), Fraction(1)}:
            raise ParameterError("local.reports_reveal_value")

    def _derived_fields(self) -> tuple[str, ...]:
        return ("epsilon",)

    @property
    def report_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities q* and p* that a report shows 1 over a 1, and over a 0, of the filter.

        >>> Rappor(f=0.5, p=0.5, q=0.75).report_probabilities
        (Fraction(11, 16), Fraction(9, 16))
        """
        mixed = self.f * (self.p + self.q) / 2
        return mixed + (1 - self.f) * self.q, mixed + (1 - self.f) * self.p

    @property
    def epsilon_infinity(self) -> Fraction | None:
        """The epsilon of all reports of one value that never changes; None if nothing is permanent.

        >>> round(float(Rappor(hashes=2, f=0.5).epsilon_infinity), 4)
        4.3944
        """
        if self.f == 0:
            return None
        return self._filter_loss((2 / self.f - 1, 2 / self.f - 1))

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return the epsilon of reports with memoised permanent responses under ``SameChanges``.

        It is at most epsilon_infinity for each value, and at most epsilon for each report; for few reports it is the
        exact loss of the likeliest sequence. It holds between histories that change and return at the same times, such
        as a value that stays. See ``plain_lifetime_epsilon`` for any two histories. Computational: HMAC.

        >>> protocol = Rappor(hashes=2, f=0.5, p=0.5, q=0.75)
        >>> [round(float(protocol.lifetime_epsilon(reports, 1)), 3) for reports in (1, 2, 10, 1000)]
        [1.074, 2.017, 4.299, 4.394]
        >>> round(float(protocol.lifetime_epsilon(1000, 3)), 3)
        13.183
        """
        times, different = self.exact_history(reports, values)
        each, more = divmod(times, different)
        # The loss is concave in the number of reports, so that it is largest if they are spread evenly.
        return (more * self._value_loss(each + 1) if more else 0) + (different - more) * self._value_loss(each)

    def plain_lifetime_epsilon(self, reports: int, values: int) -> Fraction | None:
        """Return the epsilon of reports between any two histories of ``values`` values; None if no bound is finite.

        The first report spends epsilon. Each further one can spend the loss of one instantaneous bit in all bits of the
        filter; over long times less, because one permanent bit explains some reports of all (proofs/rappor.md, 5). None
        is finite without instantaneous noise; if f is 0, the epsilons of the reports add up.

        >>> protocol = Rappor(bits=8, hashes=1, f=0.5, p=0.5, q=0.75)
        >>> [round(float(protocol.plain_lifetime_epsilon(reports, 2)), 1) for reports in (1, 2, 10, 1000)]
        [0.5, 6.1, 42.6, 2068.7]
        """
        times, different = self.exact_history(reports, values)
        if different == 1 or self.f == 0:
            return self.lifetime_epsilon(times, different)
        low, high = sorted((self.p, self.q))
        losses = [log_at_least(a / b) for a, b in ((high, low), (1 - low, 1 - high)) if b]  # of a 1, and of a 0
        if not losses:
            return None
        longest = self.bits * (
            times / sum((1 / loss for loss in losses), Fraction(0)) + different * log_at_least(2 / self.f)
        )
        return longest if len(losses) == 1 else min(longest, self.epsilon + (times - 1) * self.bits * max(losses))

    def _value_loss(self, reports: int) -> Fraction:
        """Return the epsilon of reports of one value: the likeliest sequences are all ones, and all zeros."""
        if self.f == 0 and reports > 1:
            return reports * self.epsilon
        if reports > _MAX_POWERS and (limit := self.epsilon_infinity) is not None:
            return limit
        return self._filter_loss(
            (_ratio(self.f, self.p, self.q, reports), _ratio(self.f, 1 - self.p, 1 - self.q, reports))
        )

    def _filter_loss(self, ratios: tuple[Fraction, Fraction]) -> Fraction:
        """Return the largest loss between two filters, from the ratios of a 1 for a 0 and of a 0 for a 1."""
        small, large = sorted(ratios)
        most = min(self.hashes, self.bits)
        rest = min(self.hashes, self.bits - most)
        return rest * log_at_least(small * large) + (most - rest) * log_at_least(large)

    @property
    def bytes_per_report(self) -> int:
        """The number of bytes of a report: its filter, cohort and half.

        >>> Rappor(bits=128, cohorts=32).bytes_per_report
        17
        """
        return -(-self._report_bits() // 8)

    def _report_bits(self) -> int:
        return self.bits + field_width(self.cohorts) + 1

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters have the value.

        It is that of the coins, and of the draw of cohorts if the others' values are all different. It is for few
        candidates; many that share bits have more, by about 1 / (1 - candidates / (bits cohorts)).

        >>> round(Rappor(bits=128, hashes=8, cohorts=1, f=0.5, p=0.5, q=0.75).variance(500_000) ** 0.5)
        1038
        """
        check_crowd(reports, count)
        if_one, if_zero = (float(shown * (1 - shown)) for shown in self.report_probabilities)
        set_bits = self.bits * self.density
        noise = reports * if_zero / (set_bits * (1 - self.density)) + count * (if_one - if_zero) / set_bits
        return noise / self.gap**2 + (reports - count) * self._overlap() * (1 - 1 / self.cohorts)

    def _overlap(self) -> float:
        """Return the variance, over hash functions, of a person's contribution to another value's count in a cohort."""
        both = (1 - 2 / self.bits) ** self.hashes - (1 - self.density) ** 2  # of two bits of one filter
        alone = self.density * (1 - self.density)
        return float((1 + (self.bits - 1) * (both / alone) ** 2) / self.bits)

    @property
    def density(self) -> float:
        """The probability that a value sets a given bit."""
        return float(1 - (1 - 1 / self.bits) ** self.hashes)

    @property
    def gap(self) -> float:
        """The difference of the probabilities of a reported 1, over a 1 and over a 0 of the filter."""
        return float((1 - self.f) * (self.q - self.p))

    def outputs(self) -> Bytes | None:
        """All filters with all cohorts and both halves.

        >>> Rappor(bits=4, cohorts=2).outputs().shape
        (64, 1)
        """
        if self._report_bits() > _MAX_OUTPUTS:
            return None
        numbers = np.arange(2 * self.cohorts << self.bits)
        group, filters = np.divmod(numbers, 1 << self.bits)
        half, cohort = np.divmod(group, self.cohorts)
        return self._pack(filters.astype(np.uint64)[:, None], cohort, half)

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of reports, of a client that reports for the first time.

        >>> protocol = Rappor(bits=4, cohorts=2)
        >>> round(float(np.exp(protocol.log_masses("sun", protocol.outputs())).sum()), 12)
        1.0
        """
        shown, cohort, _ = self._unpack(payload)
        true = self._filters(np.full(len(payload), self.encode([value])[0]), cohort)
        counts = [np.bitwise_count(bits).sum(axis=1) for bits in (shown & true, true, shown, shown | true)]
        both, ones, reported, either = (count.astype(np.float64) for count in counts)
        if_one, if_zero = (float(chance) for chance in self.report_probabilities)
        inside = both * np.log(if_one) + (ones - both) * np.log1p(-if_one)
        outside = (reported - both) * np.log(if_zero) + (self.bits - either) * np.log1p(-if_zero)
        masses: NDArray[np.float64] = inside + outside - np.log(2 * self.cohorts)
        return masses

    def encode(self, values: Any) -> "NDArray[np.uint64]":
        return digest(values, seed=self.seed)

    def _filters(self, digests: "NDArray[np.uint64]", cohort: "NDArray[np.int64]") -> "NDArray[np.uint64]":
        filters = np.zeros((digests.size, -(-self.bits // _WORD)), dtype=np.uint64)
        coefficients = build_hash_family(self.cohorts * self.hashes, self.bits, self.seed).coefficients
        _set_bits(coefficients, digests, cohort, self.hashes, np.uint64(self.bits), filters)
        return filters

    def sample(self, items: "NDArray[np.uint64]", source: "Source") -> Bytes:
        half, cohort = uniform_below(2, items.size, source), uniform_below(self.cohorts, items.size, source)
        # A client that reports once needs no permanent response: q* and p* are the probabilities of its bits.
        return self._pack(
            self._randomize(self._filters(items, cohort), *self.report_probabilities, source), cohort, half
        )

    def _randomize(
        self, bits: "NDArray[np.uint64]", one: Fraction, zero: Fraction, source: "Source"
    ) -> "NDArray[np.uint64]":
        ones = packed_bernoulli(one, len(bits), self.bits, source)
        zeros = packed_bernoulli(zero, len(bits), self.bits, source)
        return zeros ^ (bits & (ones ^ zeros))

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:
        client = memo("client", 0)
        half, cohort = integer_below(2, client), integer_below(self.cohorts, client)
        filters = self._filters(np.array([item], dtype=np.uint64), np.array([cohort]))
        kept = int.from_bytes(filters.astype("<u8").tobytes(), "little") ^ self._draw_flips(int(item), memo)
        shown = sum(flip(self.q if kept >> i & 1 else self.p, source) << i for i in range(self.bits))
        return shown | cohort << self.bits | half << (self._report_bits() - 1)

    def _draw_flips(self, value: int, memo: Memo) -> int:
        answers = memo("value", value)
        return sum(flip(self.f / 2, answers) << i for i in range(self.bits)) if self.f else 0

    def sample_memoised(self, items: "NDArray[np.uint64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        words = keyed_words(self.derive_keys(secrets, "client", 0), 2)
        half, _ = reduce_words(words[:, 0], 2)
        cohort, again = reduce_words(words[:, 1], self.cohorts)
        for i in np.flatnonzero(again).tolist():  # once in 2^44 clients
            client = self.open_memo(bytes(secrets[i]))("client", 0)
            half[i], cohort[i] = integer_below(2, client), integer_below(self.cohorts, client)
        kept = self._filters(items, cohort)
        rows = max(1, _BLOCK // self.bits) if self.f else max(1, items.size)
        for first in range(0, items.size if self.f else 0, rows):
            part = slice(first, first + rows)
            kept[part] ^= self._flips(items[part], secrets[part])
        return self._pack(self._randomize(kept, self.q, self.p, source), cohort, half)

    def _flips(self, items: "NDArray[np.uint64]", secrets: "NDArray[np.uint8]") -> "NDArray[np.uint64]":
        """Return the bits that the permanent responses flip, as ``_draw_flips`` draws them."""
        words = keyed_words(self.derive_keys(secrets, "value", items), self.bits)
        turned, tied = flip_words(words, ratio_enclosure(self.f / 2))
        packed = np.zeros((items.size, -(-self.bits // _WORD) * 8), dtype=np.uint8)
        packed[:, : -(-self.bits // 8)] = np.packbits(turned, axis=1, bitorder="little")
        for i in np.flatnonzero(tied.any(axis=1)).tolist():  # once in 2^50 clients
            number = self._draw_flips(int(items[i]), self.open_memo(bytes(secrets[i])))
            packed[i] = np.frombuffer(number.to_bytes(packed.shape[1], "little"), dtype=np.uint8)
        return packed.view("<u8").astype(np.uint64, copy=False)

    def _pack(self, shown: "NDArray[np.uint64]", cohort: "NDArray[np.int64]", half: "NDArray[np.int64]") -> Bytes:
        return pack_vector(shown, self.bits, [(cohort, field_width(self.cohorts)), (half, 1)])

    def _unpack(self, payload: Bytes) -> "tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]":
        shown, (cohort, half) = unpack_vector(payload, self.bits, [field_width(self.cohorts), 1])
        return shown, cohort.astype(np.int64), half.astype(np.int64)

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (2, self.cohorts, self.bits), "sizes": (2, self.cohorts)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["sizes"]) == reports and bool((state["ones"] <= state["sizes"][..., None]).all())

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        return has_clear_padding(payload, self._report_bits()) & (self._unpack(payload)[1] < self.cohorts)

    def accumulate(self, state: State, payload: Bytes) -> None:
        shown, cohort, half = self._unpack(payload)
        _count(shown, half * self.cohorts + cohort, state["ones"].reshape(-1, self.bits), state["sizes"].reshape(-1))

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        from celosia.local.longitudinal.rappor_decode import estimate

        return estimate(aggregate, candidates, postprocess)


def _ratio(f: Fraction, p: Fraction, q: Fraction, reports: int) -> Fraction:
    """Return the likelihood ratio of a filter's bit, 1 or 0, after reports that all show ones."""
    flip_rate = f / 2
    one = (1 - flip_rate) * q**reports + flip_rate * p**reports
    zero = flip_rate * q**reports + (1 - flip_rate) * p**reports
    return max(one / zero, zero / one)


@njit(cache=True, nogil=True)
def _set_bits(
    coefficients: "NDArray[np.uint64]",
    digests: "NDArray[np.uint64]",
    cohort: "NDArray[np.int64]",
    hashes: int,
    width: np.uint64,
    filters: "NDArray[np.uint64]",
) -> None:
    for i in range(digests.size):
        x = reduce61(digests[i])
        for a in range(hashes):
            bit = to_range(evaluate_row(coefficients, cohort[i] * hashes + a, x), width)
            filters[i, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@njit(cache=True, nogil=True)
def _count(
    shown: "NDArray[np.uint64]", group: "NDArray[np.int64]", ones: "NDArray[np.int64]", sizes: "NDArray[np.int64]"
) -> None:
    bits = ones.shape[1]
    for row in range(len(shown)):
        counts = ones[group[row]]
        sizes[group[row]] += 1
        for word in range(shown.shape[1]):
            some = shown[row, word]
            first = 64 * word
            for i in range(min(64, bits - first)):
                counts[first + i] += np.int64((some >> np.uint64(i)) & np.uint64(1))
