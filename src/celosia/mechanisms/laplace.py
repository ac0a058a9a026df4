"""The Laplace mechanism on a grid: two-sided geometric noise for numbers and arrays of bounded L1 sensitivity.

Textbook Laplace noise leaks its input through the gaps between floats (Mironov 2012). Values and noise are therefore
integer numbers of steps, and the noise is drawn exactly. A slightly larger scale pays for the rounding of real values;
epsilon is the one that the caller gave. Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan
2009.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.events import LaplaceEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_positive
from celosia.core.guarantees import PureDP
from celosia.mechanisms.added import AddedNoise, one_of
from celosia.mechanisms.grid import FINENESS, check_width, fine_step, grid_step
from celosia.noise.laplace import DiscreteLaplace


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Laplace(AddedNoise[LaplaceEvent]):
    """Add two-sided geometric noise to a number or an array. See ``celosia.mechanisms`` for ``adjacency`` and ``unit``.

    Parameters
    ----------
    epsilon, scale
        The target, or the noise instead of it (then epsilon is ``sensitivity / scale``).
    sensitivity
        How far two neighbours' values can be apart in L1: summed over all coordinates.
    grid
        The step, a power of two. By default 1 for integers with an integer sensitivity, else as fine as needed: whether
        a value is an integer must then be public (``sum([])`` is one, ``sum([0.5])`` is not; say ``float`` or a grid).
    dimension
        The number of coordinates, if the event must be known before the release; the guarantee never depends on it.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> Laplace(epsilon=1, sensitivity=1).release(108, source=Seeded(7))
    Release(112, PureDP(epsilon=1), seeded=True)
    >>> Laplace(epsilon="0.5", sensitivity="0.01").release([0.25, 0.5]).value.shape
    (2,)
    """

    epsilon: Fraction
    sensitivity: Fraction

    def __init__(
        self,
        *,
        sensitivity: Exact,
        epsilon: Exact | None = None,
        scale: Exact | None = None,
        grid: Exact | None = None,
        dimension: int | None = None,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        one_of(epsilon=epsilon, scale=scale)
        self._set(sensitivity=exact_positive(sensitivity, name="sensitivity"))
        if scale is not None:
            epsilon = self.sensitivity / exact_positive(scale, name="scale")
        self._set(
            epsilon=exact_epsilon(epsilon if epsilon is not None else 0),
            grid=grid_step(grid),
            dimension=None if dimension is None else exact_integer(dimension, name="dimension"),
        )
        self._keep(PureDP(epsilon=self.epsilon, adjacency=adjacency, unit=unit))
        self._plan(integral=True, size=self.dimension or 1)  # raises now if the target cannot be met

    @property
    def scale(self) -> float:
        """The scale of the noise of ``event``, in the caller's units, as a float to look at.

        >>> Laplace(epsilon="0.1", sensitivity=2).scale
        20.0
        """
        return float(self.event.scale * self.event.grid)

    def plan_noise(self, size: int, step: Fraction | None) -> tuple[LaplaceEvent, DiscreteLaplace]:
        """Return the event and the sampler for ``size`` coordinates; ``step`` is None for real values."""
        rounding = 0
        if step is None:
            # Real values: d coordinates can each move one step further apart.
            step, rounding = self.grid or fine_step(self.sensitivity / (FINENESS * size)), size
        steps = math.floor(self.sensitivity / step) + rounding
        check_width(steps / self.epsilon)
        event = LaplaceEvent(scale=steps / self.epsilon, sensitivity=steps, **self._scope(size, step))
        return event, DiscreteLaplace(event.scale)

    def has_integer_sensitivity(self) -> bool:
        """Return whether integers can stay on the grid of integers."""
        return self.sensitivity.denominator == 1
