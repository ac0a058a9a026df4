"""What an aggregate says: counts without bias, how far off they may be, and which of them are really there.

The people and their values are held fixed; the coins of the clients (and, for sketches, the hash functions) are what is
random. A count is a sum of many independent bounded terms, so its law is taken as normal: intervals are those of the
normal distribution with the protocol's own variance. Tests look far into the tail, where a count that comes of few
chance hits is not normal at all: they take the Poisson law of as many hits, which has the heavier tail. Where reports
are in a table of hashes, tests and intervals take the law that this table gives (``null_law``).

Post-processing costs no privacy, but bias. ``"clip"`` sets negative counts to 0, which gives a value that nobody has
0.4 standard errors on average. ``"norm-sub"`` moves all counts by one number and clips, so that they add up to the
number of reports: it is for estimates over a whole domain; frequent values become too small, by what the clipping of
the others brought in. Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li 2020 compare these.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_level, exact_probability, safe_repr
from celosia.local.base.confidence import high_ends, low_ends

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.local.base.null_law import TableLaws

    Floats = NDArray[np.float64]

_MANY = 1e6  # chance hits: the Poisson law is normal for all practical purposes
_FEW = 1e-6
_RARE = 30.0
_FAR = 1e-3  # a chance below which the tail of chance hits is not that of the normal law

_BIAS = {
    None: "none: each count is right on average, and may be negative",
    "clip": "upwards: a value that nobody has is given 0.4 standard errors on average",
    "norm-sub": "frequent values downwards, values that nobody has upwards; all values together are right",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate:
    """Estimated counts of candidates.

    ``raw`` is without bias; ``counts`` is the same, or post-processed. ``standard_errors`` are those of ``raw`` at the
    estimated counts, ``null_errors`` those at a count of zero; ``slopes`` is what one more holder adds to the
    variances. ``hits`` is how many reports support by chance a candidate that nobody has; infinite where that is no
    matter, or where ``laws`` has the law itself.

    >>> from celosia.local import DirectEncoding
    >>> from celosia.noise import Seeded
    >>> protocol = DirectEncoding(domain=3, epsilon=2)
    >>> estimate = protocol.aggregate().absorb(protocol.privatize([0] * 600 + [2] * 400, source=Seeded(7))).estimate()
    >>> estimate
    Estimate(0: 608 ± 17, 1: -21 ± 14, 2: 414 ± 16; reports=1000)
    """

    candidates: list[Any]
    counts: "Floats"
    standard_errors: "Floats"
    null_errors: "Floats"
    raw: "Floats"
    reports: int
    postprocess: str | None = None
    hits: float = math.inf
    slopes: "Floats | float" = 0.0
    laws: "TableLaws | None" = None

    @property
    def frequencies(self) -> "Floats":
        """The counts as shares of the reports.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().frequencies.tolist()
        [0.0, 0.0, 0.0]
        """
        return self.counts / max(self.reports, 1)

    @property
    def bias(self) -> str:
        """In which direction the counts are wrong on average.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().bias
        'none: each count is right on average, and may be negative'
        """
        return _BIAS[self.postprocess]

    def interval(self, level: Exact = 0.95, *, simultaneous: bool = False) -> "tuple[Floats, Floats]":
        """Return bounds for each count, around the unbiased ones.

        Each holds with probability ``level`` by itself; with ``simultaneous`` all of them hold together (Bonferroni).
        They are cut to what is possible, 0 to the number of reports. Both are of score type: a bound is the last count
        at which an estimate so far away would not be rare.

        >>> from celosia.local import DirectEncoding
        >>> from celosia.noise import Seeded
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> aggregate = protocol.aggregate().absorb(protocol.privatize([0] * 600 + [2] * 400, source=Seeded(7)))
        >>> low, high = aggregate.estimate().interval(0.95)
        >>> low.round().tolist(), high.round().tolist()
        ([574.0, 0.0, 381.0], [642.0, 7.0, 446.0])
        """
        from scipy.special import ndtri

        miss = (1 - exact_level(level)) / (max(len(self.raw), 1) if simultaneous else 1)
        times = -float(ndtri(miss / 2))
        above, below, far = (
            times * errors for errors in (self.standard_errors, self.standard_errors, self.null_errors)
        )
        if self.laws is not None:
            above, below = (
                self.laws.reach(self.standard_errors, miss / 2, times, lower=lower) for lower in (False, True)
            )
            far = np.maximum(far, self.critical(miss / 2))
        low = low_ends(self.raw, above, far)
        if self.hits < (_RARE if miss > _FAR else _MANY):  # one chance hit may be further than the normal law reaches
            low = np.fmin(low, self.raw - self.critical(miss / 2))
        high = high_ends(self.raw, below, times**2 * self.slopes, self.reports)
        return np.clip(low, 0.0, self.reports), np.clip(high, 0.0, self.reports)

    def critical(self, chance: float) -> "Floats":
        """Return the counts that candidates without a holder exceed with probability ``chance`` at most, each.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().critical(0.05).tolist()
        [0.0, 0.0, 0.0]
        """
        if self.laws is not None:
            return np.full(self.raw.shape, self.laws.null.quantile(chance))
        return critical_value(chance, self.hits) * self.null_errors

    def significant(self, failure: Exact = 0.05) -> "NDArray[np.bool_]":
        """Tell which candidates are really there: with probability ``failure`` or less, any of those shown has no one.

        >>> from celosia.local import DirectEncoding
        >>> from celosia.noise import Seeded
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> aggregate = protocol.aggregate().absorb(protocol.privatize([0] * 600 + [2] * 400, source=Seeded(7)))
        >>> aggregate.estimate().significant(0.01).tolist()
        [True, False, True]
        """
        allowed = float(exact_probability(failure, name="failure"))
        if not 0 < allowed < 1:
            raise ParameterError(f"failure must be greater than 0 and less than 1, not {safe_repr(failure)}.")
        return self.raw > self.critical(allowed / max(len(self.raw), 1))

    def to_arrow(self, level: Exact = 0.95) -> "pa.Table":
        """Return a table of candidates, counts, standard errors and bounds.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().to_arrow().column_names
        ['candidate', 'count', 'standard_error', 'low', 'high']
        """
        import pyarrow as pa

        low, high = self.interval(level)
        return pa.table(
            {
                "candidate": self.candidates,
                "count": self.counts,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
            }
        )

    def to_pandas(self, level: Exact = 0.95) -> "pd.DataFrame":
        """Return ``to_arrow`` as a pandas data frame.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().to_pandas().shape
        (3, 5)
        """
        from celosia.data.sources.frames import to_pandas

        return to_pandas(self.to_arrow(level))

    def __len__(self) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        shown = [
            f"{candidate}: {count:.0f} ± {error:.0f}"
            for candidate, count, error in zip(self.candidates[:6], self.counts, self.standard_errors, strict=False)
        ]
        more = ", …" if len(self.candidates) > 6 else ""
        marks = f", postprocess={self.postprocess!r}" if self.postprocess else ""
        return f"Estimate({', '.join(shown)}{more}; reports={self.reports}{marks})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MeanEstimate:
    """An estimated mean, without bias.

    >>> MeanEstimate(mean=0.5, standard_error=0.1, reports=100)
    MeanEstimate(0.5 ± 0.1, reports=100)
    """

    mean: float
    standard_error: float
    reports: int
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def interval(self, level: Exact = 0.95) -> tuple[float, float]:
        """Return bounds for the mean, cut to what is possible.

        >>> low, high = MeanEstimate(mean=0.5, standard_error=0.1, reports=100).interval(0.95)
        >>> round(low, 3), round(high, 3)
        (0.304, 0.696)
        """
        from scipy.special import ndtri

        reach = -float(ndtri((1 - exact_level(level)) / 2)) * self.standard_error
        low, high = self.bounds
        return min(max(self.mean - reach, low), high), min(max(self.mean + reach, low), high)

    def __repr__(self) -> str:
        return f"MeanEstimate({self.mean:.6g} ± {self.standard_error:.2g}, reports={self.reports})"


def build_estimate(  # noqa: PLR0913 - an estimate has that many parts
    candidates: Sequence[Any],
    raw: "Floats",
    *,
    variances: "Floats",
    null_variances: "Floats",
    reports: int,
    postprocess: str | None,
    hits: float = math.inf,
    slopes: "Floats | float" = 0.0,
    laws: "TableLaws | None" = None,
) -> Estimate:
    """Return an estimate from unbiased counts and their variances, post-processed as is asked."""
    if postprocess not in _BIAS:
        raise ParameterError(f'postprocess must be None, "clip" or "norm-sub", not {safe_repr(postprocess)}.')
    counts = raw
    if postprocess == "clip":
        counts = np.maximum(raw, 0.0)
    elif postprocess == "norm-sub":
        counts = norm_sub(raw, float(reports))
    return Estimate(
        candidates=list(candidates),
        counts=counts,
        standard_errors=np.sqrt(variances),
        null_errors=np.sqrt(null_variances),
        raw=raw,
        reports=reports,
        postprocess=postprocess,
        hits=hits,
        slopes=slopes,
        laws=laws,
    )


def critical_value(chance: float, hits: float = math.inf) -> float:
    """Return how many standard errors a count of nobody's passes with probability ``chance`` at most.

    ``hits`` is the number of chance hits that such a count is made of; with many of them the law is normal.
    """
    from scipy.special import ndtri

    normal = -float(ndtri(chance))
    if hits >= _MANY:
        return normal
    from scipy.stats import poisson

    rare = max(hits, _FEW)
    # One hit more: as far as it is made of few hits, a count is blurred by coins around integers of them.
    return max(normal, (float(poisson.isf(chance, rare)) + 1 - rare) / math.sqrt(rare))


def norm_sub(counts: "Floats", total: float) -> "Floats":
    """Return the nearest counts (least squares) that are not negative and add up to ``total``."""
    if not counts.size:
        return counts
    falling = np.sort(counts)[::-1]
    # With the first j kept, all move by (total - their sum) / j; the last j that stays positive is the right one.
    shifts = (total - np.cumsum(falling)) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(falling + shifts > 0)
    moved: Floats = np.maximum(counts + shifts[kept[-1] if kept.size else 0], 0.0)
    return moved
