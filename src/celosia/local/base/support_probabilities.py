"""Counts from reports that each support some values: how often each was supported, with the chance hits taken off.

A report supports its owner's value with probability p, and any other value with probability q, whichever that value is.
So (supports - n q) / (p - q) is right on average, and its variance follows from p and q alone: Wang, Blocki, Li and Jha
2017 call such protocols pure. Direct and unary encoding, local hashing and subset selection are of this kind.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local.base.estimate import Estimate, build_estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.local.base.null_law import TableLaws

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportProbabilities:
    """The probabilities of a support, p (``if_true``) and q (``if_not``).

    Their difference ``gap`` is given by itself: for a small epsilon it is lost by subtraction.
    """

    if_true: float
    if_not: float
    gap: float

    def variance(self, reports: float, count: float = 0.0) -> float:
        """Return the variance of an estimated count, when so many of the reporters have the value."""
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
        """Return the estimate for candidates that were supported so often.

        ``further`` is a variance, at given counts, that does not come from the reporters' coins but from collisions in
        a table of hashes, whose ``laws`` are then given too.
        """
        raw = (supports.astype(np.float64) - reports * self.if_not) / self.gap
        counts, zeros = np.clip(raw, 0.0, reports), np.zeros(raw.shape)
        nobody, slope = self.variance(reports), self.variance(0, 1.0)
        null_variances = nobody + (further(zeros) if further else zeros)
        return build_estimate(
            candidates,
            raw,
            variances=np.maximum(nobody + slope * counts, 0.0) + (further(counts) if further else 0.0),
            null_variances=null_variances,
            reports=reports,
            postprocess=postprocess,
            hits=math.inf if laws else self.hits(reports),
            slopes=slope,
            laws=laws,
        )

    def hits(self, reports: float) -> float:
        """Return of how many chance hits the count of a value that nobody has is made.

        They are as many as a Poisson law has with the variance and the third moment of that count.
        """
        variance = self.variance(reports)
        third = variance / self.gap
        return math.inf if math.isinf(variance) or not third else variance * (variance / third) ** 2
