"""The k most common of a public list of values, in order: k choices, each among the remaining values.

Each selection is that of the mode, on the candidates that were not chosen before, with one k-th of the epsilon
(*peeling*). The order of the answer is the order of choosing: the first was nearly the most common of all. With
exponential weights it is the one-shot mechanism of Durfee and Rogers 2019.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_level, safe_repr
from celosia.statistics.base.choice import Choice, choose_largest, count_rate, gap_at_most

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.statistics.base.noise import ContributionBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(Choice):
    """The indices of the ``k`` most common of ``candidates`` values, the most common first.

    >>> from celosia.statistics.base.noise import ContributionBounds
    >>> TopK(candidates=4, k=2).release(np.array([[10, 500, 20, 300]]), 2, ContributionBounds()).value.tolist()
    [[1, 3]]
    """

    candidates: int
    k: int
    quantities: ClassVar[tuple[str, ...]] = ("top_k",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", exact_integer(self.candidates, name="candidates"))
        object.__setattr__(self, "k", exact_integer(self.k, name="k"))
        if self.k > self.candidates:
            raise ParameterError(
                f"k must be at most the number of candidates, {self.candidates}, not {safe_repr(self.k)}."
            )

    @property
    def width(self) -> int:
        """One count for each candidate."""
        return self.candidates

    def parts(self, bounding: "ContributionBounds", *, pure: bool = True) -> int:  # noqa: ARG002 - the same for all
        """Return k, the number of selections in each cell.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> TopK(candidates=10, k=3).parts(ContributionBounds())
        3
        """
        return self.k

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
        """Return a bound on how many rows fewer each chosen value has than the best that was left, for all k together.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> round(TopK(candidates=49, k=3).spread(1, ContributionBounds()), 1)
        24.0
        """
        rate = count_rate(self.each(epsilon, bounding, rho=rho), bounding)
        return gap_at_most(self.candidates, (1 - exact_level(level)) / self.k, rate)

    def explain(
        self, epsilon: Exact | None, bounding: "ContributionBounds", *, rho: Exact | None = None, pure: bool = True
    ) -> tuple[str, ...]:
        """Return how the values are chosen.

        >>> from celosia.statistics.base.noise import ContributionBounds
        >>> print(*TopK(candidates=49, k=3).explain(1, ContributionBounds()))
        The 3 most common of 49 values are chosen one after another by permute-and-flip; with probability 95 % each has
        at most 24 rows less than the best that was left.
        """
        how = "permute-and-flip" if pure and rho is None else "the exponential mechanism"
        less = math.ceil(self.spread(epsilon, bounding, rho=rho, pure=pure))
        sentence = (
            f"The {self.k} most common of {self.candidates} values are chosen one after another by {how}; with "
            f"probability 95 % each has at most {less} rows less than the best that was left."
        )
        return (sentence,)

    def _choose(
        self,
        counts: "NDArray[np.int64]",
        each: Fraction,
        bounding: "ContributionBounds",
        *,
        pure: bool,
        source: "Source",
    ) -> "NDArray[np.int64]":
        rate = count_rate(each, bounding)
        allowed = np.ones(counts.shape, dtype=np.bool_)
        chosen = np.empty((len(counts), self.k), dtype=np.int64)
        for place in range(self.k):
            chosen[:, place] = choose_largest(counts, rate, allowed=allowed, flips=pure, source=source)
            np.put_along_axis(allowed, chosen[:, place : place + 1], values=False, axis=1)
        return chosen
