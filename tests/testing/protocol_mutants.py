"""Local protocols with one planted mistake each, and what the conformance kit must say of them.

All are direct encoding over a few values but for one method: nothing else can be to blame.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core import PureDP, RandomizedResponseEvent, ReplaceOne
from celosia.local.base.packing import pack, unpack
from celosia.local.base.protocol import PERSON
from celosia.local.base.reports import Reports
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.noise import Seeded
from celosia.noise.bernoulli import bernoulli, flip
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.local.base.aggregate import Aggregate
    from celosia.local.base.estimate import Estimate
    from celosia.local.base.packing import Bytes
    from celosia.local.base.protocol import State


def truth(protocol: DirectEncoding) -> float:
    return 1 / (1 + (protocol.size - 1) * math.exp(-float(protocol.epsilon)))


class StatesTooMuch(DirectEncoding):
    """The truth is told a little too often, and the law says so: its flip probability is 2 % too small."""

    __slots__ = ()

    def log_masses(self, value: Any, payload: Bytes) -> NDArray[np.float64]:
        lie = 0.98 * (1 - truth(self))
        (said,) = unpack(payload, [self.bits])
        return np.where(said == self.encode([value])[0], math.log1p(-lie), math.log(lie / (self.size - 1)))


class DrawsTooTrue(DirectEncoding):
    """The sampler's flip probability is 2 % too small, and the law does not say so."""

    __slots__ = ()

    def sample(self, items: NDArray[np.int64], source: Source) -> Bytes:
        kept = ~bernoulli(Fraction(0.98 * (1 - truth(self))), items.size, source)
        others = uniform_below(self.size - 1, items.size, source)
        return pack([(np.where(kept, items, others + (others >= items)), self.bits)])


class DevicesDrawTooTrue(DirectEncoding):
    """The word-by-word sampler never lies where it should half of the time that it should."""

    __slots__ = ()

    def sample_one(self, item: Any, source: Source) -> int:
        kept = not flip(Fraction(0.5 * (1 - truth(self))), source)
        other = integer_below(self.size - 1, source)
        return int(item) if kept else other + (other >= int(item))


class PromisesTooMuch(DirectEncoding):
    """Its guarantee is a tenth smaller than what a report spends."""

    __slots__ = ()

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon * Fraction(9, 10), adjacency=ReplaceOne, unit=PERSON)

    @property
    def event(self) -> RandomizedResponseEvent:
        return RandomizedResponseEvent(epsilon=self.epsilon * Fraction(9, 10), categories=self.size, unit=PERSON)


class CheapEvent(DirectEncoding):
    """Its event is that of a protocol over more values, which reveals less on average."""

    __slots__ = ()

    @property
    def event(self) -> RandomizedResponseEvent:
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=100 * self.size, unit=PERSON)


class HalfEpsilon(DirectEncoding):
    """The server removes the noise of half the epsilon: every estimate is too large."""

    __slots__ = ()

    def estimate(self, aggregate: Aggregate[Any], candidates: Any, postprocess: str | None) -> Estimate:
        half = DirectEncoding(domain=self.domain, epsilon=self.epsilon / 2)
        return half.estimate(aggregate, candidates, postprocess)


class HalfVariance(DirectEncoding):
    """A factor of two is missing from the stated variance."""

    __slots__ = ()

    def variance(self, reports: int, count: float = 0.0) -> float:
        return DirectEncoding.variance(self, reports, count) / 2


class DoubleVariance(DirectEncoding):
    """The stated variance is twice as large as it need be."""

    __slots__ = ()

    def variance(self, reports: int, count: float = 0.0) -> float:
        return super().variance(reports, count) * 2


class LastBatchWins(DirectEncoding):
    """A batch that has a value sets its count where it should add to it."""

    __slots__ = ()

    def accumulate(self, state: State, payload: Bytes) -> None:
        (said,) = unpack(payload, [self.bits])
        counts = np.bincount(said.astype(np.int64), minlength=self.size)
        state["said"][counts > 0] = counts[counts > 0] + (said[0] if len(said) else 0)


class TakesAll(DirectEncoding):
    """The server counts reports that no client could have sent."""

    __slots__ = ()

    def is_valid(self, payload: Bytes) -> NDArray[np.bool_]:
        return np.ones(len(payload), dtype=np.bool_)

    def accumulate(self, state: State, payload: Bytes) -> None:
        (said,) = unpack(payload, [8])
        state["said"] += np.bincount(said.astype(np.int64) % self.size, minlength=self.size)


class TakesTooFew(DirectEncoding):
    """The server drops the largest value."""

    __slots__ = ()

    def is_valid(self, payload: Bytes) -> NDArray[np.bool_]:
        (said,) = unpack(payload, [8])
        return said < self.size - 1


class HidesTheSeed(DirectEncoding):
    """Says ``seeded=False`` of seeded reports."""

    __slots__ = ()

    def privatize(self, values: Any, *, source: Source | None = None) -> Reports:
        return Reports(protocol=self, payload=super().privatize(values, source=source).payload)


class IgnoresTheSource(DirectEncoding):
    """Draws from a source of its own."""

    __slots__ = ()

    def privatize(self, values: Any, *, source: Source | None = None) -> Reports:
        honest = super().privatize(values)
        return Reports(protocol=self, payload=honest.payload, seeded=source is not None)


class AlwaysTheSame(DirectEncoding):
    """Its default source is a seed."""

    __slots__ = ()

    def privatize(self, values: Any, *, source: Source | None = None) -> Reports:
        made = super().privatize(values, source=source or Seeded(5))
        return Reports(protocol=self, payload=made.payload, seeded=source is not None)


class Quotes(DirectEncoding):
    """Repeats the value in its error."""

    __slots__ = ()

    def encode(self, values: Any) -> NDArray[np.int64]:
        from celosia.core.errors import InputError

        try:
            return super().encode(values)
        except InputError:
            message = f"{values!r} is no good"
            raise InputError(message) from None


class Loose(DirectEncoding):
    """Lists a report twice."""

    __slots__ = ()

    def outputs(self) -> Bytes | None:
        listed = super().outputs()
        return None if listed is None else np.concatenate([listed, listed[:1]])


MUTANTS: dict[str, tuple[Callable[..., DirectEncoding], str]] = {
    "states a flip 2 % off": (StatesTooMuch, "law: two values' probabilities reach"),
    "promises too much": (PromisesTooMuch, "law: two values' probabilities reach"),
    "lists a report twice": (Loose, "law: outputs lists a report twice"),
    "cheap event": (CheapEvent, "event: the law reaches"),
    "devices draw too true": (DevicesDrawTooTrue, "scalar: .* p-value"),
    "half epsilon": (HalfEpsilon, "bias: an estimate is"),
    "half variance": (HalfVariance, "variance: estimates vary 2"),
    "double variance": (DoubleVariance, "variance: estimates vary only 0.5"),
    "the last batch wins": (LastBatchWins, "merging|bias"),
    "takes all": (TakesAll, "hostile: the server accepts"),
    "takes too few": (TakesTooFew, "bias|wire|hostile"),
    "hides the seed": (HidesTheSeed, "seeds: .* must have seeded=True"),
    "ignores the source": (IgnoresTheSource, "seeds: the same seed gave different reports"),
    "always the same": (AlwaysTheSame, "seeds: two seeds gave the same reports, or the default source"),
    "quotes": (Quotes, "refusals: an error of the client quotes"),
}
"""How to make each, and the check that must convict it."""
