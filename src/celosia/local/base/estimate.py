"""Estimates of an aggregate: unbiased counts, their errors, and tests for which values occur.

The people and their values are fixed; the clients' coins (and, for sketches, the hash functions) are random. A count is
a sum of many independent bounded terms, so intervals use the normal law with the protocol's variance. Tests use the far
tail, where a count of few chance hits is not normal: they use the Poisson law of as many hits, which has the heavier
tail. For a table of hashes, tests and intervals use the law of that table (``null_law``).

Post-processing costs no privacy, but adds bias. ``"clip"`` sets negative counts to 0, which gives an absent value 0.4
standard errors on average. ``"norm-sub"`` shifts all counts by one number and clips them, so that they add up to the
number of reports. It is for estimates over a whole domain; it lowers frequent values by what clipping adds to others.
Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li 2020 compare these.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

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

_MAX_POISSON_HITS = 1e6  # beyond it the Poisson law is practically normal
_MIN_HITS = 1e-6
_RARE_HITS = 30.0
_FAR_TAIL = 1e-3  # a probability below which the tail of chance hits is not normal

_BIAS = {
    None: "none: each count is unbiased, and may be negative",
    "clip": "upwards: an absent value gets 0.4 standard errors on average",
    "norm-sub": "frequent values downwards, absent values upwards; the total is exact",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate:
    """Estimated counts of candidates.

    ``raw`` is unbiased; ``counts`` is the same, or post-processed. ``standard_errors`` are those of ``raw`` at the
    estimated counts, ``null_errors`` those at a count of zero; ``slopes`` is the variance that one more holder adds.
    ``hits`` is the number of reports that support an absent candidate by chance; it is infinite if it does not matter,
    or if ``laws`` has the law.

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
        """The direction of the bias of the counts.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().bias
        'none: each count is unbiased, and may be negative'
        """
        return _BIAS[self.postprocess]

    def interval(self, level: Exact = 0.95, *, simultaneous: bool = False) -> "tuple[Floats, Floats]":
        """Return bounds for each count, around the unbiased ones.

        Each holds with probability ``level``; with ``simultaneous`` all of them hold together (Bonferroni). They are
        clipped to the range from 0 to the number of reports. Both are of score type: a bound is the last count that a
        test at this level does not reject.

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
        if self.hits < (
            _RARE_HITS if miss > _FAR_TAIL else _MAX_POISSON_HITS
        ):  # one chance hit may exceed the normal law's reach
            low = np.fmin(low, self.raw - self.critical(miss / 2))
        high = high_ends(self.raw, below, times**2 * self.slopes, self.reports)
        return np.clip(low, 0.0, self.reports), np.clip(high, 0.0, self.reports)

    def critical(self, chance: float) -> "Floats":
        """Return the counts that absent candidates exceed with probability at most ``chance``, each.

        >>> from celosia.local import DirectEncoding
        >>> DirectEncoding(domain=3, epsilon=2).aggregate().estimate().critical(0.05).tolist()
        [0.0, 0.0, 0.0]
        """
        if self.laws is not None:
            return np.full(self.raw.shape, self.laws.null.quantile(chance))
        return critical_value(chance, self.hits) * self.null_errors

    def significant(self, failure: Exact = 0.05) -> "NDArray[np.bool_]":
        """Return which candidates occur, with family-wise error at most ``failure``.

        >>> from celosia.local import DirectEncoding
        >>> from celosia.noise import Seeded
        >>> protocol = DirectEncoding(domain=3, epsilon=2)
        >>> aggregate = protocol.aggregate().absorb(protocol.privatize([0] * 600 + [2] * 400, source=Seeded(7)))
        >>> aggregate.estimate().significant(0.01).tolist()
        [True, False, True]
        """
        allowed = float(exact_probability(failure, name="failure"))
        if not 0 < allowed < 1:
            raise ParameterError("local.failure_out_of_range", value=safe_repr(failure))
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
    """An unbiased estimate of a mean.

    >>> MeanEstimate(mean=0.5, standard_error=0.1, reports=100)
    MeanEstimate(0.5 ± 0.1, reports=100)
    """

    mean: float
    standard_error: float
    reports: int
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def interval(self, level: Exact = 0.95) -> tuple[float, float]:
        """Return bounds for the mean, clipped to the bounds of the values.

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
    """Return an estimate from unbiased counts and their variances, post-processed as requested."""
    if postprocess not in _BIAS:
        raise ParameterError("local.unknown_postprocess", value=safe_repr(postprocess))
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


E = TypeVar("E", bound=Estimate)


def extend_estimate(kind: type[E], estimate: Estimate, **more: Any) -> E:
    """Return an estimate of a subclass: the parts of ``estimate``, and those that the subclass adds."""
    return kind(**{field.name: getattr(estimate, field.name) for field in fields(Estimate)}, **more)


def critical_value(chance: float, hits: float = math.inf) -> float:
    """Return the number of standard errors that an absent value's count exceeds with probability at most ``chance``.

    ``hits`` is the number of chance hits in such a count; with many hits the law is normal.
    """
    from scipy.special import ndtri

    normal = -float(ndtri(chance))
    if hits >= _MAX_POISSON_HITS:
        return normal
    from scipy.stats import poisson

    rare = max(hits, _MIN_HITS)
    # One hit more: coins blur a count of few hits around integers.
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
