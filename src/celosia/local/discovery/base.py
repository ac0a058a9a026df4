"""Values that nobody listed beforehand: what was found, what it was tested against, and what could not be found.

Who looks through a million candidates for those that stand out meets some that stand out by chance. So candidates are
proposed by one part of the reports and tested on another, whose noise is independent of the choice; the threshold is a
multiple of the standard error that all false candidates together pass with a stated probability at most (union bound).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.exact import Exact, exact_level
from celosia.local.base.estimate import Estimate, build_estimate, critical_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.null_law import TableLaws

    Floats = NDArray[np.float64]

FAILURE = 0.001
"""The probability with which anything false is among what is found, unless another one is asked for."""

SURELY = 3.0
"""How many standard errors a value must stand above a cut to pass it 99.9 times in 100."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Discovery(Estimate):
    """Values that were found, the most frequent first, with their counts.

    ``tested`` is the number of candidates, ``null_error`` the standard error of the count of one that nobody holds,
    ``threshold`` the count above which one is shown, and ``surfaces`` about how many people must hold a value so that
    it is found at all: those held by fewer may be missing. A count near the threshold is too high on average, for it
    would not be shown had it come out lower.

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
    def statement(self) -> str:
        """What was looked for and what may be missing, in words.

        >>> from celosia.local.discovery.prefix_extension import PrefixExtension
        >>> protocol = PrefixExtension(domain=2**20, epsilon=4)
        >>> protocol.discover(protocol.aggregate()).statement
        'There are no reports yet.'
        """
        if not self.reports:
            return "There are no reports yet."
        return (
            f"{self.tested} candidates were tested; shown are those with a count above {self.threshold:.0f}. "
            f"A value must be held by about {self.surfaces:.0f} of {self.reports} people to surface, which is "
            f"{self.surfaces / self.null_error:.1f} standard errors of its count; what fewer hold may be missing."
        )

    def __repr__(self) -> str:
        return Estimate.__repr__(self).replace("Estimate", "Discovery", 1)


def multiple(failure: Exact, tested: int) -> float:
    """Return how many standard errors any of so many false candidates passes with probability ``failure`` at most.

    Their counts are taken as normal.
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
    """Return the candidates that stand above the threshold, the most frequent first.

    A value must be held by ``surfaces`` people to get among the candidates, and by so many that it surely stands above
    the threshold.
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
    return Discovery(
        candidates=shown.candidates,
        counts=shown.counts,
        standard_errors=shown.standard_errors,
        null_errors=shown.null_errors,
        raw=shown.raw,
        reports=reports,
        postprocess=postprocess,
        slopes=shown.slopes,
        laws=shown.laws,
        tested=len(raw),
        null_error=error,
        threshold=threshold,
        surfaces=max(surfaces, threshold + SURELY * error),
    )
