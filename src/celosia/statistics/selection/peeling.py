"""The k most common of a public list of values, in order: k choices, each among the remaining values.

Each selection is that of the mode, on the candidates that were not chosen before, with one k-th of the epsilon
(*peeling*). The order of the answer is the order of choosing: the first was nearly the most common of all. With
exponential weights it is the one-shot mechanism of Durfee and Rogers 2019.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.messages.message import Message
from celosia.statistics.base.choice import Selections, choose_largest, count_rate
from celosia.statistics.selection.most_common import CommonValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.noise import ContributionBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(CommonValues):
    """The indices of the ``k`` most common of ``candidates`` values, the most common first.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> TopK(candidates=4, k=2).release(np.array([[10, 500, 20, 300]]), 2, ContributionBounds()).value.tolist()
    [[1, 3]]
    """

    k: int
    quantities: ClassVar[tuple[str, ...]] = ("top_k",)

    def __post_init__(self) -> None:
        CommonValues.__post_init__(self)  # slots=True replaces the class, so that super() fails
        object.__setattr__(self, "k", exact_integer(self.k, name="k"))
        if self.k > self.candidates:
            raise ParameterError(
                "statistics.more_choices_than_candidates", candidates=self.candidates, k=safe_repr(self.k)
            )

    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:  # noqa: ARG002 - the same for all
        """Return k, the number of selections in each cell.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> TopK(candidates=10, k=3).parts(ContributionBounds())
        3
        """
        return self.k

    def _describe(self, how: Message, less: int) -> Message:
        return Message("statistics.top_k_chosen", k=self.k, candidates=self.candidates, how=how, rows=less)

    def _choose(self, counts: "NDArray[np.int64]", selections: Selections) -> "NDArray[np.int64]":
        rate, source = count_rate(selections.each, selections.bounding), selections.source
        allowed = np.ones(counts.shape, dtype=np.bool_)
        chosen = np.empty((len(counts), self.k), dtype=np.int64)
        for place in range(self.k):
            chosen[:, place] = choose_largest(counts, rate, allowed=allowed, flips=selections.pure, source=source)
            np.put_along_axis(allowed, chosen[:, place : place + 1], values=False, axis=1)
        return chosen
