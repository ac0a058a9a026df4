"""The bounded Laplace mechanism: Laplace noise given that the answer stays between two public bounds.

Answers outside the bounds are never drawn, and none pile up at them. That is not free: the probability of staying
inside depends on the true value, so the scale must be larger than ``sensitivity / epsilon``, up to twice. The smallest
one is computed for the grid. Clamping the answer of ``Laplace`` is post-processing and keeps the smaller scale; it is
mostly nearer to the truth. Holohan, Antonatos, Braghin and Mac Aonghusa 2020.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import BoundedLaplaceEvent
from celosia.core.exact import (
    Exact,
    ReprMixin,
    exact,
    exact_epsilon,
    exact_integer,
    exact_level,
    exact_positive,
    safe_repr,
)
from celosia.core.guarantees import PureDP
from celosia.core.release import Release
from celosia.mechanisms.grid import (
    as_number_or_array,
    check_width,
    from_steps,
    grid_step,
    is_integral,
    size_of,
    to_steps,
)
from celosia.noise.bounded_laplace import BoundedDiscreteLaplace
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_MAX_TABLE_SIZE = 2**20
_MAX_STEPS = 2**62 - 1  # steps from 0 that an array holds


class _DerivedSlots:
    """Slots for values derived from the parameters; they are not fields, so they are neither compared nor shown."""

    __slots__ = ("_event", "_least", "_sampler", "_step")
    _event: BoundedLaplaceEvent
    _least: int
    _sampler: BoundedDiscreteLaplace
    _step: Fraction


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class BoundedLaplace(ReprMixin, _DerivedSlots):
    """Draw a number or an array around the true one, between ``low`` and ``high``.

    See ``celosia.mechanisms`` for ``adjacency`` and ``unit``.

    Parameters
    ----------
    epsilon
        The target.
    sensitivity
        How far two neighbours' values can be apart in L1: summed over all coordinates.
    low, high
        The public bounds of every coordinate. A value beyond them is moved to the nearest one first.
    grid
        The step, a power of two, for real values: bounds must be multiples of it. By default values are integers.
    dimension
        The number of coordinates; the scale depends on it.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> share = BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=100)
    >>> share.release(3, source=Seeded(7))
    Release(3, PureDP(epsilon=1), seeded=True)
    >>> round(share.scale, 3)
    1.285
    """

    epsilon: Fraction
    sensitivity: Fraction
    low: Fraction
    high: Fraction
    grid: Fraction | None = None
    dimension: int = 1
    adjacency: Adjacency = AddRemove
    unit: str = "row"

    def __init__(  # noqa: PLR0913 - the parameters of the mechanism
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact,
        low: Exact,
        high: Exact,
        grid: Exact | None = None,
        dimension: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set(
            epsilon=exact_epsilon(epsilon),
            sensitivity=exact_positive(sensitivity, name="sensitivity"),
            low=exact(low, name="low"),
            high=exact(high, name="high"),
            grid=grid_step(grid),
            dimension=exact_integer(dimension, name="dimension"),
        )
        step = Fraction(1) if self.grid is None else self.grid
        least, most = (self._steps(name, step) for name in ("low", "high"))
        if not least < most:
            raise ParameterError("mechanisms.high_not_above_low", low=safe_repr(low), high=safe_repr(high))
        moved = self._sensitivity_steps(step)
        check_width(moved / self.epsilon)
        scale = self._smallest_scale(moved, most - least)
        event = BoundedLaplaceEvent(
            epsilon=self.epsilon,
            scale=scale,
            sensitivity=moved,
            reach=most - least,
            grid=step,
            dimension=self.dimension,
            adjacency=adjacency,
            unit=unit,
        )
        sampler = BoundedDiscreteLaplace(scale, event.reach)
        self._set(adjacency=event.adjacency, unit=event.unit, _event=event, _sampler=sampler, _least=least, _step=step)

    def _steps(self, name: str, step: Fraction) -> int:
        """Return a bound in steps."""
        bound = getattr(self, name) / step
        if bound.denominator != 1:
            raise ParameterError("mechanisms.not_a_grid_multiple", name=name, step=step, value=getattr(self, name))
        if abs(bound) > _MAX_STEPS:
            raise ParameterError("mechanisms.too_many_grid_steps", name=name, value=getattr(self, name))
        return int(bound)

    def _sensitivity_steps(self, step: Fraction) -> int:
        """Return the sensitivity in steps; each coordinate that is rounded can move one step further."""
        if self.grid is not None:
            return math.floor(self.sensitivity / step) + self.dimension
        if self.sensitivity.denominator != 1:
            raise ParameterError("mechanisms.sensitivity_not_whole", sensitivity=self.sensitivity)
        return int(self.sensitivity)

    def _smallest_scale(self, moved: int, reach: int) -> Fraction:
        # Imported here because it loads SciPy, which takes half a second.
        from celosia.accounting.prices.bounded_laplace import smallest_bounded_scale

        return smallest_bounded_scale(self.epsilon, moved, reach, self.dimension)

    @property
    def scale(self) -> float:
        """The scale of the noise, in the caller's units, as a float to look at.

        >>> round(BoundedLaplace(epsilon=1, sensitivity=100, low=0, high=100).scale, 3)
        100.0
        """
        return float(self._event.scale * self._step)

    @property
    def event(self) -> BoundedLaplaceEvent:
        """The event of a release.

        >>> BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=100).event.reach
        100
        """
        return self._event

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of a release.

        >>> BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=100).guarantee
        PureDP(epsilon=1)
        """
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def release(self, value: Any, /, *, source: "Source | None" = None) -> Release[Any]:
        """Return a number between the bounds, or an array of them: integers without a grid, else floats.

        >>> share = BoundedLaplace(epsilon=1, sensitivity="0.1", low=0, high=1, grid="1/1024")
        >>> 0 <= share.release(0.3).value <= 1
        True
        """
        places, source = self._places(value), source_or_system(source)
        if isinstance(places, np.ndarray):
            drawn: Any = self._sampler.sample(places, source) + self._least
        else:
            drawn = self._sampler.draw(places, source) + self._least
        return Release(
            value=drawn if self.grid is None else from_steps(drawn, self._step),
            event=self._event,
            guarantee=self.guarantee,
            seeded=source.seeded,
            margin=self.error,
        )

    def _places(self, value: object) -> "int | NDArray[np.int64]":
        """Return a value in steps from the lower bound, clamped to the bounds."""
        number = as_number_or_array(value)
        if size_of(number) != self.dimension:
            size = size_of(number)
            raise InputError("mechanisms.dimension_differs", dimension=self.dimension, found=size)
        if self.grid is None and not is_integral(number):
            raise InputError("mechanisms.missing_grid")
        steps, most = to_steps(number, self._step), self._least + self._sampler.reach
        if isinstance(steps, np.ndarray):
            return np.asarray(np.clip(steps, self._least, most) - self._least)
        return min(max(steps, self._least), most) - self._least

    def error(self, level: Exact = 0.95) -> Any:
        """Return a bound on the error of one coordinate, with probability ``level`` or more, for any true value.

        The true value is taken after clamping to the bounds.

        >>> BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=100).error(0.95)
        4
        """
        steps = self._sampler.margin(exact_level(level))
        return steps if self.grid is None else float((steps + Fraction(1, 2)) * self._step)

    def outputs(self, value: Any, /) -> Sequence[Any] | None:
        """Return all outputs for one number; None for arrays, and where there are more than a million.

        >>> list(BoundedLaplace(epsilon=1, sensitivity=1, low=-1, high=1).outputs(0))
        [-1, 0, 1]
        """
        if isinstance(self._places(value), np.ndarray) or self._sampler.reach > _MAX_TABLE_SIZE:
            return None
        steps = range(self._least, self._least + self._sampler.reach + 1)
        return steps if self.grid is None else [from_steps(step, self._step) for step in steps]

    def log_masses(self, value: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each output for one number.

        >>> BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=1).log_masses(0, [0, 1]).round(2).tolist()
        [-0.31, -1.31]
        """
        place = self._places(value)
        if isinstance(place, np.ndarray):
            raise InputError("mechanisms.no_table_for_array")
        steps = np.asarray(outputs, dtype=np.float64) / float(self._step) - self._least
        masses = self._sampler.log_mass(place, np.rint(steps))
        return np.where(steps == np.rint(steps), masses, -np.inf)
