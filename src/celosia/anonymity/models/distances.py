"""Distances between the distribution of a sensitive column in a class and in the whole file.

All three are earth mover's distances (Li, Li and Venkatasubramanian 2007): how much of the distribution must move,
times how far. They differ in how far two values are from each other. All lie in [0, 1]; with one value it is 0.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.anonymity.models.histograms import Histogram


def measure_equal(histogram: "Histogram") -> "NDArray[np.float64]":
    """Return the distance where any two values are 1 apart: the variational distance."""
    excess = np.maximum(histogram.shares - histogram.column.shares[histogram.values], 0.0)
    return histogram.sum_by_class(excess)


def measure_ordered(histogram: "Histogram") -> "NDArray[np.float64]":
    """Return the distance where values are as far apart as their ranks, the first and the last one 1.

    It is the area between two cumulative distributions. That of a class is constant between two values that occur in
    it, so each such step is one closed sum: the file's distribution rises and crosses the step once at most.
    """
    size = histogram.column.size
    if size < 2:
        return np.zeros(histogram.count)
    file = np.cumsum(histogram.column.shares)
    area = np.concatenate([[0.0], np.cumsum(file)])
    starts, ends, first = histogram.values, _find_ends(histogram), _mark_first(histogram.classes)
    heights = _accumulate(histogram)
    turns = np.clip(np.searchsorted(file, heights), starts, ends)
    below = heights * (turns - starts) - (area[turns] - area[starts])
    above = area[ends] - area[turns] - heights * (ends - turns)
    leading = np.where(first, area[starts], 0.0)
    distances: NDArray[np.float64] = histogram.sum_by_class(np.maximum(below + above + leading, 0.0)) / (size - 1)
    return distances


def measure_hierarchical(histogram: "Histogram") -> "NDArray[np.float64]":
    """Return the distance where two values are as far apart as the level at which they meet, of all levels.

    What is moved at a node of the hierarchy is what its children have too much, less what the node itself has too
    much. Summed over the nodes of a level this is the difference of the variational distances at two levels. Weighted
    by level and summed, they telescope: the distance is the mean of the variational distances below ``*``.
    """
    levels = histogram.column.levels
    if levels is None or len(levels) < 2:
        return np.zeros(histogram.count)
    total = np.zeros(histogram.count)
    for codes in levels[:-1]:
        total += measure_equal(histogram.recode(codes, int(codes.max(initial=0)) + 1))
    return total / (len(levels) - 1)


def _mark_first(classes: "NDArray[np.int64]") -> "NDArray[np.bool_]":
    """Return which pairs are the first of their class."""
    return np.concatenate([[True], classes[1:] != classes[:-1]]) if len(classes) else np.zeros(0, dtype=np.bool_)


def _find_ends(histogram: "Histogram") -> "NDArray[np.int64]":
    """Return for each pair the next value of its class, or the number of values."""
    ends = np.full(len(histogram.values), histogram.column.size, dtype=np.int64)
    same = histogram.classes[1:] == histogram.classes[:-1]
    ends[:-1][same] = histogram.values[1:][same]
    return ends


def _accumulate(histogram: "Histogram") -> "NDArray[np.float64]":
    """Return the part of its class that has the value of each pair or one before it."""
    first = _mark_first(histogram.classes)
    sums = np.cumsum(histogram.counts)
    before = np.zeros(histogram.count)
    before[histogram.classes[first]] = (sums - histogram.counts)[first]
    heights: NDArray[np.float64] = (sums - before[histogram.classes]) / histogram.totals[histogram.classes]
    return heights
