"""The base of mechanisms that add noise: reading the value, choosing the grid, adding, and the error bar.

A mechanism keeps one *plan* per shape of input it has seen: the event, the sampler and the grid. The plan is chosen by
the type and size of the value alone, never by its content.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import Event
from celosia.core.exact import Exact, ReprMixin, exact_level
from celosia.core.release import Release
from celosia.mechanisms.grid import add_to_array, as_number_or_array, from_steps, is_integral, size_of, to_steps
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.guarantees import Guarantee
    from celosia.core.mechanism import Source

E_co = TypeVar("E_co", bound=Event, covariant=True)

_UNIT_STEP = Fraction(1)
_MAX_PLANS = 64
_TAIL_MASS = 1e-13  # probability left outside a table
_MAX_TABLE_SIZE = 2**20
_MAX_EXACT_STEPS = 2**53  # steps from here on are no longer one double each


class Sampler(Protocol):
    """A distribution of integer noise, such as those of ``celosia.noise``."""

    def draw(self, source: "Source | None" = None) -> int:
        """Return one draw."""

    def sample(self, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
        """Return ``count`` draws."""

    def log_mass(self, values: "ArrayLike") -> "NDArray[np.float64]":
        """Return the natural logarithms of the probabilities of values."""

    def margin(self, level: float) -> int:
        """Return the smallest bound on the absolute noise that holds with probability ``level`` or more."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How values of one type and size are released."""

    event: Any
    sampler: Sampler
    step: Fraction
    integral: bool

    def margin(self, level: Exact) -> Any:
        """Return half the width of the error bar: the noise, and for reals the rounding too."""
        level = exact_level(level)
        steps = self.sampler.margin(level)
        return steps if self.integral else float((steps + Fraction(1, 2)) * self.step)


