"""Maximum-likelihood estimate of the number of different values that set the bits of a bitmap.

At level l each of m bits is hit by a value with probability p_l. After n values (as if their number were a Poisson
number, which spreads a little more) a bit is set with probability 1 - e^(-n p_l), independently of the others. Where
bits were flipped afterwards, a set bit reads 1 with one probability and a clear one with another; bits that were not
flipped are the special case 1 and 0. Ertl 2017 and Lang 2017 for plain bits; Hehir, Ting and Cormode 2023 for flipped.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GRID = np.concatenate([[0.0], np.exp2(np.arange(-4, 66, 0.125))])
_STEPS = 42  # of a search: finer than the likelihood resolves
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BitLikelihood:
    """The likelihood of a number of values, given the number of ones among ``bits`` bits at each level.

    ``chances`` are the probabilities that a value hits one given bit of a level.
    """

    ones: "NDArray[np.int64]"
    bits: int
    chances: "NDArray[np.float64]"
    if_set: float = 1.0
    if_clear: float = 0.0

    def log(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the logarithm of the likelihood of each number of values."""
        clear = np.exp(-values[:, None] * self.chances)
        reads_one = self.if_set - (self.if_set - self.if_clear) * clear
        reads_zero = (1 - self.if_set) + (self.if_set - self.if_clear) * clear
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(self.ones > 0, self.ones * np.log(reads_one), 0.0)
            zero = np.where(self.ones < self.bits, (self.bits - self.ones) * np.log(reads_zero), 0.0)
        total: NDArray[np.float64] = (one + zero).sum(axis=1)
        return total

    def maximum(self) -> float:
        """Return the likeliest number of values."""
        best = int(np.argmax(self.log(_GRID)))
        if best == 0 and _GRID[1] * self.chances.sum() * self.bits < 1:
            low, high = 0.0, float(_GRID[1])
        else:
            low, high = float(_GRID[max(best - 1, 0)]), float(_GRID[min(best + 1, _GRID.size - 1)])
        for _ in range(_STEPS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            at_left, at_right = self.log(np.array([left, right]))
            low, high = (low, right) if at_left >= at_right else (left, high)
        top = (low + high) / 2
        return 0.0 if float(self.log(np.zeros(1))[0]) >= float(self.log(np.array([top]))[0]) else top

    def relative_error(self, values: float) -> float:
        """Return the relative standard error of the estimate at a number of values, by Fisher's information."""
        clear = np.exp(-values * self.chances)
        reads_one = self.if_set - (self.if_set - self.if_clear) * clear
        slope = (self.if_set - self.if_clear) * values * self.chances * clear
        spread = reads_one * (1 - reads_one)
        information = self.bits * float(np.sum(slope[spread > 0] ** 2 / spread[spread > 0]))
        return 1 / math.sqrt(information) if information > 0 else math.inf

    def within(self, drop: float) -> tuple[float, float]:
        """Return the least and the largest number of values whose likelihood is at most e^drop below the largest."""
        top = self.maximum()
        floor = float(self.log(np.array([top]))[0]) - drop
        likely = np.flatnonzero(self.log(_GRID) >= floor)
        first, last = (int(likely[0]), int(likely[-1])) if likely.size else (0, 0)
        low = self._crossing(float(_GRID[first - 1]), min(float(_GRID[first]), top), floor) if first else 0.0
        if likely.size and last == _GRID.size - 1:
            return low, math.inf
        high = max(float(_GRID[last]), top) if likely.size else top
        beyond = float(_GRID[min(int(np.searchsorted(_GRID, high, side="right")), _GRID.size - 1)])
        return low, self._crossing(beyond, high, floor)

    def _crossing(self, outside: float, inside: float, floor: float) -> float:
        """Return the last number, from inside out, whose likelihood is not below the floor."""
        for _ in range(_STEPS):
            middle = (outside + inside) / 2
            if float(self.log(np.array([middle]))[0]) >= floor:
                inside = middle
            else:
                outside = middle
        return outside
