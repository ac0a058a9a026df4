"""Estimates of true shares from randomized answers: unbiased, with confidence intervals.

The truth is held fixed; only the coins are random. If t of n people have an answer, the number of people who give it is
the sum of two binomial numbers, Bin(t, if true) + Bin(n - t, if not). The interval for two answers holds every t under
which the count is not in either tail (Clopper and Pearson's principle, 1934, applied to that sum); for more answers it
is Clopper and Pearson's own, which is wider, and valid because the sum spreads less than one binomial number of the
same mean (Hoeffding 1956).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError
from celosia.core.exact import Exact, exact_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_DEVIATIONS = 12.0  # standard deviations beyond which a binomial number is not looked at: less than 1e-30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Proportions:
    """Estimated shares of the true answers: unbiased, so that they may lie outside 0 to 1; intervals do not.

    ``if_true`` and ``if_not`` are the probabilities that an answer is given when it is true and when it is not.

    >>> from celosia.mechanisms import RandomizedResponse
    >>> estimate = RandomizedResponse(epsilon=3).estimate([True] * 70 + [False] * 30)
    >>> estimate
    Proportions([0.2790, 0.7210], answers=100)
    >>> low, high = estimate.confidence_interval(0.95)
    >>> low < 0.7 < high
    True
    """

    counts: "NDArray[np.int64]"
    if_true: float
    if_not: float

    @property
    def values(self) -> "NDArray[np.float64]":
        """The estimated share of every answer.

        >>> from celosia.mechanisms import RandomizedResponse
        >>> RandomizedResponse(epsilon=1, categories=3).estimate([0, 1, 2]).values.round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        if self.counts.size == 2:  # two coins need not treat yes and no alike
            return np.array([1 - self.proportion, self.proportion])
        shares: NDArray[np.float64] = self.counts / self.counts.sum()
        return (shares - self.if_not) / (self.if_true - self.if_not)

    @property
    def proportion(self) -> float:
        """The estimated share of yes, for two answers.

        >>> from celosia.mechanisms import RandomizedResponse
        >>> RandomizedResponse.two_coins().estimate([True, False]).proportion
        0.5
        """
        if self.counts.size != 2:
            raise InputError("mechanisms.proportion_of_many_answers")
        return float((self.counts[1] / self.counts.sum() - self.if_not) / (self.if_true - self.if_not))

    def confidence_interval(self, level: Exact = 0.95) -> "tuple[Any, Any]":
        """Return bounds for the share of yes (two answers), or arrays of bounds for each share.

        Each single share is covered with probability ``level`` or more, whatever the truth.

        >>> from celosia.mechanisms import RandomizedResponse
        >>> low, high = RandomizedResponse.two_coins().estimate([True, False] * 500).confidence_interval(0.95)
        >>> round(low, 3), round(high, 3)
        (0.446, 0.554)
        """
        tail = (1 - exact_level(level)) / 2
        return self._invert(tail) if self.counts.size == 2 else self._clopper_pearson(tail)

    def _invert(self, tail: float) -> tuple[float, float]:
        """Return the smallest and the largest true share under which neither tail of the count is too small."""
        n, said = int(self.counts.sum()), int(self.counts[1])
        if_true, if_not = self.if_true, self.if_not
        if if_true < if_not:  # lies outnumber the truth: count the other answer
            said, if_true, if_not = n - said, 1 - if_true, 1 - if_not
        # More true answers make large counts likelier: both conditions are monotone in t.
        low = _first(lambda t: _at_least(said, t, n, if_true, if_not) > tail, n)
        high = _first(lambda t: 1 - _at_least(said + 1, t, n, if_true, if_not) <= tail, n) - 1
        low = min(low, n)  # a count that is in a tail under every t is nearest to one end
        return low / n, max(high, low) / n

    def _clopper_pearson(self, tail: float) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        from scipy.special import betaincinv

        total, counts = int(self.counts.sum()), self.counts
        low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), total - counts + 1, tail))
        high = np.where(counts == total, 1.0, betaincinv(counts + 1, np.maximum(total - counts, 1), 1 - tail))
        ends = [(bound - self.if_not) / (self.if_true - self.if_not) for bound in (low, high)]
        return np.clip(np.minimum(*ends), 0.0, 1.0), np.clip(np.maximum(*ends), 0.0, 1.0)

    def __repr__(self) -> str:
        shares = ", ".join(f"{value:.4f}" for value in self.values[:6])
        return f"Proportions([{shares}{', …' if self.counts.size > 6 else ''}], answers={self.counts.sum()})"


def _at_least(count: int, t: int, n: int, if_true: float, if_not: float) -> float:
    """Return the probability that Bin(t, if_true) + Bin(n - t, if_not) is at least ``count``."""
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy

    spread = _MAX_DEVIATIONS * math.sqrt(t * if_true * (1 - if_true)) + _MAX_DEVIATIONS
    k = np.arange(max(0, math.floor(t * if_true - spread)), min(t, math.ceil(t * if_true + spread)) + 1)
    log_mass = gammaln(t + 1) - gammaln(k + 1) - gammaln(t - k + 1) + xlogy(k, if_true) + xlog1py(t - k, -if_true)
    needed = count - 1 - k  # more than this many of the others must give the answer
    above = np.where(needed < 0, 1.0, bdtrc(np.clip(needed, 0, n - t), n - t, if_not))
    return min(1.0, float(np.sum(np.exp(log_mass) * np.where(needed >= n - t, 0.0, above))))


def _first(holds: Callable[[int], bool], n: int) -> int:
    """Return the first t from 0 to n for which a monotone condition holds; n + 1 if there is none."""
    low, high = -1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
