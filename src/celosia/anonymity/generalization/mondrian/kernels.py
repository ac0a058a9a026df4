"""The recursion of Mondrian, compiled: which records stand together at the end."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True)
def measure_width(
    codes: "NDArray[np.int32]",
    column: int,
    low: int,
    high: int,
    positions: "NDArray[np.float64]",
    seen: "NDArray[np.int64]",
    stamp: int,
) -> float:
    """Return the part of a column's domain that some rows span.

    ``positions[code]`` is the place of a number between 0 and 1; without positions, different values are counted.
    Code 0 is null: with other values it makes the class say nothing, so the width is above 1.
    """
    least, most, different, nulls = np.int32(2**31 - 1), np.int32(0), 0, False
    for row in range(low, high):
        code = codes[row, column]
        if code == 0:
            nulls = True
            continue
        least, most = min(least, code), max(most, code)
        if positions.size == 0 and seen[code] != stamp:
            seen[code] = stamp
            different += 1
    if most == 0 or (least == most and not nulls):
        return 0.0
    if nulls:
        return 2.0
    return different / (seen.size - 1) if positions.size == 0 else positions[most] - positions[least]


@njit(cache=True)
def choose_cut(values: "NDArray[np.int32]", masses: "NDArray[np.int64]", total: int, k: int) -> int:
    """Return the code after which sorted values are cut, nearest to the median with ``k`` on both sides, or -1.

    Nulls, code 0, are cut off first where that is allowed.
    """
    reached, best, distance = 0, -1, total
    for place in range(values.size - 1):
        reached += masses[place]
        if values[place] == values[place + 1] or reached < k or total - reached < k:
            continue
        if values[place] == 0:
            return 0
        if abs(2 * reached - total) < distance:
            best, distance = values[place], abs(2 * reached - total)
    return best


@njit(cache=True)
def find_cut(
    codes: "NDArray[np.int32]",
    column: int,
    masses: "NDArray[np.int64]",
    low: int,
    high: int,
    k: int,
) -> int:
    """Return the code after which some rows are cut on a column, or -1 if no cut leaves ``k`` on both sides."""
    count = high - low
    least, most, total = codes[low, column], codes[low, column], 0
    for row in range(low, high):
        code = codes[row, column]
        least, most = min(least, code), max(most, code)
        total += masses[row]
    span = most - least + 1
    if span <= 4 * count + 16:
        sums = np.zeros(span, dtype=np.int64)
        for row in range(low, high):
            sums[codes[row, column] - least] += masses[row]
        present = np.flatnonzero(sums)
        return choose_cut((present + least).astype(np.int32), sums[present], total, k)
    order = np.argsort(codes[low:high, column])
    return choose_cut(codes[low:high, column][order], masses[low:high][order], total, k)


@njit(cache=True)
def move_rows(
    codes: "NDArray[np.int32]",
    masses: "NDArray[np.int64]",
    order: "NDArray[np.int64]",
    low: int,
    goes_right: "NDArray[np.bool_]",
) -> int:
    """Move the rows that go right behind the others, in place and in order, and return where they begin."""
    count = goes_right.size
    places = np.empty(count, dtype=np.int64)
    middle = 0
    for row in range(count):
        if not goes_right[row]:
            places[middle] = low + row
            middle += 1
    end = middle
    for row in range(count):
        if goes_right[row]:
            places[end] = low + row
            end += 1
    codes[low : low + count] = codes[places]
    masses[low : low + count] = masses[places]
    order[low : low + count] = order[places]
    return low + middle


@njit(cache=True)
def split_rows(
    codes: "NDArray[np.int32]",
    masses: "NDArray[np.int64]",
    order: "NDArray[np.int64]",
    column: int,
    low: int,
    high: int,
    k: int,
    relaxed: bool,  # noqa: FBT001 - Numba's calls are positional
) -> int:
    """Split some rows on a column, and return where the right half begins; -1 if both halves cannot have ``k``.

    A relaxed split halves the rows, each of mass 1, wherever the median is: equal values may be on both sides.
    """
    cut = find_cut(codes, column, masses, low, high, k)
    if relaxed and cut != 0 and high - low >= 2 * k:
        ranks = np.argsort(codes[low:high, column], kind="mergesort")
        right = np.zeros(high - low, dtype=np.bool_)
        right[ranks[(high - low) // 2 :]] = True
        return move_rows(codes, masses, order, low, right)
    if cut < 0:
        return -1
    return move_rows(codes, masses, order, low, codes[low:high, column] > cut)


@njit(cache=True)
def split_all(
    codes: "NDArray[np.int32]",
    masses: "NDArray[np.int64]",
    starts: "NDArray[np.int64]",
    positions: "NDArray[np.float64]",
    places: "NDArray[np.int64]",
    sizes: "NDArray[np.int64]",
    k: int,
    relaxed: bool,  # noqa: FBT001 - Numba's calls are positional
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return the order of the rows, class after class, and where each class starts; the last start is the end.

    ``codes`` and ``masses`` are moved in place. ``starts`` are the parts that are split separately. The positions of
    column ``c`` are ``positions[places[c] : places[c + 1]]``, none if it is categorical, and it has ``sizes[c]`` codes.
    """
    count, width = codes.shape
    order = np.arange(count)
    ends = np.zeros(count, dtype=np.bool_)
    lows, highs = np.empty(count + 1, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    seen = [np.full(sizes[column], -1) for column in range(width)]
    top, stamp = 0, 0
    for part in range(starts.size - 1, 0, -1):
        lows[top], highs[top] = starts[part - 1], starts[part]
        top += 1
    widths = np.empty(width)
    while top > 0:
        top -= 1
        low, high = lows[top], highs[top]
        stamp += 1
        for column in range(width):
            span = positions[places[column] : places[column + 1]]
            widths[column] = measure_width(codes, column, low, high, span, seen[column], stamp)
        middle = -1
        for column in np.argsort(-widths, kind="mergesort"):
            if widths[column] > 0:
                middle = split_rows(codes, masses, order, column, low, high, k, relaxed)
            if middle >= 0 or widths[column] <= 0:
                break
        if middle < 0:
            ends[low] = True
            continue
        lows[top], highs[top] = middle, high
        lows[top + 1], highs[top + 1] = low, middle
        top += 2
    return order, np.append(np.flatnonzero(ends), count)


@njit(cache=True)
def split_once(
    codes: "NDArray[np.int32]",
    masses: "NDArray[np.int64]",
    order: "NDArray[np.int64]",
    lows: "NDArray[np.int64]",
    highs: "NDArray[np.int64]",
    attempts: "NDArray[np.int64]",
    positions: "NDArray[np.float64]",
    places: "NDArray[np.int64]",
    sizes: "NDArray[np.int64]",
    k: int,
    relaxed: bool,  # noqa: FBT001 - Numba's calls are positional
) -> "NDArray[np.int64]":
    """Split each part once, and return where its right half begins; -1 if it cannot be split.

    The columns are tried from wide to narrow, from the one with the number ``attempts``, which becomes the one used.
    """
    width = codes.shape[1]
    seen = [np.full(sizes[column], -1) for column in range(width)]
    widths, middles = np.empty(width), np.full(lows.size, -1)
    for part in range(lows.size):
        for column in range(width):
            span = positions[places[column] : places[column + 1]]
            widths[column] = measure_width(codes, column, lows[part], highs[part], span, seen[column], part)
        ranks = np.argsort(-widths, kind="mergesort")
        for attempt in range(attempts[part], width):
            if widths[ranks[attempt]] <= 0:
                break
            middles[part] = split_rows(codes, masses, order, ranks[attempt], lows[part], highs[part], k, relaxed)
            attempts[part] = attempt
            if middles[part] >= 0:
                break
    return middles
