"""The exponential mechanism: choose with probability proportional to exp(epsilon * utility / (2 * sensitivity)).

Drawn exactly, without a floating-point softmax. Candidates are a finite list, or all points of a line when the utility
is constant between given edges (quantiles). McSherry and Talwar 2007; its privacy loss has range epsilon (Durfee and
Rogers 2019), so it costs epsilon^2 / 8 in zCDP (Cesar and Rogers 2021).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.enclosure import root_at_most
from celosia.core.errors import InputError
from celosia.core.events import ExponentialEvent
from celosia.core.exact import Exact, exact_positive
from celosia.core.guarantees import ZCDP, Guarantee, PureDP
from celosia.core.release import Release
from celosia.mechanisms.added import one_of
from celosia.mechanisms.grid import as_number_or_array, fine_step
from celosia.mechanisms.selection.base import Selection
from celosia.noise.choice import exponential_choice
from celosia.noise.source import source_or_system
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

_POINTS = 2**40  # of the grid on which a line is laid out
_MAX_EXACT = 2**50  # points farther from zero would not be exact doubles


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Exponential(Selection):
    """Choose by exponential weights. See ``celosia.mechanisms`` for ``adjacency`` and ``unit``.

    Parameters
    ----------
    epsilon, rho
        The target: pure privacy, or zCDP (then epsilon is the square root of ``8 rho``).
    sensitivity
        How far one unit can move the utility of any candidate.
    monotone
        Whether adding a unit moves all utilities in the same direction: twice the accuracy, add-remove only.

    Examples
    --------
    >>> Exponential(epsilon=2, sensitivity=1).release([10, 500, 20]).value
    1
    >>> Exponential(rho="1/8", sensitivity=1).event
    ExponentialEvent(epsilon=1)
    """

    rho: Fraction | None = None

    _last_in_repr: ClassVar[tuple[str, ...]] = ("sensitivity", "monotone", "adjacency", "unit")

    def __init__(
        self,
        *,
        sensitivity: Exact,
        epsilon: Exact | None = None,
        rho: Exact | None = None,
        monotone: bool = False,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set(rho=None if rho is None else exact_positive(rho, name="rho"))
        if self.rho is not None and epsilon in (None, root_at_most(8 * self.rho)):  # a copy passes both
            epsilon = root_at_most(8 * self.rho)
        else:
            one_of(epsilon=epsilon, rho=rho)
        Selection.__init__(
            self,
            epsilon=epsilon if epsilon is not None else 0,
            sensitivity=sensitivity,
            monotone=monotone,
            adjacency=adjacency,
            unit=unit,
        )

    def _derived_fields(self) -> tuple[str, ...]:
        return () if self.rho is None else ("epsilon",)

    @property
    def event(self) -> ExponentialEvent:
        """The event of a release.

        >>> Exponential(epsilon=1, sensitivity=1).event
        ExponentialEvent(epsilon=1)
        """
        return ExponentialEvent(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a release, in the kind of the target.

        >>> Exponential(rho="0.1", sensitivity=1).guarantee
        ZCDP(rho='0.1')
        """
        if self.rho is not None:
            return ZCDP(rho=self.rho, adjacency=self.adjacency, unit=self.unit)
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def choose(self, rate: Fraction, gaps: "NDArray[np.int64]", source: "Source") -> int:
        """Return an index; ``gaps`` are the steps below the best, ``rate`` is the weight of one step."""
        return exponential_choice(rate, gaps, source=source)

    def release_on_line(
        self, edges: "ArrayLike", utilities: "ArrayLike", /, *, source: "Source | None" = None
    ) -> Release[float]:
        """Return a point between the first and the last edge; ``utilities[i]`` holds from edge i to edge i + 1.

        The first and the last edge must be public bounds; those between may come from the data, and are clipped to the
        bounds. Points lie on a grid of about 2^40 steps that the bounds alone determine.

        >>> low, high = 0, 100
        >>> point = Exponential(epsilon=20, sensitivity=1).release_on_line([low, 40, 41, high], [-30, 0, -30]).value
        >>> 40 <= point <= 41
        True
        """
        borders = as_number_or_array(edges)
        rate, gaps = self._rate_and_gaps(utilities)
        if not isinstance(borders, np.ndarray) or borders.shape != (gaps.size + 1,):
            raise InputError("mechanisms.wrong_number_of_edges")
        # An inner edge beyond the bounds is a clipped value, not an error that would reveal it.
        borders = np.clip(borders.astype(np.float64), borders[0], max(borders[0], borders[-1]))
        if (np.diff(borders) < 0).any() or not borders[0] < borders[-1]:
            raise InputError("mechanisms.edges_not_increasing")
        step = _line_step(float(borders[0]), float(borders[-1]))
        firsts = np.ceil(borders / step).astype(np.int64)
        if firsts[0] == firsts[-1]:
            raise InputError("mechanisms.edges_too_close")
        source = source_or_system(source)
        chosen = exponential_choice(rate, gaps, multiplicities=np.diff(firsts), source=source)
        point = int(firsts[chosen]) + integer_below(int(firsts[chosen + 1] - firsts[chosen]), source)
        return Release(value=point * step, event=self.event, guarantee=self.guarantee, seeded=source.seeded)

    def log_masses(self, utilities: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each index.

        >>> Exponential(epsilon=2, sensitivity=1).log_masses([0, 0], [0, 1]).round(3).tolist()
        [-0.693, -0.693]
        """
        rate, gaps = self._rate_and_gaps(utilities)
        weights = -float(rate) * gaps.astype(np.float64)
        return self._pick(weights - math.log(np.exp(weights).sum()), outputs)


def _line_step(low: float, high: float) -> float:
    """Return the power of two that cuts the line into about 2^40 points, all of them exact doubles."""
    reach = max(abs(low), abs(high))
    return float(max(fine_step((Fraction(high) - Fraction(low)) / _POINTS), fine_step(Fraction(reach) / _MAX_EXACT)))
