"""Base of the statistics that choose: exact counts in, one or several candidates out, and the cost.

Noise cannot be added to a mode or a median; it is chosen among public candidates, with probability that falls with how
far a candidate is from the truth in rows. A choice takes several *selections* in each cell of the group by; its share
of epsilon is divided among the cells that one unit can touch and the selections in each. Why that is private, for both
adjacencies, is in ``proofs/quantiles.md``. McSherry and Talwar 2007; McKenna and Sheldon 2020.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.core.enclosure import root_at_most
from celosia.core.errors import InputError
from celosia.core.events import ExponentialEvent, PermuteAndFlipEvent
from celosia.core.exact import Exact, exact_epsilon, exact_positive
from celosia.core.guarantees import ZCDP, Guarantee, PureDP
from celosia.core.messages.message import Message
from celosia.core.structure import RepeatedEvent
from celosia.mechanisms.added import one_of
from celosia.mechanisms.selection.choices import choose_each, flip_each
from celosia.noise.source import source_or_system
from celosia.statistics.base.measure import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source
    from celosia.data.schema.axis import Axis
    from celosia.statistics.base.noise import ContributionBounds

_MAX_BATCH_COUNTS = 2**19  # more would only move memory
_MAX_COUNT = 2**62
_MAX_GAP = Fraction(2) ** 1000  # the error of a tiny epsilon still fits a double


@dataclass(frozen=True, slots=True, kw_only=True)
class Selections:
    """The selections of a release: the epsilon of each, and ``pure`` if each may be permute-and-flip."""

    each: Fraction
    bounding: "ContributionBounds"
    pure: bool
    source: "Source"


class Choice(ABC):
    """The base of ``Mode``, ``TopK`` and ``Quantiles``.

    The share of the budget is an ``epsilon`` or a ``rho`` (zCDP). Where several releases are composed better than by
    adding their epsilons, ``pure=False`` takes the exponential mechanism in place of permute-and-flip.

    >>> from celosia.statistics.selection.most_common import Mode
    >>> Mode(candidates=3).width
    3
    """

    __slots__ = ()

    quantities: ClassVar[tuple[str, ...]]
    _flips: ClassVar[bool] = True

    @property
    def axes(self) -> "tuple[Axis, ...]":
        """The axes of its columns; none where candidates are a list."""
        return ()

    @property
    def bin_width(self) -> int:
        """The number of axis points that are counted together."""
        return 1

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of counts in each cell."""

    @abstractmethod
    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:
        """Return the number of sequential selections in each cell."""

    @abstractmethod
    def spread(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,
        pure: bool = True,
        rows: float | None = None,
        level: Exact = 0.95,
    ) -> float | None:
        """Return a bound on the error of the answer in rows, with probability ``level``, for any data."""

    @abstractmethod
    def explain(
        self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None, pure: bool = True
    ) -> tuple[Message, ...]:
        """Return sentences for a preview: how the answer is chosen, and why not otherwise."""

    @abstractmethod
    def _choose(self, counts: "NDArray[np.int64]", selections: "Selections") -> "NDArray[np.int64]":
        """Return the chosen indices for some of the cells."""

    def _estimate(self, chosen: "NDArray[np.int64]") -> Estimate:
        """Return the choice in the user's units, with intervals if there are any."""
        return Estimate(value=chosen)

    def each(self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None) -> Fraction:
        """Return the epsilon of one selection in one cell.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.selection.most_common import Mode
        >>> Mode(candidates=3).each(1, ContributionBounds(groups=4, cells=10))
        Fraction(1, 4)
        """
        return selection_epsilon(epsilon, rho, bounding.groups * self.parts(bounding))

    def event(
        self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None, pure: bool = True
    ) -> "Event":
        """Return the event of a release, for all cells together.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.selection.most_common import Mode
        >>> Mode(candidates=3).event(1, ContributionBounds())
        PermuteAndFlipEvent(epsilon=1)
        >>> Mode(candidates=3).event(None, ContributionBounds(groups=2, cells=5), rho="1/4")
        RepeatedEvent(event=ExponentialEvent(epsilon=1), times=2)
        """
        kind = PermuteAndFlipEvent if self._flips and pure and rho is None else ExponentialEvent
        event = kind(epsilon=self.each(epsilon, bounding, rho=rho), adjacency=bounding.adjacency, unit=bounding.unit)
        times = bounding.groups * self.parts(bounding, pure=pure)
        return event if times == 1 else RepeatedEvent(event=event, times=times)

    def release(
        self,
        counts: "NDArray[np.int64]",
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,
        pure: bool = True,
        source: "Source | None" = None,
    ) -> Estimate:
        """Return the private answer of each cell from exact counts, one row for each cell and one column a candidate.

        >>> import numpy as np
        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> from celosia.statistics.selection.most_common import Mode
        >>> counts = np.array([[10, 500, 20], [300, 2, 2]])
        >>> Mode(candidates=3).release(counts, 1, ContributionBounds(cells=2)).value.tolist()
        [1, 0]
        """
        numbers = self._check_counts(counts)
        selections = Selections(
            each=self.each(epsilon, bounding, rho=rho),
            bounding=bounding,
            pure=pure and rho is None,
            source=source_or_system(source),
        )
        chosen = [self._choose(numbers[cells], selections) for cells in _make_batches(*numbers.shape)]
        return self._estimate(np.concatenate(chosen))

    def _check_counts(self, counts: "NDArray[np.int64]") -> "NDArray[np.int64]":
        numbers = np.asarray(counts)
        if numbers.ndim != 2 or numbers.shape[1] != self.width or numbers.dtype.kind not in "iuO":
            raise InputError("statistics.counts_not_a_table", width=self.width)
        if numbers.dtype.kind == "i":
            return numbers.astype(np.int64, copy=False)
        return np.minimum(numbers, _MAX_COUNT).astype(np.int64)  # clipping keeps neighbours as near as they were


