"""Many exact choices at once: one in each row of a table of gaps, by exponential weights or by permute-and-flip.

A query over a thousand groups chooses a thousand times; instead of a slow loop, whole tables are drawn here, with the
same exact laws as ``noise.choice``. A candidate may be a *segment* of many points whose gaps are worked out only for
the segment that was drawn: a quantile is looked for among millions of points at the price of the segments. The argument
is in ``proofs/quantiles.md``.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_positive
from celosia.noise.bernoulli import coins_exp
from celosia.noise.decide import below, exp_enclosure
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

    Integers: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]
    Inside: TypeAlias = Callable[[Integers, Integers], Integers]

_COVER_BITS = 60  # the covers of a row sum to less than twice 2^60
_SLACK = 2.0**-36
_WORD, _COIN = 64, 52  # a coin of 52 bits is exact in a double
_ABSENT = -1


def choose_each(
    rate: Exact, gaps: "Integers", *, allowed: "Flags | None" = None, source: "Source | None" = None
) -> "Integers":
    """Draw one column in each row, with probability proportional to ``exp(-rate * gaps)`` among the allowed ones."""
    slope, source = exact_positive(rate, name="rate"), source_or_system(source)
    gaps, allowed = _check_gaps(gaps, allowed)
    return _Proposals(slope, gaps, allowed.astype(np.float64), 1, None).draw(source)[0]


def choose_in_segments(
    rate: Exact,
    gaps: "Integers",
    crowds: "NDArray[np.float64]",
    inside: "Inside",
    *,
    points: int,
    source: "Source | None" = None,
) -> "tuple[Integers, Integers]":
    """Draw in each row one point of one segment, with probability proportional to ``exp(-rate * gap)`` of the point.

    Parameters
    ----------
    rate
        The weight of one step of a gap.
    gaps
        The least gap in each segment: one row for each choice, one column for each segment.
    crowds
        No less than the sum of ``exp(-rate * (gap - least gap))`` over the points of a segment; 0 where it has none.
    inside
        Gives, for rows and as many segments, the gaps of the points: ``points`` columns, -1 where there is no point.
    points
        The largest number of points in a segment.
    """
    slope, source = exact_positive(rate, name="rate"), source_or_system(source)
    gaps, _ = _check_gaps(gaps, crowds > 0)
    return _Proposals(slope, gaps, crowds, points, inside).draw(source)


def flip_each(
    rate: Exact, gaps: "Integers", *, allowed: "Flags | None" = None, source: "Source | None" = None
) -> "Integers":
    """Draw one column in each row by permute-and-flip, among the allowed ones; gaps count from the best of them."""
    slope, source = exact_positive(rate, name="rate"), source_or_system(source)
    gaps, allowed = _check_gaps(gaps, allowed)
    gaps = np.where(allowed, gaps - _least(gaps, allowed)[:, None], 0)
    heads = np.cumsum(coins_exp(slope, gaps, source) & allowed, axis=1, dtype=np.int64)  # the best is always a head
    return np.asarray(np.argmax(heads > _below_each(heads[:, -1], source)[:, None], axis=1), dtype=np.int64)


class _Proposals:
    """Rejection sampling in each row: a segment by its cover, a point of it by a finer one, an exact last step."""

    __slots__ = ("_ends", "_gaps", "_inside", "_least", "_slope", "_units")

    def __init__(
        self,
        slope: Fraction,
        gaps: "Integers",
        crowds: "NDArray[np.float64]",
        points: int,
        inside: "Inside | None",
    ) -> None:
        self._slope, self._gaps, self._inside = slope, gaps, inside
        self._least = _least(gaps, crowds > 0)
        weights = crowds * self._exp(np.where(crowds > 0, gaps - self._least[:, None], 0))
        # The unit follows the sum of the weights, which is 1 or more: the covers of a row sum to 2^59 or more.
        self._units = np.ldexp(1.0, _COVER_BITS - np.frexp(weights.sum(axis=1))[1])
        weights *= self._units[:, None] * (1 + 4 * _SLACK)
        # Each point may be rounded up by one; that much more makes room for all of a segment's points.
        covers = np.ceil(weights, out=weights).astype(np.int64)
        covers += points * (crowds > 0)
        self._ends = np.cumsum(covers, axis=1, out=covers)

    def draw(self, source: "Source") -> "tuple[Integers, Integers]":
        segments, points = (np.zeros(len(self._ends), dtype=np.int64) for _ in range(2))
        rows = np.arange(len(self._ends))
        while rows.size:
            segment, offset = self._segment(rows, _below_each(self._ends[rows, -1], source))
            point, kept = self._point(rows, segment, offset, source)
            segments[rows[kept]], points[rows[kept]] = segment[kept], point[kept]
            rows = rows[~kept]
        return segments, points

    def _segment(self, rows: "Integers", places: "Integers") -> "tuple[Integers, Integers]":
        """Find the segment on which each place falls, by bisection in all rows together, and how far into it."""
        low, high = np.zeros_like(rows), np.full_like(rows, self._ends.shape[1] - 1)
        while (low < high).any():
            middle = (low + high) // 2
            beyond = self._ends[rows, middle] <= places
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low, places - np.where(low > 0, self._ends[rows, low - 1], 0)

    def _point(
        self, rows: "Integers", segments: "Integers", offsets: "Integers", source: "Source"
    ) -> "tuple[Integers, Flags]":
        """Return the point on which each offset falls, and whether it is kept."""
        gaps = self._gaps[rows, segments][:, None] if self._inside is None else self._inside(rows, segments)
        gaps = np.where(gaps == _ABSENT, _ABSENT, gaps - self._least[rows][:, None])
        weights = self._exp(np.maximum(gaps, 0)) * self._units[rows][:, None]
        covers = np.where(gaps == _ABSENT, 0, np.maximum(np.ceil(weights * (1 + _SLACK)), 1)).astype(np.int64)
        found = (np.cumsum(covers, axis=1) <= offsets[:, None]).sum(axis=1)
        inside = np.flatnonzero(found < covers.shape[1])  # beyond them is room that the segment's cover left over
        kept = np.zeros(rows.size, dtype=np.bool_)
        place = found[inside]
        kept[inside] = self._keep(
            rows[inside], gaps[inside, place], weights[inside, place], covers[inside, place], source
        )
        return found, kept

    def _keep(
        self,
        rows: "Integers",
        gaps: "Integers",
        weights: "NDArray[np.float64]",
        covers: "Integers",
        source: "Source",
    ) -> "Flags":
        """Keep each point with the exact ratio of its weight to its cover."""
        coins = (source.words(rows.size) >> np.uint64(_WORD - _COIN)).astype(np.float64)
        chances = weights / covers * 2.0**_COIN
        kept = coins + 1 <= chances * (1 - _SLACK)
        for i in np.flatnonzero(~kept & (coins < chances * (1 + _SLACK) + _SLACK)).tolist():
            ratio = Fraction(float(self._units[rows[i]])) / int(covers[i])
            kept[i] = below(int(coins[i]), _COIN, exp_enclosure(self._slope * int(gaps[i]), ratio), source)
        return kept

    def _exp(self, gaps: "Integers") -> "NDArray[np.float64]":
        with np.errstate(over="ignore", under="ignore"):  # a warning would depend on the data
            return np.exp(-float(self._slope) * gaps.astype(np.float64))


def _least(gaps: "Integers", allowed: "Flags") -> "Integers":
    """Return the least gap of each row among the allowed columns."""
    return np.asarray(np.where(allowed, gaps, np.iinfo(np.int64).max).min(axis=1))


def _below_each(bounds: "Integers", source: "Source") -> "Integers":
    """Draw one integer below each bound, all equally likely."""
    shifts = (_WORD - np.frexp(bounds.astype(np.float64))[1]).astype(
        np.uint64
    )  # enough bits for the bound, or one more
    drawn = np.zeros_like(bounds)
    rows = np.arange(bounds.size)
    while rows.size:
        drawn[rows] = source.words(rows.size) >> shifts[rows]
        rows = rows[drawn[rows] >= bounds[rows]]
    return drawn


def _check_gaps(gaps: "Integers", allowed: "Flags | None") -> "tuple[Integers, Flags]":
    gaps = np.asarray(gaps)
    allowed = np.ones(gaps.shape, dtype=np.bool_) if allowed is None else np.asarray(allowed)
    if gaps.ndim != 2 or gaps.dtype != np.int64 or gaps.shape != allowed.shape or not gaps.shape[1]:
        raise ParameterError("mechanisms.gaps_not_a_table")
    if gaps.size and (int(gaps.min()) < 0 or not allowed.any(axis=1).all()):
        raise ParameterError("mechanisms.gaps_without_choice")
    return gaps, allowed
