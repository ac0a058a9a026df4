"""Maximum distance to average vector: groups of k records around the records that lie farthest out.

The published loop, without approximation. A k-d tree finds the records nearest to one, and those farthest from it. The
average moves little from one group to the next, so the records farthest from it are looked for among those that were
far from where it was.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from celosia.anonymity.masking.microaggregation.tree_kernels import (
    build_tree,
    find_farthest,
    find_nearest,
    remove_point,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAF = 32  # points of a leaf, about
_QUEUE = 64  # the least number of far points to keep
_SHARE = 16  # of the points left, one in so many is kept
_WALK = 4096  # far points to look at before the tree is quicker
_SLACK = 1e-9  # relative: more than rounding does to a sum of two distances


@njit(
    "Tuple((int64[::1], float64[::1], float64[:,::1]))(float64[:,::1], int64[::1], int64[::1], float64[::1], int64)",
    cache=True,
)
def list_far(
    points: "NDArray[np.float64]",
    places: "NDArray[np.int64]",
    groups: "NDArray[np.int64]",
    center: "NDArray[np.float64]",
    left: int,
) -> "tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]":
    """Return the points without a group that are farthest from a center, the farthest first.

    Return their numbers, their distances and, side by side in memory, the points themselves.
    """
    width = points.shape[1]
    numbers, distances = np.empty(left, dtype=np.int64), np.empty(left)
    size = 0
    for number in range(groups.size):
        if groups[number] < 0:
            total = 0.0
            for column in range(width):
                gap = points[places[number], column] - center[column]
                total += gap * gap
            numbers[size], distances[size] = number, np.sqrt(total)
            size += 1
    kept = min(left, max(_QUEUE, left // _SHARE))
    least = np.partition(distances, left - kept)[left - kept]
    far = np.flatnonzero(distances >= least)
    far = far[np.argsort(-distances[far], kind="mergesort")]
    found = numbers[far]
    return found, distances[far], points[places[found]]


@njit("int64(float64[:,::1], int64[::1], float64[::1], int64[::1], float64[::1], float64, int64[::1])", cache=True)
def search_queue(
    points: "NDArray[np.float64]",
    groups: "NDArray[np.int64]",
    center: "NDArray[np.float64]",
    queue: "NDArray[np.int64]",
    reaches: "NDArray[np.float64]",
    drift: float,
    state: "NDArray[np.int64]",
) -> int:
    """Return the point without a group that is farthest from a center, or -1 if the queue does not tell.

    ``points`` are those of the queue. The center has moved by ``drift`` since the queue was made, so that no distance
    has grown by more. ``state`` has the first place of the queue that counts, how many were looked at, and whether all
    were.
    """
    head = state[0]
    while head < queue.size and groups[queue[head]] >= 0:
        head += 1
    best, reach, found, at = -1.0, -1.0, -1, head
    end = min(queue.size, head + _WALK)
    while at < end and (reaches[at] + drift) * (1 + _SLACK) > reach:
        distance = 0.0
        for column in range(points.shape[1]):
            gap = points[at, column] - center[column]
            distance += gap * gap
        if distance > best and groups[queue[at]] < 0:
            best, reach, found = distance, np.sqrt(distance), queue[at]
        at += 1
    state[0], state[1], state[2] = head, state[1] + at - head, at == queue.size
    return found if at < end or (at == queue.size and drift == 0) else -1


@njit("int64[::1](float64[:,::1], int64)", cache=True)
def group_by_mdav(points: "NDArray[np.float64]", k: int) -> "NDArray[np.int64]":
    """Return the group of each point, from 0; groups have ``k`` to ``2 k - 1`` points (fewer if there are fewer)."""
    total, width = points.shape
    sums = np.zeros(width)
    for number in range(total):
        sums += points[number]
    points, numbers, starts, counts, boxes, leaves, places = build_tree(points, _LEAF)
    groups = np.full(total, -1, dtype=np.int64)
    near, distances = np.empty(k - 1, dtype=np.int64), np.empty(k - 1)
    members = np.empty(k, dtype=np.int64)
    queue, reaches, far = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, width))
    known, state = np.zeros(width), np.zeros(3, dtype=np.int64)
    left, group = total, 0
    while left >= 2 * k:
        center, seed = sums / left, -1
        if queue.size and state[1] <= 2 * left:
            drift = np.sqrt(((center - known) ** 2).sum())
            seed = search_queue(far, groups, center, queue, reaches, drift, state)
        if seed < 0 and (queue.size == 0 or state[1] > 2 * left or state[2]):
            queue, reaches, far = list_far(points, places, groups, center, left)
            known = center
            state[:] = 0
            seed = search_queue(far, groups, center, queue, reaches, 0.0, state)
        if seed < 0:  # many are about as far
            seed = numbers[find_farthest(points, starts, counts, boxes, center)]
        for side in range(2 if left >= 3 * k else 1):
            if side:
                seed = numbers[find_farthest(points, starts, counts, boxes, center)]
            center = points[places[seed]].copy()
            members[0] = seed
            groups[seed] = group
            sums -= center
            remove_point(points, numbers, starts, counts, boxes, leaves, places, seed)
            found = find_nearest(points, starts, counts, boxes, center, near, distances)
            members[1 : found + 1] = numbers[near[:found]]
            for number in members[1 : found + 1]:
                groups[number] = group
                sums -= points[places[number]]
                remove_point(points, numbers, starts, counts, boxes, leaves, places, number)
            group += 1
            left -= k
    groups[groups < 0] = group
    return groups
