"""Discoveries: values that are not listed beforehand, with the tests that they passed.

Among a million candidates some stand out by chance. So one part of the reports proposes candidates, and another part,
whose noise is independent of the choice, tests them. The threshold is the multiple of the standard error that any false
candidate exceeds with at most a stated probability (union bound).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.exact import Exact, exact_level
from celosia.core.messages.message import Message
from celosia.local.base.estimate import Estimate, build_estimate, critical_value, extend_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.null_law import TableLaws

    Floats = NDArray[np.float64]

FAILURE = 0.001
"""The default probability that any discovered value is false."""

POWER_ERRORS = 3.0
"""The number of standard errors above a threshold at which a value passes it with probability 99.9 %."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Discovery(Estimate):
    """Discovered values, the most frequent first, with their counts.

    ``tested`` is the number of candidates, ``null_error`` the standard error of the count of an absent one,
    ``threshold`` the count above which a candidate is returned, and ``surfaces`` about how many people must hold a
    value so that it is found: rarer values may be missing. A count near the threshold is biased upwards, by selection.

    >>> from celosia.local.discovery.prefix_extension import PrefixExtension
    >>> from celosia.noise import Seeded
    >>> protocol = PrefixExtension(domain=2**20, epsilon=4)
    >>> reports = protocol.privatize([77_777] * 6000 + list(range(4000)), source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate().candidates
    [77777]
    """

    tested: int
    null_error: float
    threshold: float
    surfaces: float

    @property
    def statement(self) -> Message:
        """A sentence on the threshold and on what may be missing.

        >>> from celosia.local.discovery.prefix_extension import PrefixExtension
        >>> protocol = PrefixExtension(domain=2**20, epsilon=4)
        >>> protocol.discover(protocol.aggregate()).statement
        'There are no reports yet.'
        """
        if not self.reports:
            return Message("local.no_reports_yet")
        return Message(
            "local.discovery_threshold",
            tested=self.tested,
            threshold=self.threshold,
            surfaces=self.surfaces,
            reports=self.reports,
            errors=self.surfaces / self.null_error,
        )

    def __repr__(self) -> str:
        return Estimate.__repr__(self).replace("Estimate", "Discovery", 1)


def threshold_multiple(failure: Exact, tested: int) -> float:
    """Return the number of standard errors that any absent candidate exceeds with probability at most ``failure``.

    It takes their counts as normal.
    """
    return critical_value(exact_level(failure) / max(tested, 1))


def build_discovery(  # noqa: PLR0913 - a discovery has that many parts
    candidates: Sequence[Any],
    raw: "Floats",
    *,
    variances: "Floats",
    null_variance: float,
    reports: int,
    postprocess: str | None,
    failure: Exact,
    surfaces: float = 0.0,
    slopes: "Floats | float" = 0.0,
    laws: "TableLaws | None" = None,
) -> Discovery:
    """Return the candidates above the threshold, the most frequent first.

    ``surfaces`` is the number of people who must hold a value for it to become a candidate; the result also requires
    that its count passes the threshold with high probability.
    """
    error = float(np.sqrt(null_variance))
    chance = float(exact_level(failure)) / max(len(raw), 1)
    threshold = laws.null.quantile(chance) if laws else critical_value(chance) * error
    order = np.argsort(-raw, kind="stable")
    order = order[raw[order] > threshold] if reports else order[:0]
    shown = build_estimate(
        [candidates[place] for place in order.tolist()],
        raw[order],
        variances=variances[order],
        null_variances=np.full(order.size, null_variance),
        reports=reports,
        postprocess=postprocess,
        slopes=slopes if isinstance(slopes, float) else slopes[order],
        laws=laws.take(order) if laws else None,
    )
    return extend_estimate(
        Discovery,
        shown,
        tested=len(raw),
        null_error=error,
        threshold=threshold,
        surfaces=max(surfaces, threshold + POWER_ERRORS * error),
    )
