"""Report noisy max: add noise to every utility and name the largest.

With one-sided (exponential) noise it is the discrete form of permute-and-flip; with Laplace noise it is the textbook's.
Ties are broken at random, which the proof allows: any fixed order of the candidates is private. Dwork and Roth 2014,
section 3.3; Ding et al., *The permute-and-flip mechanism is identical to report-noisy-max with exponential noise*,
2021.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.events import NoisyMaxEvent
from celosia.core.exact import Exact
from celosia.mechanisms.selection import Selection
from celosia.noise.geometric import Geometric
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

__all__ = ["NoisyMax"]


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class NoisyMax(Selection):
    """Choose the largest noisy utility; parameters as in ``PermuteAndFlip``.

    ``noise`` is ``"exponential"`` (the default, never worse) or ``"laplace"``.

    >>> NoisyMax(epsilon=2, sensitivity=1).release([10, 500, 20]).value
    1
    """

    noise: Literal["exponential", "laplace"] = "exponential"

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact,
        noise: Literal["exponential", "laplace"] = "exponential",
        monotone: bool = False,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        if noise not in ("exponential", "laplace"):
            message = f'noise must be "exponential" or "laplace", not {noise!r}.'
            raise ParameterError(message)
        self._set(noise=noise)
        Selection.__init__(
            self, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, adjacency=adjacency, unit=unit
        )

    @property
    def event(self) -> NoisyMaxEvent:
        """What a release runs.

        >>> NoisyMax(epsilon=1, sensitivity=1).event
        NoisyMaxEvent(epsilon=1)
        """
        return NoisyMaxEvent(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def error(self, level: float = 0.95, *, candidates: int) -> float:
        """Return how far below the best the chosen utility is at most, with probability ``level``.

        >>> NoisyMax(epsilon=1, sensitivity=1).error(0.95, candidates=10) <= 10.6
        True
        """
        one_sided = Selection.error(self, level, candidates=candidates)
        # Two-sided noise can lower the best as well as raise another: each stays within the bound of its own.
        return one_sided if self.noise == "exponential" else 2 * one_sided

    def _choose(self, rate: Fraction, gaps: "NDArray[np.int64]", source: "Source") -> int:
        noise = Geometric(1 / rate) if self.noise == "exponential" else DiscreteLaplace(1 / rate)
        added = noise.sample(gaps.size, source)
        fits = int(gaps.max()) < 2**62 and int(added.min()) > -(2**62)
        noisy = added - gaps if fits else added.astype(object) - gaps
        best = np.flatnonzero(noisy == noisy.max())
        return int(best[integer_below(best.size, source)])
