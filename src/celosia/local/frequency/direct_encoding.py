"""Direct encoding: report the true value with a known probability, otherwise another value, uniformly.

Also called generalized, or k-ary, randomized response (Kairouz, Bonawitz and Ramage 2016). With k values the report
is true with probability p = e^epsilon / (e^epsilon + k - 1), any other value with q = 1 / (e^epsilon + k - 1): for two
people, the probabilities of a report differ by a factor of at most e^epsilon. Its variance grows with k.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.events import RandomizedResponseEvent
from celosia.local.base.checks import exact_total
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.base.support_probabilities import SupportProbabilities, SupportProtocol
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class DirectEncoding(SupportProtocol):
    """Generalized randomized response over a known domain; see ``celosia.local`` for ``domain`` and ``epsilon``.

    >>> from celosia.noise import Seeded
    >>> protocol = DirectEncoding(domain=["red", "green", "blue"], epsilon=2)
    >>> reports = protocol.privatize(["red"] * 600 + ["blue"] * 400, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate(["blue"]).counts.round().tolist()
    [414.0]
    """

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of one report.

        >>> DirectEncoding(domain=4, epsilon=1).event.categories
        4
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=self.size, unit=PERSON)

    @property
    def bits(self) -> int:
        """A report is the number of a value.

        >>> DirectEncoding(domain=4, epsilon=1).bits
        2
        """
        return field_width(self.size)

    def outputs(self) -> Bytes | None:
        """All values, as reports.

        >>> len(DirectEncoding(domain=4, epsilon=1).outputs())
        4
        """
        return pack([(np.arange(self.size), self.bits)]) if self.size <= MAX_OUTPUTS else None

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return log p for the true value, log q for the others.

        >>> protocol = DirectEncoding(domain=2, epsilon=1)
        >>> np.diff(protocol.log_masses(0, protocol.outputs())).tolist()
        [-1.0]
        """
        (reported,) = unpack(payload, [self.bits])
        log_true = -math.log1p((self.size - 1) * math.exp(-float(self.epsilon)))
        return np.where(reported == self.encode([value])[0], log_true, log_true - float(self.epsilon))

    def _chances(self) -> SupportProbabilities:
        ratio = math.exp(-float(self.epsilon))
        weight = 1 + (self.size - 1) * ratio
        return SupportProbabilities(
            if_true=1 / weight, if_not=ratio / weight, gap=-math.expm1(-float(self.epsilon)) / weight
        )

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        kept = bernoulli_logistic(self.epsilon, items.size, categories=self.size, source=source)
        others = uniform_below(self.size - 1, items.size, source)
        return pack([(np.where(kept, items, others + (others >= items)), self.bits)])

    def sample_one(self, item: Any, source: "Source") -> int:
        kept = flip_logistic(self.epsilon, self.size, source)
        other = integer_below(self.size - 1, source)  # always drawn: the time must not reveal which one
        return int(item) if kept else other + (other >= int(item))

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"said": (self.size,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        return exact_total(state["said"]) == reports

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        # slots=True replaces the class
        padded = super(DirectEncoding, self).is_valid(payload)
        (reported,) = unpack(payload, [self.bits])
        return padded & (reported < self.size)

    def accumulate(self, state: State, payload: Bytes) -> None:
        (reported,) = unpack(payload, [self.bits])
        state["said"] += np.bincount(reported.astype(np.int64), minlength=self.size)
