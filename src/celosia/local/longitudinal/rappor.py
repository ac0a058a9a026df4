"""RAPPOR: strings as Bloom filters, whose bits are randomized once for good and once for each report.

A value sets ``hashes`` of ``bits`` bits, by the hash functions of the client's cohort. The permanent response turns
each bit with probability f/2 and stays: it is drawn from the client's secret and the value. A report shows a 1 with
probability q where the permanent bit is 1, and p where it is 0. Two values differ in 2 hashes bits at most: this gives
epsilon for one report, and epsilon_infinity for all reports of a value that stays. Erlingsson, Pihur and Korolova 2014.
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
from celosia.local.base.packing import Bytes, clear_padding, field_width, pack_vector, unpack_vector
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

_MOST_BITS = 1 << 16
_MOST_ROWS = 1 << 20
_MOST_OUTPUTS = 16  # bits
_FULL = 0.999  # the chance of a bit from which on all filters are full
_MOST_POWERS = 512
_BLOCK = 1 << 19  # words of keystream at a time
_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Rappor(Memoised[Estimate]):
    """Counts of values of an open domain (integers, texts or bytes), of which candidates are known when it is asked.

    A report is the filter's bits, then the cohort, then the half: one bit drawn by the client, so that a server can
    choose among candidates by one half of the reports and test its choice by the other (``rappor_decode``). Cohort c
    has the rows c hashes, c hashes + 1, … of a ``HashFamily`` of width ``bits`` with the protocol's seed, at the digest
    (same seed) of the value.

    Drawn in this order: the half, below 2, and the cohort, from the client's memo; for each bit whether it is turned
    (not drawn if f = 0), from the memo of the digest; then afresh for each bit what is shown.

    Parameters
    ----------
    bits, hashes, cohorts
        The size of a filter, how many bits a value sets, how many sets of hash functions there are.
    f, p, q
        The probabilities, taken exactly. With f = 0 nothing stays, and reports add up for ever.
    seed
        Which hash functions.

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
        self._set(epsilon=exact_epsilon(self._spent(1)))
        if epsilon is not None and exact_epsilon(epsilon) != self.epsilon:
            found = f"≈{float(self.epsilon):.6g}"
            raise ParameterError(f"epsilon follows from hashes, f, p and q; it is {found}, not {safe_repr(epsilon)}.")

    def _check(self) -> None:
        if self.bits > _MOST_BITS or self.cohorts * max(self.hashes, self.bits) > _MOST_ROWS:
            raise ParameterError(
                f"bits must be at most {_MOST_BITS}, and cohorts times bits or hashes at most {_MOST_ROWS}, not "
                f"bits={safe_repr(self.bits)}, hashes={safe_repr(self.hashes)}, cohorts={safe_repr(self.cohorts)}."
            )
        if self.f == 1 or self.p == self.q or self._density() > _FULL:
            raise ParameterError(
                "f must be less than 1, p different from q, and hashes few for the bits: else reports say nothing."
            )
        if self.f == 0 and {self.p, self.q} & {Fraction(0), Fraction(1)}:
            raise ParameterError(
                "p and q must be greater than 0 and less than 1 when f is 0: else reports tell the truth."
            )

    def _derived_fields(self) -> tuple[str, ...]:
        return ("epsilon",)

    @property
    def shown(self) -> tuple[Fraction, Fraction]:
        """The probabilities q* and p* that a report shows 1 where the filter has a 1, and where it has a 0.

        >>> Rappor(f=0.5, p=0.5, q=0.75).shown
        (Fraction(11, 16), Fraction(9, 16))
        """
        mixed = self.f * (self.p + self.q) / 2
        return mixed + (1 - self.f) * self.q, mixed + (1 - self.f) * self.p

    @property
    def epsilon_infinity(self) -> Fraction | None:
        """What all reports of one value that never changes spend together; None where nothing is permanent.

        >>> round(float(Rappor(hashes=2, f=0.5).epsilon_infinity), 4)
        4.3944
        """
        if self.f == 0:
            return None
        return self._differing((2 / self.f - 1, 2 / self.f - 1))

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return what reports of so many values spend under ``SameChanges`` when the permanent responses are kept.

        At most epsilon_infinity for each value, and at most epsilon for each report; for fewer reports it is what the
        likeliest sequence tells, exactly. It holds between histories that change and return at the same times, a value
        that stays in particular. See ``plain_lifetime_epsilon`` for any two histories. Computational: HMAC.

        >>> protocol = Rappor(hashes=2, f=0.5, p=0.5, q=0.75)
        >>> [round(float(protocol.lifetime_epsilon(reports, 1)), 3) for reports in (1, 2, 10, 1000)]
        [1.074, 2.017, 4.299, 4.394]
        >>> round(float(protocol.lifetime_epsilon(1000, 3)), 3)
        13.183
        """
        times, different = self.exact_history(reports, values)
        each, more = divmod(times, different)
        # Spending is concave in the number of reports, so that it is largest where they are spread evenly.
        return (more * self._spent(each + 1) if more else 0) + (different - more) * self._spent(each)

    def plain_lifetime_epsilon(self, reports: int, values: int) -> Fraction | None:
        """Return what reports spend together between any two histories of so many values; None: no finite bound.

        The first report spends epsilon. Each further one can spend the loss of one instantaneous bit in all bits of the
        filter; over long times less, as one permanent bit explains some reports of all (proofs/rappor.md, 5). None is
        finite without instantaneous noise; where f is 0, all reports spend what they spend one by one.

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

    def _spent(self, reports: int) -> Fraction:
        """Return what so many reports of one value spend: the likeliest are all ones, and all zeros."""
        if self.f == 0 and reports > 1:
            return reports * self.epsilon
        if reports > _MOST_POWERS and (limit := self.epsilon_infinity) is not None:
            return limit
        return self._differing(
            (_ratio(self.f, self.p, self.q, reports), _ratio(self.f, 1 - self.p, 1 - self.q, reports))
        )

    def _differing(self, ratios: tuple[Fraction, Fraction]) -> Fraction:
        """Return the loss of two filters that differ as much as they can, from those of a 1 for a 0 and a 0 for a 1."""
        small, large = sorted(ratios)
        most = min(self.hashes, self.bits)
        rest = min(self.hashes, self.bits - most)
        return rest * log_at_least(small * large) + (most - rest) * log_at_least(large)

    @property
    def bytes_per_report(self) -> int:
        """How many bytes a report has: its filter, cohort and half.

        >>> Rappor(bits=128, cohorts=32).bytes_per_report
        17
        """
        return -(-self._report_bits() // 8)

    def _report_bits(self) -> int:
        return self.bits + field_width(self.cohorts) + 1

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count, when so many of the reporters have the value.

        It is that of the coins, and of the draw of cohorts where the others' values are all different. It is for few
        candidates; many that share bits have more, by about 1 / (1 - candidates / (bits cohorts)).

        >>> round(Rappor(bits=128, hashes=8, cohorts=1, f=0.5, p=0.5, q=0.75).variance(500_000) ** 0.5)
        1038
        """
        check_crowd(reports, count)
        if_one, if_zero = (float(shown * (1 - shown)) for shown in self.shown)
        set_bits = self.bits * self._density()
        noise = reports * if_zero / (set_bits * (1 - self._density())) + count * (if_one - if_zero) / set_bits
        return noise / self._gap() ** 2 + (reports - count) * self._overlap() * (1 - 1 / self.cohorts)

    def _overlap(self) -> float:
        """Return the variance, over hash functions, of what a person adds to another value's count in one cohort."""
        both = (1 - 2 / self.bits) ** self.hashes - (1 - self._density()) ** 2  # of two bits of one filter
        alone = self._density() * (1 - self._density())
        return float((1 + (self.bits - 1) * (both / alone) ** 2) / self.bits)

    def _density(self) -> float:
        """Return the chance that a value sets a given bit."""
        return float(1 - (1 - 1 / self.bits) ** self.hashes)

    def _gap(self) -> float:
        return float((1 - self.f) * (self.q - self.p))

    def outputs(self) -> Bytes | None:
        """All filters with all cohorts and both halves.

        >>> Rappor(bits=4, cohorts=2).outputs().shape
        (64, 1)
        """
        if self._report_bits() > _MOST_OUTPUTS:
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
        both, ones, told, either = (count.astype(np.float64) for count in counts)
        if_one, if_zero = (float(chance) for chance in self.shown)
        inside = both * np.log(if_one) + (ones - both) * np.log1p(-if_one)
        outside = (told - both) * np.log(if_zero) + (self.bits - either) * np.log1p(-if_zero)
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
        # The response of a client that never reports again need not be drawn: q* and p* are what is seen of it.
        return self._pack(self._say(self._filters(items, cohort), *self.shown, source), cohort, half)

    def _say(self, bits: "NDArray[np.uint64]", one: Fraction, zero: Fraction, source: "Source") -> "NDArray[np.uint64]":
        ones = packed_bernoulli(one, len(bits), self.bits, source)
        zeros = packed_bernoulli(zero, len(bits), self.bits, source)
        return zeros ^ (bits & (ones ^ zeros))

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:
        client = memo("client", 0)
        half, cohort = integer_below(2, client), integer_below(self.cohorts, client)
        filters = self._filters(np.array([item], dtype=np.uint64), np.array([cohort]))
        kept = int.from_bytes(filters.astype("<u8").tobytes(), "little") ^ self._turned(int(item), memo)
        shown = sum(flip(self.q if kept >> i & 1 else self.p, source) << i for i in range(self.bits))
        return shown | cohort << self.bits | half << (self._report_bits() - 1)

    def _turned(self, value: int, memo: Memo) -> int:
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
            kept[part] ^= self._turns(items[part], secrets[part])
        return self._pack(self._say(kept, self.q, self.p, source), cohort, half)

    def _turns(self, items: "NDArray[np.uint64]", secrets: "NDArray[np.uint8]") -> "NDArray[np.uint64]":
        """Return which bits the permanent responses turn, as ``_turned`` draws them."""
        words = keyed_words(self.derive_keys(secrets, "value", items), self.bits)
        turned, tied = flip_words(words, ratio_enclosure(self.f / 2))
        packed = np.zeros((items.size, -(-self.bits // _WORD) * 8), dtype=np.uint8)
        packed[:, : -(-self.bits // 8)] = np.packbits(turned, axis=1, bitorder="little")
        for i in np.flatnonzero(tied.any(axis=1)).tolist():  # once in 2^50 clients
            number = self._turned(int(items[i]), self.open_memo(bytes(secrets[i])))
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
        return clear_padding(payload, self._report_bits()) & (self._unpack(payload)[1] < self.cohorts)

    def accumulate(self, state: State, payload: Bytes) -> None:
        shown, cohort, half = self._unpack(payload)
        _count(shown, half * self.cohorts + cohort, state["ones"].reshape(-1, self.bits), state["sizes"].reshape(-1))

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        from celosia.local.longitudinal.rappor_decode import estimate

        return estimate(aggregate, candidates, postprocess)


def _ratio(f: Fraction, p: Fraction, q: Fraction, reports: int) -> Fraction:
    """Return how much likelier a filter's bit shows all ones in so many reports if it is 1, or if it is 0."""
    turned = f / 2
    one = (1 - turned) * q**reports + turned * p**reports
    zero = turned * q**reports + (1 - turned) * p**reports
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
