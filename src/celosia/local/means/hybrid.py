"""The hybrid mechanism for a mean: a coin chooses the piecewise mechanism or Duchi's, and the report shows which.

The coin does not depend on the number, so the report is a mixture of two epsilon-private reports with a visible index:
epsilon-private. One variance grows towards the bounds as the other falls; if the piecewise mechanism has probability
1 - e^(-epsilon/2), the sum is flat, and below the worst case of either. For an epsilon of 0.61 or
less, Duchi's mechanism alone is better and always chosen. Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local.base.checks import exact_total
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, State
from celosia.local.means.duchi import TrueBit
from celosia.local.means.window import WindowMean
from celosia.noise.bernoulli import bernoulli_exp, flip_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_DUCHI_EPSILON = Fraction(61, 100)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Hybrid(WindowMean):
    """A mean whose variance does not depend on the numbers, and is less than the worst of either mechanism.

    See ``Piecewise`` for ``width``, and ``celosia.local`` for the other parameters.

    >>> from celosia.noise import Seeded
    >>> protocol = Hybrid(low=0, high=100, epsilon=2)
    >>> reports = protocol.privatize([30.5] * 10_000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate()
    MeanEstimate(30.3238 ± 0.51, reports=10000)
    """

    @property
    def bit(self) -> TrueBit:
        """The law of a report of Duchi's mechanism.

        >>> round(Hybrid(low=0, high=1, epsilon=1).bit.factor, 3)
        2.164
        """
        return TrueBit(epsilon=self.epsilon, parts=self.parts)

    @property
    def share(self) -> float:
        """The probability of the piecewise mechanism.

        >>> Hybrid(low=0, high=1, epsilon="0.5").share, round(Hybrid(low=0, high=1, epsilon=2).share, 3)
        (0.0, 0.632)
        """
        return 0.0 if self._is_duchi else -math.expm1(-float(self.epsilon) / 2)

    @property
    def bits(self) -> int:
        """A report is a number of the piecewise mechanism, or Duchi's bit, and then a bit that is 1 for the first.

        >>> Hybrid(low=0, high=1, epsilon=4).bits
        22
        """
        return self._width + 1

    def outputs(self) -> Bytes | None:
        """The reports of both mechanisms, on a grid of at most some thousand steps.

        >>> len(Hybrid(low=0, high=1, epsilon=2, grid=8).outputs())
        13
        """
        numbers = 0 if self._is_duchi else self.window.size
        if numbers > MAX_OUTPUTS:
            return None
        said = np.concatenate([np.arange(2), np.arange(numbers)])
        return pack([(said, self._width), (np.arange(said.size) >= 2, 1)])

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of the probability of each report: the coin's, and the mechanism's.

        >>> protocol = Hybrid(low=0, high=1, epsilon=2, grid=8)
        >>> float(np.exp(protocol.log_masses(0.3, protocol.outputs())).sum().round(12))
        1.0
        """
        said, flag = unpack(payload, [self._width, 1])
        part = int(self.encode([value])[0])
        bits = self.bit.log_masses(part, said)
        if self._is_duchi:
            return bits
        numbers = self.window.log_masses(part, said.astype(np.int64))
        return np.where(flag == 1, math.log(self.share) + numbers, bits - float(self.epsilon) / 2)

    @property
    def _is_duchi(self) -> bool:
        return self.epsilon <= _MAX_DUCHI_EPSILON

    @property
    def _width(self) -> int:
        return field_width(self.window.size)

    def _variance_at(self, square: float) -> float:
        share = self.share
        return share * self.window.variance_at(square) + (1 - share) * self.bit.variance_at(square)

    @property
    def worst_variance(self) -> float:
        # Linear in the square, except for the rounding to a step: a variance of at most a quarter of a squared step.
        rounding = self.share / self.window.slope / self.grid**2
        return max(self._variance_at(0.0), self._variance_at(1.0)) + rounding

    def estimate_moments(self, state: State, reports: int) -> tuple[float, float]:
        low, high = state["bits"].tolist()
        numbers = reports - low - high
        if not numbers:
            mean = (high - low) * self.bit.factor / reports
            return mean, self._variance_at(min(mean**2, 1.0))
        part, square = self.window.moments(state, numbers)
        mean = ((high - low) * self.bit.factor + numbers * part) / reports
        return mean, self._variance_at(square) + self.share / self.grid**2  # rounding to a step: a quarter at most

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        flag = ~bernoulli_exp(self.epsilon / 2, items.size, source)
        if self._is_duchi:
            flag[:] = False
        bits, numbers = self.bit.sample(items, source), self.window.sample(items, source)
        return pack([(np.where(flag, numbers, bits), self._width), (flag, 1)])

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw one report: the coin that chooses, then all draws of Duchi's bit, then all of the piecewise number."""
        flag = not flip_exp(self.epsilon / 2, source) and not self._is_duchi
        bit, number = self.bit.sample_one(int(item), source), self.window.sample_one(int(item), source)
        return (number if flag else int(bit)) | flag << self._width

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"bits": (2,), "sum": (1,), "squares": (2,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        rest = reports - exact_total(state["bits"])
        return (
            rest >= 0
            and self.window.is_reachable(state, 0 if self._is_duchi else rest)
            and not (self._is_duchi and rest)
        )

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(Hybrid, self).is_valid(payload)  # slots=True replaces the class
        said, flag = unpack(payload, [self._width, 1])
        most = np.where(flag == 1, 0 if self._is_duchi else self.window.size, 2)
        return padded & (said < most.astype(np.uint64))

    def accumulate(self, state: State, payload: Bytes) -> None:
        said, flag = unpack(payload, [self._width, 1])
        state["bits"] += np.bincount(said[flag == 0].astype(np.int64), minlength=2)
        self.window.add(state, said[flag == 1])
