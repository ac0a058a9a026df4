"""Permute-and-flip: go through the candidates in random order, take the first whose coin exp(-rate * gap) shows heads.

Never worse than the exponential mechanism for one pure release, in every quantile of the error; under composition the
exponential mechanism is cheaper, because its privacy loss has a smaller range. McKenna and Sheldon 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.events import PermuteAndFlipEvent
from celosia.mechanisms.selection.base import Selection
from celosia.noise.choice import permute_and_flip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

LARGEST_TABLE = 1_000
"""Candidates up to which there is a table of probabilities: it takes their square in time."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PermuteAndFlip(Selection):
    """Choose by coins in random order; parameters as in ``Exponential``, with ``epsilon`` alone as the target.

    >>> PermuteAndFlip(epsilon=2, sensitivity=1).release([10, 500, 20]).value
    1
    """

    @property
    def event(self) -> PermuteAndFlipEvent:
        """The event of a release.

        >>> PermuteAndFlip(epsilon=1, sensitivity=1).event
        PermuteAndFlipEvent(epsilon=1)
        """
        return PermuteAndFlipEvent(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def choose(self, rate: Fraction, gaps: "NDArray[np.int64]", source: "Source") -> int:
        """Return an index; ``gaps`` are the steps below the best, ``rate`` is the weight of one step."""
        return permute_and_flip(rate, gaps, source=source)

    def outputs(self, utilities: Any, /) -> Sequence[Any] | None:
        """Return all indices; None for more than a thousand candidates, where the table would take long.

        >>> list(PermuteAndFlip(epsilon=1, sensitivity=1).outputs([3, 1, 2]))
        [0, 1, 2]
        """
        return range(len(utilities)) if len(utilities) <= LARGEST_TABLE else None

    def log_masses(self, utilities: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each index.

        >>> PermuteAndFlip(epsilon=2, sensitivity=1).log_masses([0, 0], [0, 1]).round(3).tolist()
        [-0.693, -0.693]
        """
        return self._pick(flip_log_masses(*self._rate_and_gaps(utilities)), outputs)


def flip_log_masses(rate: Fraction, gaps: "NDArray[np.int64]") -> "NDArray[np.float64]":
    """Return the natural logarithm of the probability of each candidate, given the gaps to the best.

    The head that comes first is a uniform one among all heads: ``p_i`` times the integral over t in (0, 1) of the
    product of ``1 - p_j + p_j t`` over the others, a polynomial that Gauss's rule integrates exactly.
    """
    heads = np.exp(-float(rate) * gaps.astype(np.float64))
    nodes, weights = np.polynomial.legendre.leggauss(gaps.size // 2 + 1)
    t = (nodes[:, None] + 1) / 2
    factors = np.log1p(heads * (t - 1))
    others = factors.sum(axis=1, keepdims=True) - factors
    with np.errstate(divide="ignore"):  # a head that never shows has probability zero
        return np.asarray(np.log((weights[:, None] / 2 * np.exp(others)).sum(axis=0)) - float(rate) * gaps)
