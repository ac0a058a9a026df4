"""What contribution limits cut off: the rows kept and cut off in each cell, and the persons with rows cut off.

The limits do not bound these measures, because they count what lies beyond them. ``CutRows`` relies on a public number:
over all cells together one person has at most ``most`` rows. ``CutPersons`` counts each person once. The proof is in
``proofs/cut-off.md``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from celosia.core.errors import QueryError
from celosia.core.exact import exact_integer
from celosia.statistics.base.measure import Estimate, Measure
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.noise_sums import sum_margin
from celosia.statistics.moments.bernstein import simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import Noise


class CutOffMeasure(Measure):
    """Base of two counts: what the limits keep and what they cut off. ``kept`` is the share kept, over all cells.

    ``row_sensitivity`` is that of a whole person, so compute the sensitivity for one cell and one row of a unit.

    >>> isinstance(CutPersons(), CutOffMeasure)
    True
    """

    __slots__ = ()

    width: ClassVar[int] = 2
    """The numbers of a cell: kept and cut off."""

    quantities: ClassVar[tuple[str, ...]] = ("kept",)
    """The names of the quantities that it answers."""

    def features(self, *k: Any) -> tuple[Any, ...]:  # noqa: ARG002 - no row has features of its own
        """Raise an error: the cut-off rows depend on all rows of a person, so engines count them."""
        raise QueryError("statistics.cut_off_not_a_sum")

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the share that the limits keep in all cells together, between 0 and 1.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.base.noise import Noise
        >>> rows = CutRows(most=10)
        >>> noise = Noise.laplace(1, rows.sensitivity(ContributionBounds(cells=2)), 2, 2, ContributionBounds(cells=2))
        >>> estimate = rows.answer("kept", np.array([[700, 100], [200, 0]]), noise)
        >>> estimate.value.tolist(), [end.round(3).tolist() for end in estimate.interval(0.95)]
        ([0.9], [[0.82], [0.98]])
        """
        self._check(quantity)
        sums = noisy.sum(axis=0)

        def interval(level: float) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
            reach = _reach(noise, len(noisy), (1 - level) / 2)
            (kept_low, cut_low), (kept_high, cut_high) = np.maximum(sums - reach, 0.0), np.maximum(sums + reach, 0.0)
            return _share(kept_low, cut_high, 0.0), _share(kept_high, cut_low, 1.0)

        kept, cut = np.maximum(sums, 0)
        return Estimate.around(_share(kept, cut, 0.5), interval)

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None, level: float = 0.95) -> float | None:  # noqa: ARG002 - of one number, whatever the rows
        """Return a bound on the error of one of the counts."""
        self._check(quantity)
        return float(noise.margin(level))


@dataclass(frozen=True, slots=True)
class CutRows(CutOffMeasure):
    """Rows kept and rows cut off in each cell. One person has at most ``most`` rows over all cells.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> CutRows(most=638).sensitivity(ContributionBounds(unit="person"))
    Sensitivity(l1=638, l2_squared=407044)
    """

    most: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", exact_integer(self.most, name="most"))

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """At most ``most`` over all numbers: one person may have all its rows in any of them."""
        return simplex(self.most)


@dataclass(frozen=True, slots=True)
class CutPersons(CutOffMeasure):
    """Persons with no row cut off, and persons with some rows cut off, over all cells.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> CutPersons().sensitivity(ContributionBounds(unit="person"))
    Sensitivity(l1=1, l2_squared=1)
    """

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """At most 1: each person is counted in one of the two numbers."""
        return simplex(1)


def _reach(noise: "Noise", cells: int, failure: float) -> float:
    """Return a two-sided bound on the error of the sum of one coordinate over all cells, except with ``failure``."""
    return noise.margin(1 - failure) if cells == 1 else sum_margin(noise.mechanism, cells, failure / 2)


def _share(part: float, rest: float, otherwise: float) -> "NDArray[np.float64]":
    total = part + rest
    return np.array([part / total if total > 0 else otherwise])
