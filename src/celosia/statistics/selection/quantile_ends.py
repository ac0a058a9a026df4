"""Lower and upper ends of intervals for quantiles: further private choices, a known number of rows beyond the target.

A released quantile reveals nothing about the values beside it, so an interval needs choices of its own. A lower end is
searched far enough below the quantile that the error of the choice does not reach it, except with a small probability;
where there are too few rows, the end is the bound of the axis. An upper end is a lower end of the mirrored axis. The
ends of several quantiles are found by splitting, as the quantiles are. ``proofs/quantiles.md``.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.statistics.base.choice import gap_at_most
from celosia.statistics.selection.splitting import POINTS, Line, Problem, problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

    Rate = Callable[[Problem], Fraction]

LEVEL: Final = 0.99
"""The level for which the ends are chosen: they hold at every lower one, and above it only the bounds do."""

_BELOW, _ABOVE = 1, 2  # rows between an end and the rank q * n: all usual definitions of a sample quantile lie inside


def choose_ends(
    counts: "NDArray[np.int64]", quantiles: tuple[Fraction, ...], rate: "Rate", *, source: "Source"
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the bins of the lower and of the upper ends, cells by quantiles, which are increasing in (0, 1)."""
    mirrored = tuple(1 - share for share in reversed(quantiles))
    low = _choose_low(counts, quantiles, rate, slack=_BELOW, source=source)
    high = _choose_low(counts[:, ::-1], mirrored, rate, slack=_ABOVE, source=source)
    return low, counts.shape[1] - 1 - high[:, ::-1]


def rows_beyond(quantiles: tuple[Fraction, ...], rate: "Rate", *, bins: int) -> float:
    """Return a bound on the rows between an end and its quantile, with probability ``LEVEL``, if there are enough."""
    levels = problems(quantiles, down=True)
    off: dict[int | None, float] = {None: 0.0}
    for problem in (problem for level in levels for problem in level):
        own, share = _error(problem, rate, bins, len(levels)), float(problem.share)
        shift = math.ceil(own) + _ABOVE if math.isfinite(own) else own
        off[problem.number] = own + shift + (1 - share) * off[problem.left] + share * off[problem.right]
    return max(off.values())


def _choose_low(
    counts: "NDArray[np.int64]", quantiles: tuple[Fraction, ...], rate: "Rate", *, slack: int, source: "Source"
) -> "NDArray[np.int64]":
    places = np.zeros((len(counts), len(quantiles)), dtype=np.int64)
    if not len(counts):
        return places
    line, levels = Line(counts), problems(quantiles, down=True)
    ends = np.zeros(len(counts), dtype=np.int64), np.full(len(counts), line.length)
    for problem in (problem for level in levels for problem in level):
        places[:, problem.number] = line.choose_low(
            problem,
            ends[0] if problem.left is None else places[:, problem.left],
            ends[1] if problem.right is None else places[:, problem.right],
            rate(problem),
            shift=math.ceil(_error(problem, rate, counts.shape[1], len(levels))) + slack,
            whole_bins=problem.last,
            source=source,
        )
    return places // (2 * POINTS)


def _error(problem: Problem, rate: "Rate", bins: int, levels: int) -> float:
    """Return a bound on the rows by which a choice misses its target: ends fail with (1 - LEVEL) / 2 in all."""
    candidates = bins * (1 if problem.last else POINTS)
    return gap_at_most(candidates, (1 - LEVEL) / 2 / levels, rate(problem))
