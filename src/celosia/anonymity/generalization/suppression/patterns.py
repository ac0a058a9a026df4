"""The patterns of columns that a search tries, and the tiers of what it pays for each record that it helps."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.generalization.suppression.search import Search

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALL: Final = 1024  # as many patterns of one size as are tried without choosing among them
_BEAM: Final = 64
_MAX_TIERS: Final = 16


def list_patterns(search: Search, columns: Sequence[int]) -> "NDArray[np.bool_]":
    """Return patterns of some columns from cheap to dear, and of equal cost the one that helps most records first.

    Of many columns there are too many patterns: of each size only those that extend the best of the size before.
    """
    chosen: list[tuple[int, ...]] = []
    scores: dict[tuple[int, ...], int] = {}
    level: list[tuple[int, ...]] = [()]
    for size in range(1, len(columns) + 1):
        if math.comb(len(columns), size) <= _ALL // 4 or len(columns) <= 10:
            level = list(itertools.combinations(columns, size))
        else:
            level = list({tuple(sorted({*one, more})): None for one in level for more in columns if more not in one})
        scores.update({one: search.count_helped(np.array(one)) for one in level})
        level = sorted(level, key=lambda one: (-scores[one], one))
        level = level if len(columns) <= 10 else level[:_BEAM]
        chosen += level
    totals = {one: float(search.costs[list(one)].sum()) for one in chosen}
    chosen.sort(key=lambda one: (totals[one], -scores[one], one))
    patterns = np.zeros((len(chosen), len(search.costs)), dtype=np.bool_)
    for row, one in enumerate(chosen):
        patterns[row, list(one)] = True
    return patterns


def list_bounds(totals: "NDArray[np.float64]", records: int) -> "NDArray[np.float64]":
    """Return rising bounds of the cost for each helped record; nothing costs more than the last one."""
    bounds = np.unique(totals)
    if len(bounds) > _MAX_TIERS:
        bounds = np.geomspace(bounds[0], bounds[-1], _MAX_TIERS)
    return np.append(bounds, 2 * totals.max() * records)
