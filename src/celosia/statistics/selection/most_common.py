"""The mode: the most common of a public list of values, chosen and not computed.

The utility of a value is its number of rows. One unit moves it by at most the rows it may have in a cell, and under
add-remove all utilities in the same direction, so the whole epsilon counts and not half of it. Permute-and-flip
(McKenna and Sheldon 2020) chooses where pure epsilons are added, the exponential mechanism elsewhere.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from celosia.core.exact import Exact, exact_integer, exact_level
from celosia.core.messages.message import Message
from celosia.statistics.base.choice import Choice, Selections, choose_largest, count_rate, gap_at_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import ContributionBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonValues(Choice):
    """Base of ``Mode`` and ``TopK``: indices of ``candidates`` values, chosen by their numbers of rows."""

    candidates: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", exact_integer(self.candidates, name="candidates"))

    @property
    def width(self) -> int:
        """One count for each candidate."""
        return self.candidates

    def spread(
        self,
        epsilon: Exact | None,
        bounding: "ContributionBounds",
        *,
        rho: Exact | None = None,
        pure: bool = True,  # noqa: ARG002 - the bound holds for both mechanisms
        rows: float | None = None,  # noqa: ARG002 - nothing depends on it
        level: Exact = 0.95,
    ) -> float:
        """Return a bound on how many rows fewer each chosen value has than the best that was left, for all together.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> round(Mode(candidates=49).spread(1, ContributionBounds()), 1)
        6.9
        """
        rate = count_rate(self.each(epsilon, bounding, rho=rho), bounding)
        return gap_at_most(self.candidates, (1 - exact_level(level)) / self.parts(bounding), rate)

    def explain(
        self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None, pure: bool = True
    ) -> tuple[Message, ...]:
        """Return how the values are chosen.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> print(*Mode(candidates=49).explain(1, ContributionBounds()))
        The mode is chosen among 49 values by permute-and-flip; with probability 95 % it has at most 7 rows less than
        the most common value.
        """
        how = Message("statistics.permute_and_flip" if pure and rho is None else "statistics.exponential_mechanism")
        return (self._describe(how, math.ceil(self.spread(epsilon, bounding, rho=rho, pure=pure))),)

    @abstractmethod
    def _describe(self, how: Message, less: int) -> Message:
        """Return the sentence of ``explain``: the name of the mechanism, and the bound in rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode(CommonValues):
    """The index of the most common of ``candidates`` values.

    >>> import numpy as np
    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> Mode(candidates=3).release(np.array([[10, 500, 20]]), 1, ContributionBounds()).value.tolist()
    [1]
    """

    quantities: ClassVar[tuple[str, ...]] = ("mode",)

    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:  # noqa: ARG002 - the same for all
        """Return 1: one selection in each cell.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> Mode(candidates=3).parts(ContributionBounds())
        1
        """
        return 1

    def _describe(self, how: Message, less: int) -> Message:
        return Message("statistics.mode_chosen", candidates=self.candidates, how=how, rows=less)

    def _choose(self, counts: "NDArray[np.int64]", selections: Selections) -> "NDArray[np.int64]":
        rate = count_rate(selections.each, selections.bounding)
        return choose_largest(counts, rate, flips=selections.pure, source=selections.source)
