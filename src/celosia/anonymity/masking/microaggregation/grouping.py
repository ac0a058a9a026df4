"""Groups of similar records, by each of the methods."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.masking.microaggregation.features import (
    Feature,
    Names,
    Numbers,
    Ordered,
    scale_to_range,
    standardize,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Groups = NDArray[np.int64]
    GroupRows = Callable[[NDArray[np.int64], int], Groups]


def make_mdav(features: Sequence[Feature]) -> "GroupRows":
    """Return the function that groups some rows by MDAV: Euclidean distances of numbers, else Gower's."""
    if all(isinstance(each, Numbers) for each in features):
        return _by_euclid(make_points(features))
    return _by_gower(features)


def make_points(features: Sequence[Feature]) -> "NDArray[np.float64]":
    """Return a point for each record, of standardized columns; ranks and names count as numbers."""
    return np.column_stack([standardize(each.values) for each in features])


def _by_euclid(points: "NDArray[np.float64]") -> "GroupRows":
    from celosia.anonymity.masking.microaggregation.mdav_kernels import group_by_mdav

    return lambda rows, k: group_by_mdav(np.ascontiguousarray(points[rows]), k)


def _by_gower(features: Sequence[Feature]) -> "GroupRows":
    from celosia.anonymity.masking.microaggregation.mixed_kernels import group_mixed

    names = [each.codes for each in features if isinstance(each, Names)]
    linear = [each for each in features if not isinstance(each, Names)]
    ordered = np.array([place for place, each in enumerate(linear) if isinstance(each, Ordered)], dtype=np.int64)
    ranks = [each.ranks - each.ranks.min() for each in linear if isinstance(each, Ordered)]
    steps = np.array([1 / max(1, int(each.max())) for each in ranks])
    rows = len(features[0].values)
    numbers = _stack([scale_to_range(each.values) for each in linear], rows, np.float64)
    codes, labels = _stack(ranks, rows, np.int64), _stack(names, rows, np.int64)
    most = 1 + max((int(each.max()) for each in (*ranks, *names)), default=0)

    def group(chosen: "NDArray[np.int64]", k: int) -> "Groups":
        return group_mixed(numbers[chosen], ordered, codes[chosen], steps, labels[chosen], most, k)

    return group


def _stack(columns: "Sequence[NDArray[Any]]", rows: int, kind: type) -> "NDArray[Any]":
    return np.column_stack(columns).astype(kind) if columns else np.empty((rows, 0), dtype=kind)


def group_in_blocks(
    rows: "NDArray[np.int64]", *, points: "NDArray[np.float64]", block: int, k: int, group: "GroupRows"
) -> "Groups":
    """Return groups of some rows within blocks of at most ``block`` near points, cut by a k-d tree."""
    from celosia.anonymity.masking.microaggregation.tree_kernels import split_blocks

    total, levels = rows.size, 0
    while (total >> levels) > block and (total >> levels + 1) >= 2 * k:
        levels += 1
    order, starts = split_blocks(np.ascontiguousarray(points[rows]), levels)
    groups, first = np.empty(total, dtype=np.int64), 0
    for low, high in itertools.pairwise(starts.tolist()):
        places = np.sort(order[low:high])
        groups[places] = first + group(rows[places], k)
        first = int(groups[places].max()) + 1
    return groups


def group_by_principal(points: "NDArray[np.float64]", k: int) -> "Groups":
    """Return groups of ``k`` neighbours along the first principal component; the last has the remainder too."""
    covariance = points.T @ points
    direction = np.linalg.eigh(covariance)[1][:, -1]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    groups = np.empty(len(points), dtype=np.int64)
    count = max(1, len(points) // k)
    groups[np.argsort(points @ direction, kind="stable")] = np.minimum(np.arange(len(points)) // k, count - 1)
    return groups


def group_univariate(values: "NDArray[np.float64]", k: int) -> "Groups":
    """Return the optimal groups of one column."""
    from celosia.anonymity.masking.microaggregation.path_kernels import group_sorted

    order = np.argsort(values, kind="stable")
    groups = np.empty(values.size, dtype=np.int64)
    groups[order] = group_sorted(values[order], k)
    return groups
