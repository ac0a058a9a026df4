"""Duchi's mechanism for a mean: the value rounded at random to a bound, then randomized response on that bit.

A number x between low and high becomes "high" with probability (x - low)/(high - low), else "low"; the bit is true with
probability e^epsilon/(e^epsilon + 1). That is binary randomized response of a random bit, so a report is
epsilon-private, and has one bit. It is best for a small epsilon: its variance never falls below that of the rounding.
Duchi, Jordan and Wainwright 2018, in one dimension.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import Exact
from celosia.local.base.packing import Bytes, pack, unpack
from celosia.local.base.protocol import PERSON, State
from celosia.local.means.base import MeanProtocol
from celosia.noise.bernoulli import bernoulli_logistic, flip_logistic
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_PARTS = 1 << 52


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueBit:
    """The law of Duchi's bit, for a number that lies at a part out of ``parts`` between the bounds."""

    epsilon: Fraction
    parts: int

    @property
    def factor(self) -> float:
        """The factor by which the mean of the bits is too small."""
        return 1 / math.tanh(float(self.epsilon) / 2)

    def variance_at(self, square: float) -> float:
        """Return the variance of one report for bounds of -1 and 1, if ``square`` is the square of the true number."""
        return self.factor**2 - square

    def centre(self, high: int, reports: int) -> tuple[float, float]:
        """Return the mean from the number of bits "high", and the variance of one report, for bounds of -1 and 1.

        The bits do not show how far apart people are; the variance is that of the worst case, all at the mean. It adds
        two bits of either kind (Agresti and Coull 1998), because a few bits may agree by chance.
        """
        blurred = (2 * (high + 2) / (reports + 4) - 1) * self.factor
        return (2 * high / reports - 1) * self.factor, self.variance_at(min(blurred**2, 1.0))

    def log_masses(self, part: int, said: "NDArray[Any]") -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of bits."""
        epsilon, share = float(self.epsilon), part / self.parts
        truth = -math.log1p(math.exp(-epsilon))
        with np.errstate(divide="ignore"):  # the bounds are rounded to one side only
            low, high = (np.logaddexp(np.log(of), np.log1p(-of) - epsilon) + truth for of in (1 - share, share))
        masses: NDArray[np.float64] = np.where(said == 1, high, low)
        return masses

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> "NDArray[np.bool_]":
        """Draw one bit for each number."""
        rounded = uniform_below(self.parts, items.size, source) < items
        bits: NDArray[np.bool_] = rounded == bernoulli_logistic(self.epsilon, items.size, source=source)
        return bits

    def sample_one(self, part: int, source: "Source") -> bool:
        """Draw one bit: an integer below ``parts`` for the rounding, then the coin of randomized response."""
        rounded = integer_below(self.parts, source) < part
        return rounded == flip_logistic(self.epsilon, 2, source)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class BitMean(MeanProtocol):
    """A mean from Duchi's bit of each person, fresh (``Duchi``) or memoised (``OneBitMean``).

    >>> isinstance(Duchi(low=0, high=1, epsilon=1), BitMean)
    True
    """

    def __init__(self, *, low: Exact, high: Exact, epsilon: Exact) -> None:
        self._set_bounds(low, high, epsilon)

    @property
    def bit(self) -> TrueBit:
        """The law of a report.

        >>> round(Duchi(low=0, high=1, epsilon=1).bit.factor, 3)
        2.164
        """
        return TrueBit(epsilon=self.epsilon, parts=_PARTS)

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of one report.

        >>> Duchi(low=0, high=1, epsilon=1).event.categories
        2
        """
        return RandomizedResponseEvent(epsilon=self.epsilon, categories=2, unit=PERSON)

    @property
    def bits(self) -> int:
        """The number of bits of a report, "low" or "high".

        >>> Duchi(low=0, high=1, epsilon=1).bits
        1
        """
        return 1

    def outputs(self) -> Bytes | None:
        """Both bits.

        >>> Duchi(low=0, high=1, epsilon=1).outputs().tolist()
        [[0], [1]]
        """
        return pack([(np.arange(2), 1)])

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of the bits.

        >>> protocol = Duchi(low=0, high=1, epsilon=1)
        >>> np.exp(protocol.log_masses(0.5, protocol.outputs())).tolist()
        [0.5, 0.5]
        """
        (said,) = unpack(payload, [1])
        return self.bit.log_masses(int(self.encode([value])[0]), said)

    @property
    def parts(self) -> int:
        return _PARTS

    @property
    def worst_variance(self) -> float:
        return self.bit.variance_at(0.0)

    def estimate_moments(self, state: State, reports: int) -> tuple[float, float]:
        return self.bit.centre(int(state["high"][0]), reports)

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        return pack([(self.bit.sample(items, source), 1)])

    def sample_one(self, item: Any, source: "Source") -> int:
        return int(self.bit.sample_one(int(item), source))

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"high": (1,)}

    def accumulate(self, state: State, payload: Bytes) -> None:
        state["high"] += int(np.count_nonzero(payload))


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Duchi(BitMean):
    """A mean from one bit per person; see ``celosia.local`` for the parameters.

    >>> from celosia.noise import Seeded
    >>> protocol = Duchi(low=0, high=100, epsilon=1)
    >>> reports = protocol.privatize([30.5] * 10_000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate()
    MeanEstimate(30.5677 ± 1.1, reports=10000)
    """
