"""All quantiles at once, by splitting: choose the middle one, then go on with the rows on either side of it.

On each level of the recursion the problems hold disjoint parts of the rows, so a row counts once on each level and not
once for each quantile (Kaplan, Schnapp and Stemmer 2022). Real data has ties, which that paper excludes: here the rows
of a bin are spread evenly over the points inside it, the cut may fall between them, and a row that is cut counts partly
on either side, with weights that sum to one. Answers are in order by construction. ``proofs/quantiles.md``.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.mechanisms.selection.choices import choose_each, choose_in_segments
from celosia.statistics.selection.stretch import MAX_DISTANCE, Stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

    Integers: TypeAlias = NDArray[np.int64]

POINTS = 64
"""Points over which the rows of a bin are spread: a tie can be cut to one part in 128."""

_MAX_DENOMINATOR = 2**16  # denominators of the share that a problem looks for


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One quantile between two that were found before.

    ``share`` of the problem's rows shall lie below it; ``left`` and ``right`` are the numbers of the quantiles that
    bound it, or None for the ends of the axis. It is ``last`` if nothing is split by its answer, and ``alone`` on its
    level if there is no other problem.
    """

    number: int
    share: Fraction
    left: int | None
    right: int | None
    last: bool
    alone: bool

    @property
    def side(self) -> Fraction:
        """The most that adding or removing one row moves the problem's utility."""
        return max(self.share, 1 - self.share)


def problems(quantiles: tuple[Fraction, ...], *, down: bool = False) -> tuple[tuple[Problem, ...], ...]:
    """Return the problems for quantiles in increasing order, level by level.

    A share with a large denominator is rounded to the nearest simple one, or ``down`` for lower ends.
    """
    levels = []
    spans = [(0, len(quantiles))] if quantiles else []
    while spans:
        level = [_make_problem(quantiles, first, end, alone=len(spans) == 1, down=down) for first, end in spans]
        levels.append(tuple(level))
        halves = [
            half
            for (first, end), problem in zip(spans, level, strict=True)
            for half in ((first, problem.number), (problem.number + 1, end))
        ]
        spans = [(first, end) for first, end in halves if first < end]
    return tuple(levels)


def _make_problem(quantiles: tuple[Fraction, ...], first: int, end: int, *, alone: bool, down: bool) -> Problem:
    middle = (first + end) // 2
    if quantiles[middle] == 1 and middle > first:
        middle -= 1  # a maximum is looked for a few rows from the end: others are not to be counted from there
    left = first - 1 if first > 0 else None
    right = end if end < len(quantiles) else None
    low = Fraction(0) if left is None else quantiles[left]
    high = Fraction(1) if right is None else quantiles[right]
    share = (quantiles[middle] - low) / (high - low)
    if down and share.denominator > _MAX_DENOMINATOR:
        share = Fraction(int(share * _MAX_DENOMINATOR), _MAX_DENOMINATOR)
    elif 0 < share < 1:  # an end would be a minimum or a maximum, which are looked for otherwise
        share = share.limit_denominator(_MAX_DENOMINATOR)
        share = min(max(share, Fraction(1, _MAX_DENOMINATOR)), 1 - Fraction(1, _MAX_DENOMINATOR))
    return Problem(number=middle, share=share, left=left, right=right, last=end - first == 1, alone=alone)


