"""The base of mechanisms that choose: utilities on a grid, their weight, and the error.

A choice is private when changing one unit moves every utility by at most ``sensitivity``. Real utilities are rounded to
a grid so fine that the extra step this can cost is below 0.1 % of the sensitivity, and the rate pays for it. A
*monotone* utility (all candidates move in the same direction) may count twice as much, but only under add-remove.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import (
    Exact,
    exact_adjacency,
    exact_epsilon,
    exact_integer,
    exact_level,
    exact_positive,
    safe_repr,
)
from celosia.core.guarantees import Guarantee, PureDP
from celosia.core.release import Release
from celosia.mechanisms.grid import FINENESS, as_number_or_array, fine_step, is_integral, to_steps
from celosia.mechanisms.scoped import ScopedMechanism
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source


def exact_monotone(monotone: bool, adjacency: Adjacency) -> bool:  # noqa: FBT001 - it is the parameter
    """Return ``monotone`` after checking it: all values can move in one direction only under add-remove."""
    if not isinstance(monotone, bool):
        raise ParameterError("mechanisms.monotone_not_boolean", monotone=safe_repr(monotone))
    if monotone and adjacency is ReplaceOne:
        raise ParameterError("mechanisms.monotone_under_replacement")
    return monotone


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class UtilityMechanism(ScopedMechanism):
    """The base of mechanisms that compare values, each of which one unit moves by at most ``sensitivity``."""

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool = False

    def _set_target(
        self, epsilon: Exact, sensitivity: Exact, *, monotone: bool, adjacency: Adjacency, unit: str
    ) -> None:
        self._set(
            epsilon=exact_epsilon(epsilon),
            sensitivity=exact_positive(sensitivity, name="sensitivity"),
            monotone=exact_monotone(monotone, exact_adjacency(adjacency)),
        )
        self._set_scope(adjacency, unit)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Selection(UtilityMechanism, ABC):
    """The base of ``Exponential``, ``PermuteAndFlip`` and ``NoisyMax``: choose one of finitely many candidates.

    A subclass implements ``event`` and ``choose``.

    >>> from celosia.mechanisms import PermuteAndFlip
    >>> isinstance(PermuteAndFlip(epsilon=1, sensitivity=1), Selection)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact,
        monotone: bool = False,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set_target(epsilon, sensitivity, monotone=monotone, adjacency=adjacency, unit=unit)

    @property
    @abstractmethod
    def event(self) -> "Event":
        """What a release runs."""

    @abstractmethod
    def choose(self, rate: Fraction, gaps: "NDArray[np.int64]", source: "Source") -> int:
        """Return an index; ``gaps`` are the steps below the best, ``rate`` is the weight of one step."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a release.

        >>> from celosia.mechanisms import NoisyMax
        >>> NoisyMax(epsilon="0.5", sensitivity=1).guarantee
        PureDP(epsilon=0.5)
        """
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def release(self, utilities: "ArrayLike", /, *, source: "Source | None" = None) -> Release[int]:
        """Return the index of a candidate whose utility is nearly the largest.

        >>> from celosia.mechanisms import Exponential
        >>> Exponential(epsilon=1, sensitivity=1).release([10, 500, 20]).value
        1
        """
        rate, gaps = self._rate_and_gaps(utilities)
        source = source_or_system(source)
        return Release(
            value=self.choose(rate, gaps, source), event=self.event, guarantee=self.guarantee, seeded=source.seeded
        )

    def error(self, level: Exact = 0.95, *, candidates: int) -> float:
        """Return a bound on the gap from the best utility to the chosen one, with probability ``level``.

        McSherry and Talwar 2007: the gap is at most ``(ln candidates + ln 1/(1 - level)) / rate``.

        >>> from celosia.mechanisms import PermuteAndFlip
        >>> round(PermuteAndFlip(epsilon=1, sensitivity=1).error(0.95, candidates=10), 1)
        10.6
        """
        level = exact_level(level)
        rate, step = self._rate(integral=False)  # integers do a little better
        steps = math.log(exact_integer(candidates, name="candidates") / (1 - level)) / float(rate)
        return (steps + 1) * float(step)

    def _rate(self, *, integral: bool) -> tuple[Fraction, Fraction]:
        """Return the weight of one step of utility in the exponent, and the step."""
        step, rounding = Fraction(1), 0
        if not integral or self.sensitivity.denominator != 1:
            step, rounding = fine_step(self.sensitivity / FINENESS), 1
        steps = math.floor(self.sensitivity / step) + rounding
        return self.epsilon / (steps if self.monotone else 2 * steps), step

    def _rate_and_gaps(self, utilities: "ArrayLike") -> tuple[Fraction, "NDArray[np.int64]"]:
        values = as_number_or_array(utilities)
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise InputError("mechanisms.utilities_not_a_list")
        rate, step = self._rate(integral=is_integral(values))
        steps = np.asarray(to_steps(values, step))
        return rate, steps.max() - steps

    @staticmethod
    def _pick(masses: "NDArray[np.float64]", outputs: Sequence[Any]) -> "NDArray[np.float64]":
        """Return the masses of the given outputs, 0 for those that are not indices of candidates."""
        chosen = np.asarray(outputs, dtype=np.int64)
        inside = (chosen >= 0) & (chosen < masses.size)
        return np.where(inside, masses[np.where(inside, chosen, 0)], -np.inf)

    def outputs(self, utilities: Any, /) -> Sequence[Any] | None:
        """Return all indices.

        >>> from celosia.mechanisms import Exponential
        >>> list(Exponential(epsilon=1, sensitivity=1).outputs([3, 1, 2]))
        [0, 1, 2]
        """
        return range(len(utilities))