class _Plans:
    """Slots for values derived from the parameters; they are not fields, so they are neither compared nor shown."""

    __slots__ = ("_guarantee", "_plans")
    _guarantee: "Guarantee"
    _plans: dict[tuple[bool, int], _Plan]


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class AddedNoise(ReprMixin, _Plans, ABC, Generic[E_co]):
    """The base of ``Laplace`` and ``Gaussian``: noise of whole grid steps on a number or an array.

    A subclass implements ``plan_noise`` and ``has_integer_sensitivity``, and calls ``_keep`` at the end of its
    constructor.

    >>> from celosia.mechanisms import Laplace
    >>> isinstance(Laplace(epsilon=1, sensitivity=1), AddedNoise)
    True
    """

    grid: Fraction | None = None
    dimension: int | None = None
    adjacency: Adjacency = AddRemove
    unit: str = "row"

    @abstractmethod
    def plan_noise(self, size: int, step: Fraction | None) -> tuple[E_co, Sampler]:
        """Return the event and the sampler for ``size`` coordinates; ``step`` is None for real values."""

    @abstractmethod
    def has_integer_sensitivity(self) -> bool:
        """Return whether integers can stay on the grid of integers."""

    def _keep(self, guarantee: "Guarantee") -> None:
        self._set(_guarantee=guarantee, _plans={}, adjacency=guarantee.adjacency, unit=guarantee.unit)

    @property
    def guarantee(self) -> "Guarantee":
        """The guarantee of a release, whatever the shape of the value.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(scale=10, sensitivity=1).guarantee
        PureDP(epsilon='0.1')
        """
        return self._guarantee

    @property
    def event(self) -> E_co:
        """The event of releasing ``dimension`` values, integers if the sensitivity is an integer.

        Other values have their own event, which ``event_for`` returns, with the same guarantee.

        >>> from celosia.mechanisms import Gaussian, Laplace
        >>> Laplace(epsilon="0.1", sensitivity=1).event
        LaplaceEvent(scale=10, sensitivity=1)
        >>> Gaussian(sigma=4, sensitivity=1).event
        GaussianEvent(variance=16, sensitivity_squared=1)
        """
        event: E_co = self._declared_plan().event
        return event

    def _scope(self, size: int, step: Fraction) -> dict[str, Any]:
        """Return what every event of added noise states beside the noise and the sensitivity."""
        return {"grid": step, "dimension": size, "adjacency": self.adjacency, "unit": self.unit}

    def _declared_plan(self) -> _Plan:
        """Return the plan for the declared ``dimension``, of integers where that is possible."""
        return self._plan(integral=True, size=self.dimension or 1)

    def _plan(self, *, integral: bool, size: int) -> _Plan:
        """Return the plan for values of this kind and size, which are public."""
        plan = self._plans.get((integral, size))
        if plan is None:
            if self.dimension is not None and size != self.dimension:
                raise InputError("mechanisms.dimension_differs", dimension=self.dimension, found=size)
            whole = integral and self.has_integer_sensitivity() and self.grid in (None, 1)
            event, sampler = self.plan_noise(size, _UNIT_STEP if whole else None)
            plan = _Plan(event, sampler, event.grid, whole)  # type: ignore[attr-defined]
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()  # arrays of many sizes must not fill the memory
            self._plans[integral, size] = plan
        return plan

    def release(self, value: Any, /, *, source: "Source | None" = None) -> Release[Any]:
        """Return the value with noise: a number for a number, an array of the same shape for an array.

        Integers stay integers where the sensitivity is whole and no other grid is given; all else is released as
        floats. Numbers may have any size. Arrays hold at most 2^62 - 1 steps: values and sums beyond are clipped there.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=1, sensitivity=1).release([[1, 2], [3, 4]]).value.shape
        (2, 2)
        """
        if type(value) is int:
            plan = self._plan(integral=True, size=1)
        else:
            value = as_number_or_array(value)
            plan = self._plan(integral=is_integral(value), size=size_of(value))
        source = source_or_system(source)
        noisy: Any
        if isinstance(value, np.ndarray):
            noise = plan.sampler.sample(value.size, source)
            noisy = add_to_array(value, noise, None if plan.integral else plan.step)
        elif plan.integral:
            noisy = value + plan.sampler.draw(source)
        else:
            noisy = from_steps(to_steps(value, plan.step) + plan.sampler.draw(source), plan.step)
        return Release(
            value=noisy,
            event=plan.event,
            guarantee=self._guarantee,
            seeded=source.seeded,
            margin=plan.margin,
        )

    def error(self, level: Exact = 0.95, *, like: object = None) -> Any:
        """Return how far off one coordinate is at most, with probability ``level`` or more.

        ``like`` is any value of the type and shape that will be released (its content does not count); without it the
        answer is for integers, if the sensitivity is whole, and for ``dimension`` of them.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=8, sensitivity=1).error(0.95), Laplace(epsilon=8, sensitivity=1).error(0.95, like=0.0)
        (0, 0.37548828125)
        """
        return self._like(like).margin(level)

    def event_for(self, like: object) -> Any:
        """Return the event of releasing a value of this type and shape; its content does not count.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=1, sensitivity=1).event_for(0.0)
        LaplaceEvent(scale=1025, sensitivity=1025, grid=0.0009765625)
        """
        return self._like(like).event

    def _like(self, like: object) -> _Plan:
        if like is None:
            return self._declared_plan()
        value = as_number_or_array(like)
        return self._plan(integral=is_integral(value), size=size_of(value))

    def outputs(self, value: Any, /) -> Sequence[Any] | None:
        """Return the outputs that carry all but 1e-12 of the probability for one number.

        None for arrays, and where the table would be long in the making or doubles could not tell its outputs apart.

        >>> from celosia.mechanisms import Laplace
        >>> len(Laplace(epsilon=1, sensitivity=1).outputs(108))
        61
        """
        if isinstance(as_number_or_array(value), np.ndarray):
            return None
        plan, centre = self._centre(value)
        reach = plan.sampler.margin(1 - _TAIL_MASS)
        if reach > _MAX_TABLE_SIZE or not (plan.integral or abs(centre) + reach <= _MAX_EXACT_STEPS):
            return None
        steps = range(centre - reach, centre + reach + 1)
        return steps if plan.integral else from_steps(np.arange(steps.start, steps.stop), plan.step).tolist()

    def log_masses(self, value: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each output for one number.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=1, sensitivity=1).log_masses(0, [0, 1, 2]).round(2).tolist()
        [-0.77, -1.77, -2.77]
        """
        plan, centre = self._centre(value)
        if plan.integral:
            return plan.sampler.log_mass([int(output) - centre for output in outputs])
        steps = np.asarray(outputs, dtype=np.float64) / float(plan.step)
        masses = plan.sampler.log_mass(np.rint(steps) - centre)
        return np.where(steps == np.rint(steps), masses, -np.inf)

    def _centre(self, value: object) -> tuple[_Plan, int]:
        """Return the plan for one number, and the number in steps."""
        number = as_number_or_array(value)
        plan = self._plan(integral=is_integral(number), size=1)
        steps = to_steps(number, plan.step)
        if not isinstance(steps, int):
            raise InputError("mechanisms.no_table_for_array")
        return plan, steps


def one_of(**targets: object) -> None:
    """Refuse a call that gives none, or more than one, of several alternative parameters."""
    if sum(target is not None for target in targets.values()) != 1:
        names = list(targets)
        raise ParameterError("mechanisms.not_exactly_one", names=", ".join(names[:-1]), last=names[-1])
