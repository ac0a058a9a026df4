"""Report noisy max: add noise to every utility and name the largest.

With one-sided noise and ties broken at random it chooses with the same probabilities as permute-and-flip, on integers
as in the continuum; with Laplace noise it is the textbook's. The proof allows any order among ties. Dwork and Roth
2014, section 3.3; Ding et al., *The permute-and-flip mechanism is identical to report-noisy-max with exponential
noise*, 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import NoisyMaxEvent
from celosia.core.exact import Exact
from celosia.mechanisms.selection.base import Selection
from celosia.mechanisms.selection.permute_and_flip import LARGEST_TABLE, flip_log_masses
from celosia.noise.geometric import Geometric
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


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
            raise ParameterError("mechanisms.unknown_noise", noise=repr(noise))
        self._set(noise=noise)
        Selection.__init__(
            self, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, adjacency=adjacency, unit=unit
        )

    @property
    def event(self) -> NoisyMaxEvent:
        """The event of a release.

        >>> NoisyMax(epsilon=1, sensitivity=1).event
        NoisyMaxEvent(epsilon=1)
        """
        return NoisyMaxEvent(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def error(self, level: Exact = 0.95, *, candidates: int) -> float:
        """Return a bound on the gap from the best utility to the chosen one, with probability ``level``.

        >>> NoisyMax(epsilon=1, sensitivity=1).error(0.95, candidates=10) <= 10.7
        True
        """
        one_sided = Selection.error(self, level, candidates=candidates)
        # Two-sided noise can lower the best as well as raise another: each stays within the bound of its own.
        return one_sided if self.noise == "exponential" else 2 * one_sided

    def outputs(self, utilities: Any, /) -> Sequence[Any] | None:
        """Return all indices; None for Laplace noise, and for more than a thousand candidates.

        >>> list(NoisyMax(epsilon=1, sensitivity=1).outputs([3, 1, 2]))
        [0, 1, 2]
        """
        return range(len(utilities)) if self.noise == "exponential" and len(utilities) <= LARGEST_TABLE else None

    def log_masses(self, utilities: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each index, for exponential noise.

        >>> NoisyMax(epsilon=2, sensitivity=1).log_masses([0, 0], [0, 1]).round(3).tolist()
        [-0.693, -0.693]
        """
        if self.noise != "exponential":
            raise InputError("mechanisms.no_table_for_noise")
        return self._pick(flip_log_masses(*self._rate_and_gaps(utilities)), outputs)

    def choose(self, rate: Fraction, gaps: "NDArray[np.int64]", source: "Source") -> int:
        """Return an index; ``gaps`` are the steps below the best, ``rate`` is the weight of one step."""
        noise = Geometric(1 / rate) if self.noise == "exponential" else DiscreteLaplace(1 / rate)
        added = noise.sample(gaps.size, source)
        fits = int(gaps.max()) < 2**62 and int(added.min()) > -(2**62)
        noisy = added - gaps if fits else added.astype(object) - gaps
        best = np.flatnonzero(noisy == noisy.max())
        return int(best[integer_below(best.size, source)])
