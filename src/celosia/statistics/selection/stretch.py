"""The part of a line of rows in which a quantile is looked for: targets, and the distances of bins and points to them.

A *place* is an integer number of half points from the start of the line; ranks are in units of one ``2 * points``-th
of a row, times ``scale``, so that targets are integers. ``proofs/quantiles.md``.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]

MAX_DISTANCE: Final = 2**62
"""Distances beyond are clipped to this."""


class Stretch:
    """A problem's part of the line in every cell: which bins, which target, and how far they are from it."""

    __slots__ = (
        "_cells",
        "_counts",
        "_edges",
        "_end",
        "_extra",
        "_high",
        "_low",
        "_points",
        "_shift",
        "_start",
        "_target",
        "first",
        "scale",
    )

    def __init__(
        self, counts: "NDArray[Any]", edges: "NDArray[Any]", points: int, start: "Integers", end: "Integers"
    ) -> None:
        self._points, self._start, self._end = points, start, end
        self._cells = np.arange(len(counts))
        self.first = int(start.min()) // (2 * points)
        last = max(int(end.max()) - 1, int(start.max())) // (2 * points)
        self._counts = counts[:, self.first : last + 1]
        self._edges = edges[:, self.first : last + 2]
        self._low, self._high = self._rank(start), self._rank(end)
        self._shift: int = 0  # rows that stand between the first point and the others
        self._extra: NDArray[Any] | None = None  # what is added to all distances of a cell

    def _rank(self, places: "Integers") -> "NDArray[Any]":
        bins = np.minimum(places // (2 * self._points) - self.first, self._counts.shape[1] - 1)
        within = places - (bins + self.first) * (2 * self._points)
        return np.asarray(self._edges[self._cells, bins] + self._counts[self._cells, bins] * within)

    def aim(self, share: Fraction, rank: int) -> None:
        """Set the target; all ranks are multiplied by ``scale``, so that it is an integer."""
        if share in (0, 1):
            # ``rank`` rows from the end, or in the middle if there are fewer: a place that the rows determine.
            self.scale = 2
            reach = np.minimum(self._high - self._low, min(4 * self._points * rank, MAX_DISTANCE))
            self._target = 2 * self._low + reach if share == 0 else 2 * self._high - reach
        else:
            self.scale = share.denominator
            self._target = self.scale * self._low + share.numerator * (self._high - self._low)

    def aim_below(self, share: Fraction, shift: int) -> None:
        """Set the target ``shift`` rows below a share; if that is below the start, the first point is the nearest.

        All points but the first have ``shift`` rows more below them, which comes to the same and leaves no target
        without a point.
        """
        self.scale = share.denominator
        self._target = self.scale * self._low + share.numerator * (self._high - self._low)
        self._shift = 2 * self._points * self.scale * shift

    def aim_from_end(self, share: Fraction, rank: int) -> None:
        """Set the target ``rank`` rows from an end, also if there are fewer."""
        self.scale = 2
        rows = 4 * self._points * rank
        self._target = 2 * self._low + rows if share == 0 else 2 * self._high - rows

    def aim_at_middle(self, rank: int) -> None:
        """Set the target in the middle of the rows, worse by what half of them has more than ``rank``."""
        self.scale = 2
        rows = self._high - self._low
        self._target = 2 * self._low + rows
        self._extra = np.maximum(rows - min(4 * self._points * rank, MAX_DISTANCE), 0)

    def _distance(
        self, low: "NDArray[Any]", high: "NDArray[Any]", cells: "Integers", first: "NDArray[np.bool_]"
    ) -> "Integers":
        """Return how far the target is from the ranks between ``low`` and ``high``; clipping keeps neighbours near."""
        target = self._target[cells][:, None]
        above, below = self.scale * low - target, target - self.scale * high
        if self._shift:
            above, below = np.where(first, above, above + self._shift), below - self._shift
        gaps = np.maximum(np.maximum(above, below), 0)
        if self._extra is not None:
            gaps = gaps + self._extra[cells][:, None]
        return np.asarray(np.minimum(gaps, MAX_DISTANCE), dtype=np.int64)

    def gaps(self) -> "Integers":
        """Return the least distance of each bin."""
        low = np.maximum(self._edges[:, :-1], self._low[:, None])
        high = np.minimum(self._edges[:, 1:], self._high[:, None])
        bins = self.first + np.arange(self._counts.shape[1])
        return self._distance(low, high, self._cells, bins == self._start[:, None] // (2 * self._points))

    def present(self) -> "NDArray[np.bool_]":
        """Return which bins have points between the ends of the part."""
        bins = self.first + np.arange(self._counts.shape[1])
        first = self._start // (2 * self._points)
        last = np.maximum(self._end - 1, self._start) // (2 * self._points)
        return np.asarray((bins >= first[:, None]) & (bins <= last[:, None]))

    def crowds(self, step: float) -> "NDArray[np.float64]":
        """Return an upper bound of the weight of all points of a bin, in units of its best point's.

        Away from the target the gaps grow by the same amount from point to point: a geometric series to either side,
        and one point more for an end that is cut.
        """
        if self._counts.dtype == object:  # distances may have been clipped, and grow by less
            return np.where(self.present(), float(self._points), 0.0)
        growth = self._counts.astype(np.float64) * (2 * self.scale * step)
        with np.errstate(divide="ignore"):
            series = 2 - 2 / np.expm1(-growth)
        crowds = np.where(self.present(), np.minimum(series, self._points), 0.0)
        if self._shift:  # the first point stands apart from the others of its bin: they are added up
            bins = self._start // (2 * self._points) - self.first
            gaps = self.inside(self._cells, bins)
            nearest = np.where(gaps < 0, MAX_DISTANCE, gaps).min(axis=1)
            beyond = np.where(gaps < 0, 0, gaps - nearest[:, None]).astype(np.float64)
            with np.errstate(under="ignore", over="ignore"):  # a warning would speak of the data
                weights = np.where(gaps < 0, 0.0, np.exp(-step * beyond))
            crowds[self._cells, bins] = weights.sum(axis=1) * (1 + 2.0**-40)
        return crowds

    def inside(self, cells: "Integers", bins: "Integers") -> "Integers":
        """Return the distances of the points of one bin in each of some cells."""
        within = 2 * np.arange(self._points)
        begin = (bins + self.first)[:, None] * (2 * self._points)
        start, end = self._start[cells][:, None] - begin, self._end[cells][:, None] - begin
        edges, counts = self._edges[cells, bins][:, None], self._counts[cells, bins][:, None]
        low = edges + counts * np.maximum(within, start)
        high = edges + counts * np.minimum(within + 2, end)
        gaps = self._distance(low, high, cells, (within <= start) & (start < within + 2))
        return np.where((within + 2 > start) & (within < np.maximum(end, start + 1)), gaps, -1)
