"""What the protocols for means have in common: bounds, numbers on a grid, and an estimate with its standard error.

Inside, a number is a place t between -1 and 1, low and high; the variance of one report is stated for t, and the widths
of real bounds come in at the end only. The worst case over t is what ``variance`` says; an estimate has the standard
error at what the reports themselves say about t, or above it where they cannot tell.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_integer, safe_repr
from celosia.local.base.estimate import MeanEstimate
from celosia.local.base.protocol import Protocol, State
from celosia.local.means.interval import exact_bounds, read_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.local.base.aggregate import Aggregate


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class MeanProtocol(Protocol[MeanEstimate]):
    """A protocol whose reports add up to a mean.

    >>> from celosia.local.means.duchi import Duchi
    >>> isinstance(Duchi(low=0, high=10, epsilon=1), MeanProtocol)
    True
    """

    low: Fraction
    high: Fraction

    def _set_bounds(self, low: Exact, high: Exact, epsilon: Exact) -> None:
        least, most = exact_bounds(low, high)
        self._set(low=least, high=most, epsilon=exact_epsilon(epsilon))

    def variance(self, reports: int) -> float:
        """Return the variance of the estimated mean of so many people, whose numbers are the least favourable ones.

        >>> from celosia.local.means.duchi import Duchi
        >>> round(Duchi(low=-1, high=1, epsilon=1).variance(1), 2)
        4.68
        """
        return self.worst_variance * self._half() ** 2 / exact_integer(reports, name="reports")

    def _half(self) -> float:
        return (float(self.high) - float(self.low)) / 2

    @property
    @abstractmethod
    def parts(self) -> int:
        """In how many parts the interval is read."""

    @property
    @abstractmethod
    def worst_variance(self) -> float:
        """Return the largest variance of one report, for bounds of -1 and 1."""

    @abstractmethod
    def estimate_moments(self, state: State, reports: int) -> tuple[float, float]:
        """Return the mean and the variance of one report, for bounds of -1 and 1."""

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return read_parts(values, self.low, self.high, self.parts)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> MeanEstimate:
        if candidates is not None or postprocess is not None:
            given = "candidates" if candidates is not None else f"postprocess={safe_repr(postprocess)}"
            raise ParameterError(f"A mean is estimated without {given}: its interval is cut to the bounds already.")
        half, bounds = self._half(), (float(self.low), float(self.high))
        middle = bounds[0] + half
        n = aggregate.reports
        if not n:  # nothing is known but the bounds
            return MeanEstimate(mean=middle, standard_error=math.inf, reports=0, bounds=bounds)
        mean, variance = self.estimate_moments(aggregate.state, n)
        error = half * math.sqrt(variance / n)
        return MeanEstimate(mean=middle + half * mean, standard_error=error, reports=n, bounds=bounds)
