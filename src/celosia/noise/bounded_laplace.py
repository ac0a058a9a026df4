"""The discrete Laplace distribution on an interval: P(y) proportional to exp(-|y - place|/scale) for y in 0..reach.

Rejection would take longer for a place near an end, and the place is private. Instead an exact coin decides on which
side of the place the number falls. Its distance is a geometric number modulo the length of that side: remainders of a
geometric number are again geometric, and end where the side ends. So every draw takes one coin and one number.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.enclosure import exp_negative
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive, safe_repr
from celosia.noise.decide import Enclosure, below
from celosia.noise.geometric import Geometric
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

_MAX_REACH = 2**62 - 1
_WORD, _COIN = 64, 52  # a coin of 52 bits is exact in a double
_SLACK = 2.0**-36
_SAFE = 1 + 1e-12


@dataclass(frozen=True, slots=True, init=False)
class BoundedDiscreteLaplace:
    """Two-sided geometric noise around a place, given that the sum is between 0 and ``reach``.

    >>> from celosia.noise import Seeded
    >>> BoundedDiscreteLaplace(10, 100).sample([0, 50, 100], Seeded(7)).tolist()
    [18, 88, 99]
    """

    scale: Fraction
    reach: int
    _geometric: Geometric = field(repr=False, compare=False)

    def __init__(self, scale: Exact, reach: int) -> None:
        object.__setattr__(self, "scale", exact_positive(scale, name="scale"))
        object.__setattr__(self, "reach", exact_integer(reach, name="reach"))
        if self.reach > _MAX_REACH:
            raise ParameterError("noise.reach_too_large", value=safe_repr(reach))
        object.__setattr__(self, "_geometric", Geometric(self.scale))

    def draw(self, place: int, source: "Source | None" = None) -> int:
        """Draw one number around a place.

        >>> 0 <= BoundedDiscreteLaplace(10, 100).draw(3) <= 100
        True
        """
        source = source_or_system(source)
        self._check(place, place)
        (upwards,) = self._coins(np.array([place], dtype=np.int64), source)
        far = self._geometric.draw(source)
        return place + far % (self.reach - place + 1) if upwards else place - 1 - far % place

    def sample(self, places: "ArrayLike", source: "Source | None" = None) -> "NDArray[np.int64]":
        """Draw one number around each place.

        >>> BoundedDiscreteLaplace(10, 100).sample(np.zeros(1000, dtype=np.int64)).shape
        (1000,)
        """
        source, around = source_or_system(source), np.asarray(places, dtype=np.int64)
        if around.size:
            self._check(int(around.min()), int(around.max()))
        flat = around.reshape(-1)
        upwards = self._coins(flat, source)
        lengths = np.where(upwards, self.reach - flat + 1, flat)
        far = self._geometric.sample(flat.size, source) % np.maximum(lengths, 1)
        return np.asarray(np.where(upwards, flat + far, flat - 1 - far).reshape(around.shape))

    def log_mass(self, place: int, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each value; minus infinity beyond the ends.

        >>> np.exp(BoundedDiscreteLaplace(1, 1).log_mass(0, [0, 1, 2])).round(4).tolist()
        [0.7311, 0.2689, 0.0]
        """
        numbers = np.asarray(values, dtype=np.float64)
        up, down = (float(side) for side in self._sides(np.array(place, dtype=np.int64)))
        total = math.log((up + down) / -math.expm1(-1 / float(self.scale)))
        masses = -np.abs(numbers - place) / float(self.scale) - total
        return np.where((numbers >= 0) & (numbers <= self.reach), masses, -np.inf)

    def margin(self, level: float) -> int:
        """Return the smallest ``k`` such that a draw is within ``k`` of its place with probability ``level``.

        It holds for all places: the worst is an end, or the middle.

        >>> BoundedDiscreteLaplace(1, 100).margin(0.95), BoundedDiscreteLaplace(10**6, 100).margin(0.95)
        (3, 95)
        """
        low, high = -1, self.reach
        while high - low > 1:
            middle = (low + high) // 2
            beyond = max(self._beyond(place, middle) for place in (0, self.reach // 2))
            low, high = (low, middle) if beyond * _SAFE <= 1 - level else (middle, high)
        return high

    def _beyond(self, place: int, distance: int) -> float:
        """Return the probability of being farther from the place than a distance."""
        scale, sides = float(self.scale), self._sides(np.array(place, dtype=np.int64))
        rest = [max(length - distance, 0) for length in (place, self.reach - place)]
        near = math.exp(-(distance + 1) / scale)
        return near * -sum(math.expm1(-length / scale) for length in rest) / float(sides[0] + sides[1])

    def _sides(self, places: "NDArray[np.int64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return how much the place and all above it weigh, and all below it, in parts of 1 / (1 - ratio)."""
        scale = float(self.scale)
        above, down = (self.reach - places + 1).astype(np.float64), places.astype(np.float64)
        return -np.expm1(-above / scale), -math.exp(-1 / scale) * np.expm1(-down / scale)

    def _upwards(self, place: int) -> Enclosure:
        """Return the enclosure of the probability of the place or more, without caching: the place is private."""
        extra = math.ceil(self.scale).bit_length() + 8  # the weights of both sides may be as small as 1 / scale

        def enclose(bits: int) -> tuple[int, int]:
            inner = bits + extra
            one = 1 << inner
            step, above, down = (exp_negative(k / self.scale, inner) for k in (1, self.reach - place + 1, place + 1))
            up = max(one - above[1], 0), one - above[0]
            under = (max(step[0] - down[1], 0), max(step[1] - down[0], 0)) if place else (0, 0)
            least, most = (up[0] << bits) // (up[0] + under[1]), -(-(up[1] << bits) // (up[1] + under[0]))
            return least, min(most, 1 << bits)

        return enclose

    def _coins(self, places: "NDArray[np.int64]", source: "Source") -> "NDArray[np.bool_]":
        """Flip one exact coin for each place: whether its number is the place or more."""
        up, down = self._sides(places)
        chances = up / (up + down) * 2.0**_COIN
        coins = (source.words(places.size) >> np.uint64(_WORD - _COIN)).astype(np.float64)
        flipped = coins + 1 <= chances * (1 - _SLACK)
        for i in np.flatnonzero(~flipped & (coins < chances * (1 + _SLACK) + _SLACK)).tolist():
            flipped[i] = below(int(coins[i]), _COIN, self._upwards(int(places[i])), source)
        return flipped

    def _check(self, least: int, most: int) -> None:
        if least < 0 or most > self.reach:
            raise ParameterError("noise.place_out_of_reach", reach=self.reach)
