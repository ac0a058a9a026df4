"""A k-d tree whose points are removed one by one: the nearest and the farthest points that remain.

Nodes form a heap: the children of ``i`` are ``2 i + 1`` and ``2 i + 2``, and all leaves are on the last level. A node
knows the box of its remaining points. Distances to points and to boxes are summed in one order of the columns, and
rounding is monotone: a box never excludes a point by rounding. Of equal distances the first found counts, which is the
same for the same points in the same order.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_STACK = 128  # twice the levels of the deepest tree


@njit("void(float64[:,::1], int64[::1], int64, int64, int64, int64)", cache=True)
def select_place(
    points: "NDArray[np.float64]", order: "NDArray[np.int64]", low: int, high: int, place: int, column: int
) -> None:
    """Reorder places ``low`` to ``high``: smaller values of a column come before ``place``, larger ones after."""
    while low < high:
        pivot = points[order[(low + high) // 2], column]
        i, j = low, high
        while i <= j:
            while points[order[i], column] < pivot:
                i += 1
            while points[order[j], column] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            return


@njit("Tuple((int64[::1], int64[::1]))(float64[:,::1], int64)", cache=True)
def split_blocks(points: "NDArray[np.float64]", levels: int) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Halve the points ``levels`` times, each time by the widest column; return their order and where parts start."""
    total, width = points.shape
    order = np.arange(total)
    starts = np.array([0, total])
    for _ in range(levels):
        finer = np.empty(2 * starts.size - 1, dtype=np.int64)
        finer[::2] = starts
        for part in range(starts.size - 1):
            low, high = starts[part], starts[part + 1]
            middle = (low + high) // 2
            finer[2 * part + 1] = middle
            widest, spread = 0, -1.0
            for column in range(width):
                least, most = np.inf, -np.inf
                for place in range(low, high):
                    value = points[order[place], column]
                    least, most = min(least, value), max(most, value)
                if most - least > spread:
                    widest, spread = column, most - least
            if high - low > 1 and spread > 0:
                select_place(points, order, low, high - 1, middle, widest)
        starts = finer
    return order, starts


@njit("void(float64[:,::1], int64[::1], int64[::1], float64[:,:,::1], int64, int64)", cache=True)
def fit_leaf(
    points: "NDArray[np.float64]",
    starts: "NDArray[np.int64]",
    counts: "NDArray[np.int64]",
    boxes: "NDArray[np.float64]",
    node: int,
    leaf: int,
) -> None:
    """Set the box of a leaf, and of every node above it, to the points that remain."""
    width = points.shape[1]
    for column in range(width):
        boxes[node, 0, column], boxes[node, 1, column] = np.inf, -np.inf
    for place in range(starts[leaf], starts[leaf] + counts[node]):
        for column in range(width):
            value = points[place, column]
            boxes[node, 0, column] = min(boxes[node, 0, column], value)
            boxes[node, 1, column] = max(boxes[node, 1, column], value)
    while node:
        node = (node - 1) // 2
        changed = False
        for column in range(width):
            low = min(boxes[2 * node + 1, 0, column], boxes[2 * node + 2, 0, column])
            high = max(boxes[2 * node + 1, 1, column], boxes[2 * node + 2, 1, column])
            if low != boxes[node, 0, column] or high != boxes[node, 1, column]:
                boxes[node, 0, column], boxes[node, 1, column] = low, high
                changed = True
        if not changed:
            return


@njit(
    "Tuple((float64[:,::1], int64[::1], int64[::1], int64[::1], float64[:,:,::1], int64[::1], int64[::1]))"
    "(float64[:,::1], int64)",
    cache=True,
)
def build_tree(
    points: "NDArray[np.float64]", leaf_size: int
) -> "tuple[NDArray[np.float64], Places, Places, Places, NDArray[np.float64], Places, Places]":
    """Return the points in the order of the leaves, and their numbers; starts of leaves, counts and boxes of nodes.

    The last two arrays are the leaf of each point and its place, by number.
    """
    total, width = points.shape
    levels = 0
    while (total >> levels) > leaf_size:
        levels += 1
    numbers, starts = split_blocks(points, levels)
    moved = points[numbers].copy()
    first = starts.size - 2
    counts = np.zeros(2 * starts.size - 3, dtype=np.int64)
    counts[first:] = starts[1:] - starts[:-1]
    for node in range(first - 1, -1, -1):
        counts[node] = counts[2 * node + 1] + counts[2 * node + 2]
    boxes = np.empty((counts.size, 2, width))
    boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
    leaves, places = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    for leaf in range(first + 1):
        fit_leaf(moved, starts, counts, boxes, first + leaf, leaf)
        for place in range(starts[leaf], starts[leaf + 1]):
            leaves[numbers[place]], places[numbers[place]] = leaf, place
    return moved, numbers, starts, counts, boxes, leaves, places