def selection_epsilon(epsilon: Exact | None, rho: Exact | None, times: int) -> Fraction:
    """Return the epsilon of each of ``times`` selections that share a budget; one costs epsilon^2 / 8 in zCDP."""
    one_of(epsilon=epsilon, rho=rho)
    if epsilon is not None:
        return exact_epsilon(epsilon) / times
    return root_at_most(8 * exact_positive(rho if rho is not None else 0, name="rho") / times)


def make_guarantee(epsilon: Exact | None, rho: Exact | None, bounding: "ContributionBounds") -> Guarantee:
    """Return the guarantee of a release, in the kind of its price."""
    one_of(epsilon=epsilon, rho=rho)
    if epsilon is not None:
        return PureDP(epsilon=epsilon, adjacency=bounding.adjacency, unit=bounding.unit)
    return ZCDP(rho=rho if rho is not None else 0, adjacency=bounding.adjacency, unit=bounding.unit)


def count_rate(each: Fraction, bounding: "ContributionBounds") -> Fraction:
    """Return the weight of one row in the exponent if the utility of a candidate is its number of rows.

    Under add-remove a unit only adds rows, or only takes them away, and the utility is monotone.
    """
    return each / (bounding.rows if bounding.adjacency is AddRemove else 2 * bounding.rows)


def gap_at_most(candidates: int, missed: float, rate: Fraction) -> float:
    """Return a bound on how many rows a choice is below the best, except with probability ``missed``.

    McSherry and Talwar 2007: ``ln(candidates / missed) / rate``; permute-and-flip does no worse.
    """
    return float(min(Fraction(math.log(candidates / missed)) / rate, _MAX_GAP))


def choose_largest(
    counts: "NDArray[np.int64]",
    rate: Fraction,
    *,
    allowed: "NDArray[np.bool_] | None" = None,
    flips: bool,
    source: "Source",
) -> "NDArray[np.int64]":
    """Choose in each row a column whose count is nearly the largest of those allowed."""
    gaps = counts.max(axis=1, keepdims=True) - counts
    return (flip_each if flips else choose_each)(rate, gaps, allowed=allowed, source=source)


def _make_batches(cells: int, width: int) -> Iterator[slice]:
    step = max(1, _MAX_BATCH_COUNTS // max(1, width))
    return (slice(first, first + step) for first in range(0, max(cells, 1), step))