class Line:
    """The rows of some cells along the axis: a table of counts, cells by bins, of which nothing is copied.

    A *place* on the line is an integer number of half points from its start; a bin has ``2 * points`` of them. Ranks
    are in units of one ``2 * points``-th of a row.
    """

    __slots__ = ("_counts", "_edges", "_half", "_points")

    def __init__(self, counts: "Integers", *, points: int = POINTS) -> None:
        self._points, self._half = points, 2 * points
        wide = (
            float(counts.sum(axis=1, dtype=np.float64).max(initial=0)) * self._half * _MAX_DENOMINATOR
            >= MAX_DISTANCE / 2
        )
        numbers: NDArray[Any] = counts.astype(object) if wide else counts  # Python's integers have any length
        self._counts = numbers
        self._edges = np.zeros((len(counts), counts.shape[1] + 1), dtype=numbers.dtype)
        np.cumsum(numbers, axis=1, out=self._edges[:, 1:])
        self._edges *= self._half

    @property
    def length(self) -> int:
        """The place at the end of the line."""
        return self._half * int(self._counts.shape[1])

    def choose(
        self,
        problem: Problem,
        start: "Integers",
        end: "Integers",
        rate: Fraction,
        *,
        rank: int = 0,
        whole_bins: bool,
        source: "Source | None" = None,
    ) -> "Integers":
        """Return a place between ``start`` and ``end`` in each cell, by exponential weights.

        The utility of a point is the distance, in rows, between the problem's target and the ranks that the point
        spans; ``rate`` is what one row counts. A share of 0 or 1 has a ``rank`` from the end as its target.
        With ``whole_bins`` the points are the bins themselves.
        """
        part = Stretch(self._counts, self._edges, self._points, start, end)
        part.aim(problem.share, rank)
        step = rate / (self._half * part.scale)
        if whole_bins:
            chosen = choose_each(step, part.gaps(), allowed=part.present(), source=source)
            return (part.first + chosen) * self._half + self._points
        bins, points = choose_in_segments(
            step, part.gaps(), part.crowds(float(step)), part.inside, points=self._points, source=source
        )
        return (part.first + bins) * self._half + 2 * points + 1

    def choose_low(
        self,
        problem: Problem,
        start: "Integers",
        end: "Integers",
        rate: Fraction,
        *,
        shift: int,
        whole_bins: bool,
        source: "Source | None" = None,
    ) -> "Integers":
        """Return a place in each cell that is ``shift`` rows below the problem's target, or ``start`` if none is.

        The place is where the chosen point or bin begins. ``start`` itself counts as having any number of rows below it
        that the target needs: it is a lower end of which nothing more is known.
        """
        part = Stretch(self._counts, self._edges, self._points, start, end)
        if shift * self._half * problem.share.denominator > MAX_DISTANCE // 8:  # more rows than there can be
            return start
        part.aim_below(problem.share, shift)
        step = rate / (self._half * part.scale)
        if whole_bins:
            bins = choose_each(step, part.gaps(), allowed=part.present(), source=source)
            return np.maximum((part.first + bins) * self._half, start)
        bins, points = choose_in_segments(
            step, part.gaps(), part.crowds(float(step)), part.inside, points=self._points, source=source
        )
        return (part.first + bins) * self._half + 2 * points

    def choose_extreme(
        self,
        problem: Problem,
        start: "Integers",
        end: "Integers",
        rate: Fraction,
        *,
        rank: int,
        whole_bins: bool,
        source: "Source | None" = None,
    ) -> "tuple[Integers, NDArray[np.bool_]]":
        """Return a place ``rank`` rows from the end, and whether there were enough rows for it, in each cell.

        Every point stands twice among the candidates: as one with ``rank`` rows beyond it, and as the middle of fewer
        than twice as many rows. Only in the first case the place bounds the minimum or maximum.
        """
        enough, few = (Stretch(self._counts, self._edges, self._points, start, end) for _ in range(2))
        few.aim_at_middle(rank)
        parts = [few]
        if rank * 2 * self._half <= MAX_DISTANCE // 8:  # else there can never be enough
            enough.aim_from_end(problem.share, rank)
            parts = [few, enough]
        step, bins = rate / (self._half * few.scale), few.present().shape[1]
        gaps = np.concatenate([part.gaps() for part in parts], axis=1)
        if whole_bins:
            allowed = np.concatenate([part.present() for part in parts], axis=1)
            chosen = choose_each(step, gaps, allowed=allowed, source=source)
            return (few.first + chosen % bins) * self._half + self._points, chosen >= bins
        crowds = np.concatenate([part.crowds(float(step)) for part in parts], axis=1)

        def inside(cells: "Integers", segments: "Integers") -> "Integers":
            found = [part.inside(cells, segments % bins) for part in parts]
            return np.where((segments >= bins)[:, None], found[-1], found[0])

        chosen, points = choose_in_segments(step, gaps, crowds, inside, points=self._points, source=source)
        return (few.first + chosen % bins) * self._half + 2 * points + 1, chosen >= bins
