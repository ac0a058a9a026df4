"""Maximum distance to average record, for records of numbers, ordered values and names (Gower distance).

The average record has the mean of numbers, the median of ordered values and the most frequent name. Domingo-Ferrer and
Torra 2005; Gower 1971.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("void(int64[::1], int64, float64[:,::1], int64[:,::1], float64[::1], int64[::1], float64[::1])", cache=True)
def measure_gaps(
    rows: "NDArray[np.int64]",
    count: int,
    numbers: "NDArray[np.float64]",
    names: "NDArray[np.int64]",
    number: "NDArray[np.float64]",
    name: "NDArray[np.int64]",
    gaps: "NDArray[np.float64]",
) -> None:
    """Write how far the first ``count`` rows are from a record: differences of numbers, and 1 for another name."""
    for place in range(count):
        row, total = rows[place], 0.0
        for column in range(number.size):
            total += abs(numbers[row, column] - number[column])
        for column in range(name.size):
            total += names[row, column] != name[column]
        gaps[place] = total


@njit("void(int64[:,::1], float64[::1], int64[::1], int64, float64[::1])", cache=True)
def find_medians(
    counts: "NDArray[np.int64]",
    steps: "NDArray[np.float64]",
    columns: "NDArray[np.int64]",
    left: int,
    center: "NDArray[np.float64]",
) -> None:
    """Write the lower median of each ordered column, from the counts of its codes."""
    for each in range(columns.size):
        before, code = counts[each, 0], 0
        while 2 * before < left:
            code += 1
            before += counts[each, code]
        center[columns[each]] = code * steps[each]


@njit("int64[::1](float64[:,::1], int64[::1], int64[:,::1], float64[::1], int64[:,::1], int64, int64)", cache=True)
def group_mixed(  # noqa: C901 - one loop, with sums that are kept up to date
    numbers: "NDArray[np.float64]",
    ordered: "NDArray[np.int64]",
    codes: "NDArray[np.int64]",
    steps: "NDArray[np.float64]",
    names: "NDArray[np.int64]",
    labels: int,
    k: int,
) -> "NDArray[np.int64]":
    """Return the group of each record; groups have ``k`` to ``2 k - 1`` records (fewer if there are fewer).

    ``numbers`` are scaled to a range of 1. Those in the columns ``ordered`` are the ``codes`` times ``steps``. All
    codes and ``names`` are below ``labels``.
    """
    total = numbers.shape[0]
    sums = np.zeros(numbers.shape[1])
    medians = np.zeros((ordered.size, labels), dtype=np.int64)
    modes = np.zeros((names.shape[1], labels), dtype=np.int64)
    for row in range(total):
        sums += numbers[row]
        for column in range(ordered.size):
            medians[column, codes[row, column]] += 1
        for column in range(names.shape[1]):
            modes[column, names[row, column]] += 1
    groups = np.zeros(total, dtype=np.int64)
    rows, gaps = np.arange(total), np.empty(total)
    number, name = np.empty(numbers.shape[1]), np.empty(names.shape[1], dtype=np.int64)
    nearest, distances = np.empty(k, dtype=np.int64), np.empty(k)
    left, group = total, 0
    while left >= 2 * k:
        number[:] = sums / left
        find_medians(medians, steps, ordered, left, number)
        for column in range(name.size):
            name[column] = np.argmax(modes[column])
        for _ in range(2 if left >= 3 * k else 1):
            measure_gaps(rows, left, numbers, names, number, name, gaps)
            seed = rows[np.argmax(gaps[:left])]
            number[:], name[:] = numbers[seed], names[seed]
            measure_gaps(rows, left, numbers, names, number, name, gaps)
            held = 0
            for place in range(left):
                gap = -1.0 if rows[place] == seed else gaps[place]
                if held == k and gap >= distances[k - 1]:
                    continue
                slot = held if held < k else k - 1
                while slot and distances[slot - 1] > gap:
                    distances[slot], nearest[slot] = distances[slot - 1], nearest[slot - 1]
                    slot -= 1
                distances[slot], nearest[slot] = gap, place
                held = min(held + 1, k)
            taken = np.sort(nearest)[::-1]
            for place in taken:  # from the last, so that what moves into a place is not taken itself
                row = rows[place]
                groups[row] = group
                sums -= numbers[row]
                for column in range(ordered.size):
                    medians[column, codes[row, column]] -= 1
                for column in range(names.shape[1]):
                    modes[column, names[row, column]] -= 1
                left -= 1
                rows[place] = rows[left]
            group += 1
    groups[rows[:left]] = group
    return groups
