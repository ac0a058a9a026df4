"""1BitMean: the mean of a bounded counter from one bit a person, day after day.

A number at the share x of its interval is rounded up with probability x, and the bit is told truly with probability
e^epsilon / (e^epsilon + 1): it shows 1 with probability 1/(e^epsilon + 1) + x (e^epsilon - 1)/(e^epsilon + 1), and is
epsilon-private. With a secret, the client draws its threshold of rounding (alpha) and its two answers, for "low" and
for "high", once and for all: a counter that stays on one side of the threshold gives the same bit every day. Ding,
Kulkarni and Yekhanin 2017, with alpha-point rounding over the whole range.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.local.base.estimate import MeanEstimate
from celosia.local.base.memoised import Memo, Memoised, flip_words, reduce_words
from celosia.local.base.packing import Bytes, pack, unpack
from celosia.local.base.protocol import PERSON, State
from celosia.local.means.duchi import TrueBit
from celosia.local.means.interval import exact_bounds, read_parts
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.decide import logistic_enclosure
from celosia.noise.keyed import keyed_words
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate

_PARTS = 1 << 52  # of the interval: about as fine as doubles are


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class OneBitMean(Memoised[MeanEstimate]):
    """A mean from one bit a person, which may be the same bit for years.

    Drawn in this order: the threshold, an integer below 2^52 from the client's memo, and then whether the truth is
    told, from the memo of 1 if the number lies above the threshold (so many parts of the interval), else of 0.

    Parameters
    ----------
    low, high
        The bounds of the numbers; clip before reporting.
    epsilon
        What one report spends.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = OneBitMean(low=0, high=24, epsilon=1)
    >>> reports = protocol.privatize([8.5] * 10_000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate()
    MeanEstimate(8.55152 ± 0.26, reports=10000)
    """

    low: Fraction
    high: Fraction

    def __init__(self, *, low: Exact, high: Exact, epsilon: Exact) -> None:
        least, most = exact_bounds(low, high)
        self._set(low=least, high=most, epsilon=exact_epsilon(epsilon))

    @property
    def event(self) -> RandomizedResponseEvent:
        """What one report runs.

        >>> OneBitMean(low=0, high=24, epsilon=1).event.categories
        2
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=2, unit=PERSON)

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return what replayed bits spend under ``SameChanges``: epsilon for a number that stays, twice if it moves.

        It holds between histories that cross the client's threshold at the same times. That, and when, a number crossed
        it is not hidden: between any two histories no epsilon is finite (``plain_lifetime_epsilon``).

        >>> protocol = OneBitMean(low=0, high=24, epsilon=1)
        >>> protocol.lifetime_epsilon(365, 1), protocol.lifetime_epsilon(365, 100)
        (Fraction(1, 1), Fraction(2, 1))
        """
        _, different = self.exact_history(reports, values)
        return min(different, 2) * self.epsilon

    @property
    def bits(self) -> int:
        """A report is one bit.

        >>> OneBitMean(low=0, high=24, epsilon=1).bits
        1
        """
        return 1

    def variance(self, reports: int) -> float:
        """Return the variance of the estimated mean of so many people, whose numbers are the least favourable ones.

        >>> round(OneBitMean(low=-1, high=1, epsilon=1).variance(1), 2)
        4.68
        """
        return (self._width() / (2 * math.tanh(float(self.epsilon) / 2))) ** 2 / exact_integer(reports, name="reports")

    def outputs(self) -> Bytes | None:
        """Both bits.

        >>> OneBitMean(low=0, high=24, epsilon=1).outputs().tolist()
        [[0], [1]]
        """
        return pack([(np.arange(2), 1)])

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of the bits.

        >>> protocol = OneBitMean(low=0, high=24, epsilon=1)
        >>> np.exp(protocol.log_masses(12, protocol.outputs())).tolist()
        [0.5, 0.5]
        """
        (said,) = unpack(payload, [1])
        return self._bit().log_masses(int(self.encode([value])[0]), said)

    def _bit(self) -> TrueBit:
        """Return the law of a bit, which is Duchi's; only what stays of it is another matter."""
        return TrueBit(epsilon=self.epsilon, parts=_PARTS)

    def _width(self) -> float:
        return float(self.high) - float(self.low)

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return read_parts(values, self.low, self.high, _PARTS)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        high = uniform_below(_PARTS, items.size, source) < items
        return pack([(high == bernoulli_logistic(self.epsilon, items.size, source=source), 1)])

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:  # noqa: ARG002 - an item of encode
        high = integer_below(_PARTS, memo("client", 0)) < int(item)
        return int(high == flip_logistic(self.epsilon, 2, memo("value", int(high))))

    def sample_memoised(self, items: "NDArray[np.int64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        threshold, _ = reduce_words(keyed_words(self.derive_keys(secrets, "client", 0), 1)[:, 0], _PARTS)
        high = threshold < items
        words = keyed_words(self.derive_keys(secrets, "value", high.astype(np.int64)), 1)[:, 0]
        told, tied = flip_words(words, logistic_enclosure(self.epsilon, 1))
        said = high == told
        for i in np.flatnonzero(tied).tolist():  # once in 2^64 clients
            said[i] = self.sample_one_memoised(items[i], self.open_memo(bytes(secrets[i])), source)
        return pack([(said, 1)])

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"high": (1,)}

    def accumulate(self, state: State, payload: Bytes) -> None:
        state["high"] += int(np.count_nonzero(payload))

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> MeanEstimate:
        if candidates is not None or postprocess is not None:
            given = "candidates" if candidates is not None else f"postprocess={safe_repr(postprocess)}"
            raise ParameterError(f"A mean is estimated without {given}: its interval is cut to the bounds already.")
        n, bounds = aggregate.reports, (float(self.low), float(self.high))
        if not n:  # nothing is known but the bounds
            return MeanEstimate(mean=sum(bounds) / 2, standard_error=math.inf, reports=0, bounds=bounds)
        half, (mean, variance) = self._width() / 2, self._bit().centre(int(aggregate.state["high"][0]), n)
        error = half * math.sqrt(variance / n)
        return MeanEstimate(mean=bounds[0] + half + half * mean, standard_error=error, reports=n, bounds=bounds)