@njit(
    "void(float64[:,::1], int64[::1], int64[::1], int64[::1], float64[:,:,::1], int64[::1], int64[::1], int64)",
    cache=True,
)
def remove_point(
    points: "NDArray[np.float64]",
    numbers: "NDArray[np.int64]",
    starts: "NDArray[np.int64]",
    counts: "NDArray[np.int64]",
    boxes: "NDArray[np.float64]",
    leaves: "NDArray[np.int64]",
    places: "NDArray[np.int64]",
    number: int,
) -> None:
    """Remove a point: it changes places with the last one of its leaf, which ends before it then."""
    leaf, place = leaves[number], places[number]
    node = starts.size - 2 + leaf
    last = starts[leaf] + counts[node] - 1
    for column in range(points.shape[1]):
        points[place, column], points[last, column] = points[last, column], points[place, column]
    other = numbers[last]
    numbers[place], numbers[last] = other, number
    places[other], places[number] = place, last
    counts[node] -= 1
    fit_leaf(points, starts, counts, boxes, node, leaf)
    while node:
        node = (node - 1) // 2
        counts[node] -= 1


@njit("int64(float64[:,::1], int64[::1], int64[::1], float64[:,:,::1], float64[::1])", cache=True)
def find_farthest(  # noqa: C901 - one search
    points: "NDArray[np.float64]",
    starts: "NDArray[np.int64]",
    counts: "NDArray[np.int64]",
    boxes: "NDArray[np.float64]",
    center: "NDArray[np.float64]",
) -> int:
    """Return the place of the remaining point that is farthest from a center."""
    width, first = points.shape[1], starts.size - 2
    stack, bounds = np.empty(_STACK, dtype=np.int64), np.empty(_STACK)
    stack[0], bounds[0], top = 0, np.inf, 1
    best, found = -1.0, -1
    while top:
        top -= 1
        node = stack[top]
        if bounds[top] <= best:
            continue
        if node >= first:
            leaf = node - first
            for place in range(starts[leaf], starts[leaf] + counts[node]):
                distance = 0.0
                for column in range(width):
                    gap = points[place, column] - center[column]
                    distance += gap * gap
                if distance > best:
                    best, found = distance, place
            continue
        reach = np.zeros(2)
        for side in range(2):
            child = 2 * node + 1 + side
            for column in range(width):
                gap = max(center[column] - boxes[child, 0, column], boxes[child, 1, column] - center[column])
                reach[side] += gap * gap
        near = 0 if reach[0] < reach[1] else 1
        for side in (near, 1 - near):  # the farther child is on top of the stack
            if counts[2 * node + 1 + side] and reach[side] > best:
                stack[top], bounds[top] = 2 * node + 1 + side, reach[side]
                top += 1
    return found


@njit(
    "int64(float64[:,::1], int64[::1], int64[::1], float64[:,:,::1], float64[::1], int64[::1], float64[::1])",
    cache=True,
)
def find_nearest(  # noqa: C901 - one search
    points: "NDArray[np.float64]",
    starts: "NDArray[np.int64]",
    counts: "NDArray[np.int64]",
    boxes: "NDArray[np.float64]",
    center: "NDArray[np.float64]",
    found: "NDArray[np.int64]",
    distances: "NDArray[np.float64]",
) -> int:
    """Write the places of the ``found.size`` remaining points nearest to a center, and return how many there are."""
    width, first, wanted = points.shape[1], starts.size - 2, found.size
    stack, bounds = np.empty(_STACK, dtype=np.int64), np.empty(_STACK)
    stack[0], bounds[0], top = 0, 0.0, 1
    held = 0
    while top:
        top -= 1
        node = stack[top]
        if held == wanted and bounds[top] >= distances[held - 1]:
            continue
        if node >= first:
            leaf = node - first
            for place in range(starts[leaf], starts[leaf] + counts[node]):
                distance = 0.0
                for column in range(width):
                    gap = points[place, column] - center[column]
                    distance += gap * gap
                if held == wanted and distance >= distances[held - 1]:
                    continue
                slot = held if held < wanted else held - 1
                while slot and distances[slot - 1] > distance:
                    distances[slot], found[slot] = distances[slot - 1], found[slot - 1]
                    slot -= 1
                distances[slot], found[slot] = distance, place
                held = min(held + 1, wanted)
            continue
        reach = np.zeros(2)
        for side in range(2):
            child = 2 * node + 1 + side
            for column in range(width):
                gap = max(boxes[child, 0, column] - center[column], center[column] - boxes[child, 1, column], 0.0)
                reach[side] += gap * gap
        far = 0 if reach[0] > reach[1] else 1
        for side in (far, 1 - far):  # the nearer child is on top of the stack
            if counts[2 * node + 1 + side] and (held < wanted or reach[side] < distances[held - 1]):
                stack[top], bounds[top] = 2 * node + 1 + side, reach[side]
                top += 1
    return held
