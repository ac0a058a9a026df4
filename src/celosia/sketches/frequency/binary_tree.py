"""Ranges of integers as nodes of a binary tree.

On level 0 the nodes are the numbers themselves; node i of a level above holds the nodes 2i and 2i + 1 of the level
below. Any range is the union of at most two nodes of each level.
"""

from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MAX_END = 2**61  # then the numbers of nodes, and their sums, stay integers of 64 bits


def tree_limits(low: int, high: int) -> tuple[int, int]:
    """Return the least and the largest number of a tree, or raise ``ParameterError``."""
    first, last = exact_integer(low, name="low", least=-_MAX_END), exact_integer(high, name="high", least=-_MAX_END)
    if not first <= last <= _MAX_END:
        raise ParameterError("sketches.high_out_of_range", high=safe_repr(high))
    return first, last


def tree_levels(span: int, cells: int) -> tuple[int, int]:
    """Return the number of levels of a tree with more than ``cells`` nodes, and the size of the next level."""
    bits = span.bit_length()
    exact = min(bits, max(cells, 1).bit_length() - 1)
    return bits - exact, 1 << exact


def range_borders(
    starts: "NDArray[np.int64]", ends: "NDArray[np.int64]"
) -> "Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]":
    """Yield the ranges that need a node of their own level at their start, then at their end, and that node.

    ``ends`` are not included. The rest of each range is whole pairs of nodes: nodes of the level above.
    """
    odd = np.flatnonzero((starts & 1 == 1) & (starts < ends))
    yield odd, starts[odd]
    odd = np.flatnonzero((ends & 1 == 1) & (starts < ends))
    yield odd, ends[odd] - 1
