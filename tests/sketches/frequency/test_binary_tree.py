"""Any range is the union of at most two nodes of each level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.sketches.frequency.binary_tree import range_borders, tree_levels, tree_limits


@given(st.integers(0, 10), st.data())
def test_borders_make_up_the_range(levels: int, data: st.DataObject) -> None:
    size = 1 << levels
    start = data.draw(st.integers(0, size))
    end = data.draw(st.integers(start, size))
    covered: list[int] = []
    starts, ends = np.array([start]), np.array([end])
    for level in range(levels):
        nodes = [int(node) for _, found in range_borders(starts, ends) for node in found]
        assert len(nodes) <= 2
        for node in nodes:
            covered.extend(range(node << level, (node + 1) << level))
        starts, ends = (starts + 1) >> 1, ends >> 1
        ends = np.maximum(ends, starts)
    covered.extend(range(int(starts[0]) << levels, int(ends[0]) << levels))
    assert sorted(covered) == list(range(start, end))


@given(st.integers(0, 2**61), st.integers(1, 2**40))
def test_levels(span: int, cells: int) -> None:
    levels, leaves = tree_levels(span, cells)
    assert leaves << levels > span
    assert leaves <= cells
    assert levels == 0 or 2 * leaves > cells


def test_limits_that_are_none() -> None:
    cases: list[Any] = [(1, 0), (0, 2**61 + 1), (-(2**61) - 1, 0), (0.0, 1), (0, True), ("0", 1)]
    for low, high in cases:
        with pytest.raises(ParameterError, match=r"low|high"):
            tree_limits(low, high)
