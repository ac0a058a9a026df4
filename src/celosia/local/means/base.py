"""Base class of the protocols for means: bounds, numbers on a grid, and an estimate with its standard error.

Inside, a number is a position t between -1 (low) and 1 (high); variances of one report are stated for t, and the width
of the bounds enters only at the end. ``variance`` is the worst case over t. The standard error of an estimate is that
at the estimated t, or an upper bound if the reports do not determine it.
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

    A subclass implements ``parts``, ``worst_variance`` and ``estimate_moments`` in place of ``encode`` and
    ``estimate``.

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
        """Return the variance of the estimated mean of ``reports`` people, for the least favourable numbers.

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
        """The number of parts into which values divide the interval."""

    @property
    @abstractmethod
    def worst_variance(self) -> float:
        """The largest variance of one report, for bounds of -1 and 1."""

    @abstractmethod
    def estimate_moments(self, state: State, reports: int) -> tuple[float, float]:
        """Return the estimated mean, and the variance of one report, for bounds of -1 and 1."""

    def encode(self, values: Any) -> "NDArray[np.int64]":
        return read_parts(values, self.low, self.high, self.parts)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> MeanEstimate:
        if candidates is not None or postprocess is not None:
            given = "candidates" if candidates is not None else f"postprocess={safe_repr(postprocess)}"
            raise ParameterError("local.mean_takes_no_option", given=given)
        half, bounds = self._half(), (float(self.low), float(self.high))
        middle = bounds[0] + half
        n = aggregate.reports
        if not n:  # only the bounds are known
            return MeanEstimate(mean=middle, standard_error=math.inf, reports=0, bounds=bounds)
        mean, variance = self.estimate_moments(aggregate.state, n)
        error = half * math.sqrt(variance / n)
        return MeanEstimate(mean=middle + half * mean, standard_error=error, reports=n, bounds=bounds)
