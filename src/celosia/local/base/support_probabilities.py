"""Counts from reports that each support a set of values, corrected for chance hits.

A report supports its owner's value with probability p, and each other value with probability q. Hence
(supports - n q) / (p - q) is unbiased, and its variance follows from p and q alone. Wang, Blocki, Li and Jha 2017 call
such protocols pure: direct and unary encoding, local hashing and subset selection.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local.base.checks import check_crowd
from celosia.local.base.domain import DomainProtocol
from celosia.local.base.estimate import Estimate, build_estimate
from celosia.local.base.values import read_candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.local.base.aggregate import Aggregate
    from celosia.local.base.null_law import TableLaws
    from celosia.local.base.packing import Bytes

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportProbabilities:
    """The probabilities of a support, p (``if_true``) and q (``if_not``).

    Their difference ``gap`` is a field of its own: for a small epsilon, subtraction would lose it.
    """

    if_true: float
    if_not: float
    gap: float

    def variance(self, reports: float, count: float = 0.0) -> float:
        """Return the variance of an estimated count if ``count`` of the reporters have the value."""
        noise = reports * self.if_not * (1 - self.if_not) + count * self.gap * (1 - self.if_true - self.if_not)
        return noise / self.gap / self.gap

    def estimate(
        self,
        candidates: Sequence[Any],
        supports: "NDArray[np.int64]",
        *,
        reports: int,
        postprocess: str | None,
        further: "Callable[[Floats], Floats] | None" = None,
        laws: "TableLaws | None" = None,
    ) -> Estimate:
        """Return the estimate for candidates with the given supports.

        ``further`` is the variance, at given counts, from collisions in a table of hashes, whose ``laws`` are then
        given too.
        """
        raw = (supports.astype(np.float64) - reports * self.if_not) / self.gap
        counts, zeros = np.clip(raw, 0.0, reports), np.zeros(raw.shape)
        null, slope = self.variance(reports), self.variance(0, 1.0)
        null_variances = null + (further(zeros) if further else zeros)
        return build_estimate(
            candidates,
            raw,
            variances=np.maximum(null + slope * counts, 0.0) + (further(counts) if further else 0.0),
            null_variances=null_variances,
            reports=reports,
            postprocess=postprocess,
            hits=math.inf if laws else self.hits(reports),
            slopes=slope,
            laws=laws,
        )

    def hits(self, reports: float) -> float:
        """Return the number of chance hits in the count of an absent value.

        It is that of the Poisson law with the variance and the third moment of that count.
        """
        variance = self.variance(reports)
        third = variance / self.gap
        return math.inf if math.isinf(variance) or not third else variance * (variance / third) ** 2


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class SupportProtocol(DomainProtocol[Estimate]):
    """A protocol whose state is the number of reports that support each value."""

    @abstractmethod
    def _chances(self) -> SupportProbabilities:
        """Return the probabilities that a report supports its owner's value, and another one."""

    def variance(self, reports: int, count: float = 0.0) -> float:
        """Return the variance of an estimated count, if ``count`` of the reporters have the value.

        >>> from celosia.local import DirectEncoding, OptimizedUnary
        >>> round(DirectEncoding(domain=100, epsilon=1).variance(1), 1)
        34.1
        >>> round(OptimizedUnary(domain=100, epsilon=1).variance(1), 2)
        3.68
        """
        check_crowd(reports, count)
        return self._chances().variance(reports, count)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> Estimate:
        """Return the estimated counts of the candidates."""
        places, labels = read_candidates(candidates, self.domain)
        (supports,) = aggregate.state.values()
        return self._chances().estimate(labels, supports[places], reports=aggregate.reports, postprocess=postprocess)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class BitVectorProtocol(SupportProtocol):
    """A protocol whose report has one bit for each value, set for those that it supports."""

    @property
    def bits(self) -> int:
        """A report has one bit for each value.

        >>> from celosia.local import OptimizedUnary
        >>> OptimizedUnary(domain=1000, epsilon=1).bits
        1000
        """
        return self.size

    def _own_bits(self, value: Any, payload: "Bytes") -> "NDArray[np.uint8]":
        """Return the bit of a value in each report."""
        place = int(self.encode([value])[0])
        return payload[:, place // 8] >> np.uint8(place % 8) & np.uint8(1)
