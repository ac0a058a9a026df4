"""Unary encoding: one bit for each value of the domain, all of them noisy.

The bit of the client's value is 1 with probability p, each other bit with probability q. Two values differ in two bits,
so the loss is ln(p (1 - q) / (q (1 - p))). Optimized unary encoding has p = 1/2 and q = 1 / (e^epsilon + 1), which is
best for rare values (Wang, Blocki, Li and Jha 2017). The symmetric one keeps every bit with the same probability p = 1
- q = e^(epsilon/2) / (e^(epsilon/2) + 1): RAPPOR's one-time response (Erlingsson, Pihur and Korolova 2014). The
variance does not depend on the size of the domain, the report does. See ``proofs/unary-encoding.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import Event, RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, safe_repr
from celosia.core.structure import RepeatedEvent
from celosia.local.base.bit_counts import add_bits, count_ones
from celosia.local.base.packing import Bytes, pack, pack_vector
from celosia.local.base.protocol import PERSON, State
from celosia.local.base.support_probabilities import BitVectorProtocol, SupportProbabilities
from celosia.local.base.values import Domain, exact_domain
from celosia.noise.bernoulli import flip, flip_logistic
from celosia.noise.packed import packed_logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_LISTED_BITS = 16
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class OptimizedUnary(BitVectorProtocol):
    """Optimized (or symmetric) unary encoding over a known domain.

    See ``celosia.local`` for ``domain`` and ``epsilon``. If ``symmetric``, all bits are kept with the same probability,
    as in RAPPOR's one-time response: better only if most people have one value.

    >>> from celosia.noise import Seeded
    >>> protocol = OptimizedUnary(domain=["red", "green", "blue"], epsilon=2)
    >>> reports = protocol.privatize(["red"] * 600 + ["blue"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["blue"])
    Estimate(blue: 414 ± 34; reports=1000)
    """

    symmetric: bool = False

    def __init__(self, *, domain: Domain | list[str] | list[int], epsilon: Exact, symmetric: bool = False) -> None:
        if not isinstance(symmetric, bool):
            raise ParameterError("local.symmetric_not_boolean", value=safe_repr(symmetric))
        self._set(domain=exact_domain(domain), epsilon=exact_epsilon(epsilon), symmetric=symmetric)

    @property
    def event(self) -> Event:
        """The event of one report; of the symmetric kind, two randomized bits of half the epsilon each.

        >>> OptimizedUnary(domain=4, epsilon=1, symmetric=True).event.times
        2
        """
        if self.symmetric:
            return RepeatedEvent(event=RandomizedResponseEvent(epsilon=self.epsilon / 2, unit=PERSON), times=2)
        return super(OptimizedUnary, self).event

    def outputs(self) -> Bytes | None:
        """All vectors of bits, of domains of at most 16 values.

        >>> len(OptimizedUnary(domain=4, epsilon=1).outputs())
        16
        """
        return pack([(np.arange(1 << self.size), self.size)]) if self.size <= _MAX_LISTED_BITS else None

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the sum of the log probabilities of the bits.

        >>> protocol = OptimizedUnary(domain=2, epsilon=1)
        >>> np.exp(protocol.log_masses(0, protocol.outputs())).round(3).tolist()
        [0.366, 0.366, 0.134, 0.134]
        """
        own = self._own_bits(value, payload)
        rate = float(self._rate)
        log_zero = -math.log1p(math.exp(-rate))  # of any other bit; a one costs rate more
        others = (self.size - 1) * log_zero - rate * (count_ones(payload) - own)
        log_own = np.where(own, log_zero, log_zero - rate) if self.symmetric else -math.log(2)
        return np.asarray(others + log_own, dtype=np.float64)

    @property
    def _rate(self) -> Fraction:
        """The log odds of a bit that is not the own one."""
        return self.epsilon / 2 if self.symmetric else self.epsilon

    def _chances(self) -> SupportProbabilities:
        ratio = math.exp(-float(self._rate))
        lost, gap = ratio / (1 + ratio), -math.expm1(-float(self._rate)) / (1 + ratio)
        if self.symmetric:
            return SupportProbabilities(if_true=1 / (1 + ratio), if_not=lost, gap=gap)
        return SupportProbabilities(if_true=0.5, if_not=lost, gap=gap / 2)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        vectors = packed_logistic(self._rate, items.size, self.size, complement=True, source=source)
        rows, words, shifts = np.arange(items.size), items >> 6, (items & 63).astype(np.uint64)
        own = vectors[rows, words]
        if self.symmetric:
            vectors[rows, words] = own ^ (np.uint64(1) << shifts)
        else:
            coins = source.words(-(-items.size // 64)).astype("<u8", copy=False).view(np.uint8)
            halves = np.unpackbits(coins, count=items.size).astype(np.uint64)
            vectors[rows, words] = (own & ~(np.uint64(1) << shifts)) | (halves << shifts)
        return pack_vector(vectors, self.size)

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw one coin for each bit, from 0 on: True keeps it. The own bit may be a fair coin."""
        own, vector = int(item), 0
        for place in range(self.size):
            if place == own and not self.symmetric:
                bit = flip(_HALF, source)
            else:
                bit = flip_logistic(self._rate, 2, source) == (place == own)
            vector |= bit << place
        return vector

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"ones": (self.size,)}

    def accumulate(self, state: State, payload: Bytes) -> None:
        add_bits(payload, state["ones"])
