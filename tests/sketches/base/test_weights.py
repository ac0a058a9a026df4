"""Weights are integers, summed without wrapping around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError
from celosia.sketches.base.weights import exact_sum, read_weights, signed_sums

integers = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(integers, min_size=2))
def test_sums_are_exact(numbers: list[int]) -> None:
    array = np.array(numbers, dtype=np.int64)
    assert exact_sum(array) == sum(numbers)
    assert signed_sums(array, len(numbers)) == (sum(numbers), sum(map(abs, numbers)))


@given(integers, st.integers(0, 2**40))
def test_one_weight_for_all(number: int, count: int) -> None:
    assert signed_sums(read_weights(number, count), count) == (count * number, count * abs(number))


def test_what_is_read() -> None:
    assert read_weights(None, 5).tolist() == [1]
    assert read_weights(np.array([1, 2], dtype=np.uint8), 2).tolist() == [1, 2]
    assert read_weights([], 0).tolist() == []
    assert read_weights(np.arange(6)[::2], 3).tolist() == [0, 2, 4]
    assert signed_sums(read_weights([], 0), 0) == (0, 0)


def test_other_weights_are_refused() -> None:
    cases: list[Any] = [
        *([1], [1, 2, 3], [[1, 2]], [[1], [1, 2]], [1.0, 2.0], 0.5, True, [True, False], "12", [1, None], [2**63, 1]),
        *(float("nan"), np.ma.array([1, 2], mask=[False, True])),
    ]
    for weights in cases:
        with pytest.raises(InputError, match="weights must be"):
            read_weights(weights, 2)
