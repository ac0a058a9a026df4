"""The K-norm mechanism for vectors whose coordinates move together: noise from cubes, for a bounded largest change.

The sums of several columns and the number of rows change all at once when a row comes or goes, each by at most its
bound. The hull of such changes is a box. Noise with probability falling in the *largest* coordinate is shaped like it:
for d coordinates it has a variance of (d + 1)(d + 2)/3, where Laplace noise on each has 2 d^2. Values are integers
of steps, and so is the noise, drawn exactly. Hardt and Talwar 2010; Awan and Slavković 2021.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError
from celosia.core.events import KNormEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer
from celosia.core.guarantees import PureDP
from celosia.core.release import Release
from celosia.mechanisms.grid import add_to_array
from celosia.mechanisms.scoped import ScopedMechanism
from celosia.noise.max_norm import DiscreteMaxNorm
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class KNorm(ScopedMechanism):
    """Add noise to vectors of integers of which each coordinate changes by a bounded amount.

    See ``celosia.mechanisms`` for ``adjacency`` and ``unit``.

    Parameters
    ----------
    epsilon
        The target, for all vectors together.
    sensitivity
        How far the largest coordinate of a vector can move, summed over the vectors: an integer number of steps.
    width
        How many coordinates a vector has, at most 16.
    blocks
        How many vectors there are, such as groups of a table.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> KNorm(epsilon=1, sensitivity=100, width=3).release([[5_000, -200, 100]], source=Seeded(7)).value.tolist()
    [[4890, -487, -187]]
    """

    epsilon: Fraction
    sensitivity: int
    width: int
    blocks: int = 1

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: int,
        width: int,
        blocks: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set(
            epsilon=exact_epsilon(epsilon),
            sensitivity=exact_integer(sensitivity, name="sensitivity"),
            width=exact_integer(width, name="width"),
            blocks=exact_integer(blocks, name="blocks"),
        )
        self._set_scope(adjacency, unit)
        self._sampler()  # raises now, not at the release, if the target cannot be met

    @property
    def event(self) -> KNormEvent:
        """The event of a release.

        >>> KNorm(epsilon="0.5", sensitivity=10, width=3).event
        KNormEvent(scale=20, sensitivity=10, width=3)
        """
        return KNormEvent(
            scale=self.sensitivity / self.epsilon,
            sensitivity=self.sensitivity,
            width=self.width,
            blocks=self.blocks,
            adjacency=self.adjacency,
            unit=self.unit,
        )

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of a release.

        >>> KNorm(epsilon="0.5", sensitivity=10, width=3).guarantee
        PureDP(epsilon=0.5)
        """
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def release(self, value: Any, /, *, source: "Source | None" = None) -> Release[Any]:
        """Return the vectors with noise, one vector in each row; sums beyond 2^62 - 1 are clipped there.

        >>> KNorm(epsilon=1, sensitivity=10, width=2, blocks=3).release([[1, 2], [3, 4], [5, 6]]).value.shape
        (3, 2)
        """
        array = np.asarray(value)
        if array.dtype.kind not in "iu" or array.shape != (self.blocks, self.width):
            raise InputError("mechanisms.wrong_blocks_shape", blocks=self.blocks, width=self.width)
        source = source_or_system(source)
        noise = self._sampler().sample(self.blocks, source)
        return Release(
            value=add_to_array(array, np.ascontiguousarray(noise).reshape(-1), None),
            event=self.event,
            guarantee=self.guarantee,
            seeded=source.seeded,
        )

    def _sampler(self) -> DiscreteMaxNorm:
        return DiscreteMaxNorm(self.sensitivity / self.epsilon, self.width)
