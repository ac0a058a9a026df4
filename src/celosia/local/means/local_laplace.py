"""The Laplace mechanism in the local model: the number plus noise as wide as the whole interval.

Numbers lie on a grid of L steps, and any two people are at most L steps apart: discrete Laplace noise of scale
L/epsilon makes a report epsilon-private (`proofs/laplace.md`). The noisy position is clipped 45 scales beyond the
bounds, so that a report has a fixed size: post-processing. Noise goes that far in one report out of 2^64, and the bias
is below 2^-64 of the scale, less than a double can show. It is the simplest protocol for a mean. ``Hybrid`` has less
variance, and suits clients whose time an observer may measure: here large noise takes longer to draw. Dwork, McSherry,
Nissim and Smith 2006.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.events import LaplaceEvent
from celosia.core.exact import Exact, safe_repr
from celosia.local.base.packing import Bytes, field_width, pack, unpack
from celosia.local.base.protocol import MAX_OUTPUTS, PERSON, State
from celosia.local.means.base import MeanProtocol
from celosia.local.means.interval import DEFAULT_GRID, PART_BITS, exact_grid, round_part, round_parts
from celosia.noise.bernoulli import flip, flip_exp
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_CLIP_SCALES = 45  # exp(-45) < 2^-64
_MAX_BITS = 62
_HALF = np.uint64(32)  # reports are summed in halves of 32 bits, which add up without overflow


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class LocalLaplace(MeanProtocol):
    """A mean from numbers with Laplace noise; see ``celosia.local`` for the parameters.

    >>> from celosia.noise import Seeded
    >>> protocol = LocalLaplace(low=0, high=100, epsilon=2)
    >>> reports = protocol.privatize([30.5] * 10_000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate()
    MeanEstimate(31.1185 ± 0.71, reports=10000)
    """

    grid: int

    def __init__(self, *, low: Exact, high: Exact, epsilon: Exact, grid: int = DEFAULT_GRID) -> None:
        self._set_bounds(low, high, epsilon)
        self._set(grid=exact_grid(grid))
        if self.bits > _MAX_BITS:
            raise ParameterError("local.grid_too_fine_for_epsilon", grid=safe_repr(grid), bits=self.bits)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps.

        >>> LocalLaplace(low=0, high=1, epsilon=2, grid=8).scale
        Fraction(4, 1)
        """
        return self.grid / self.epsilon

    @property
    def reach(self) -> int:
        """The number of steps beyond the bounds at which a noisy position is clipped.

        >>> LocalLaplace(low=0, high=1, epsilon=2, grid=8).reach
        180
        """
        return math.ceil(_CLIP_SCALES * self.scale)

    @property
    def event(self) -> LaplaceEvent:
        """The event of one report.

        >>> LocalLaplace(low=0, high=1, epsilon=2, grid=8).event
        LaplaceEvent(scale=4, sensitivity=8, adjacency=ReplaceOne, unit='person')
        """
        return LaplaceEvent(scale=self.scale, sensitivity=self.grid, adjacency=ReplaceOne, unit=PERSON)

    @property
    def bits(self) -> int:
        """The number of bits of a report: a position, counted from the lower clipping point.

        >>> LocalLaplace(low=0, high=1, epsilon=2).bits
        26
        """
        return field_width(self._size)

    def outputs(self) -> Bytes | None:
        """All positions, on a grid of at most some hundred steps.

        >>> len(LocalLaplace(low=0, high=1, epsilon=2, grid=8).outputs())
        369
        """
        return pack([(np.arange(self._size), self.bits)]) if self._size <= MAX_OUTPUTS else None

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return the logarithm of the probability of each report, with the clipped tail at either end.

        >>> protocol = LocalLaplace(low=0, high=1, epsilon=2, grid=8)
        >>> float(np.exp(protocol.log_masses(0.3, protocol.outputs())).sum().round(12))
        1.0
        """
        (said,) = unpack(payload, [self.bits])
        position, rest = divmod(int(self.encode([value])[0]), 1 << PART_BITS)
        below = self._log_masses(position, said.astype(np.int64))
        if not rest:
            return below
        share = rest / (1 << PART_BITS)
        above = self._log_masses(position + 1, said.astype(np.int64))
        return np.logaddexp(math.log1p(-share) + below, math.log(share) + above)

    def _log_masses(self, position: int, said: "NDArray[np.int64]") -> "NDArray[np.float64]":
        distance = said - self.reach - position
        single = DiscreteLaplace(self.scale).log_mass(distance)
        # P(noise >= k) = exp(-k/scale) / (1 + exp(-1/scale)) for k > 0
        tail = -np.abs(distance) / float(self.scale) - math.log1p(math.exp(-1 / float(self.scale)))
        return np.where((said == 0) | (said == self._size - 1), tail, single)

    @property
    def _size(self) -> int:
        return self.grid + 2 * self.reach + 1

    @property
    def parts(self) -> int:
        return self.grid << PART_BITS

    @property
    def worst_variance(self) -> float:
        rate = 1 / float(self.scale)
        noise = 0.5 / math.sinh(rate / 2) ** 2 if rate < 700 else 0.0  # 2 r/(1 - r)^2, with r = exp(-rate)
        return (noise + 0.25) / (self.grid / 2) ** 2  # rounding to a step: a quarter at most

    def estimate_moments(self, state: State, reports: int) -> tuple[float, float]:
        low, high = state["halves"].tolist()
        position = float(Fraction(low + (high << int(_HALF)), reports) - self.reach)
        return position / (self.grid / 2) - 1, self.worst_variance

    def sample(self, items: "NDArray[np.int64]", source: "Source") -> Bytes:
        noise = DiscreteLaplace(self.scale).sample(items.size, source)
        noisy = round_parts(items, source) + noise.clip(-self._size, self._size)
        return pack([((noisy + self.reach).clip(0, self._size - 1), self.bits)])

    def sample_one(self, item: Any, source: "Source") -> int:
        """Draw one report: the rounding below 2^32, then the noise as ``_noise`` draws it."""
        noisy = round_part(int(item), source) + _noise(self.scale, source)
        return min(max(noisy + self.reach, 0), self._size - 1)

    @property
    def increment_bounds(self) -> tuple[int, int]:
        return 0, (1 << 32) - 1  # numbers are added up in halves of 32 bits

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"halves": (2,)}

    def is_reachable(self, state: State, reports: int) -> bool:
        low, high = state["halves"].tolist()
        return bool(low + (high << int(_HALF)) <= reports * (self._size - 1))

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        padded = super(LocalLaplace, self).is_valid(payload)  # slots=True replaces the class
        (said,) = unpack(payload, [self.bits])
        return padded & (said < self._size)

    def accumulate(self, state: State, payload: Bytes) -> None:
        (said,) = unpack(payload, [self.bits])
        low, high = said & np.uint64(0xFFFFFFFF), said >> _HALF
        state["halves"] += np.array([low.sum(), high.sum()], dtype=np.int64)


def _noise(scale: Fraction, source: "Source") -> int:
    """Draw discrete Laplace noise from integers and coins alone (Canonne, Kamath and Steinke 2020).

    With the scale t/s: draw u below t, and accept it with probability exp(-u/t), else draw again; then coins of
    probability exp(-1) until one shows False; then a fair coin for the sign. Minus zero starts over.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        u = integer_below(t, source)
        if not flip_exp(Fraction(u, t), source):
            continue
        times = 0
        while flip_exp(1, source):
            times += 1
        size = (u + t * times) // s
        minus = flip(Fraction(1, 2), source)
        if size or not minus:
            return -size if minus else size
