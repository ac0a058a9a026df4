"""The transform is the product with SciPy's Hadamard matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

from celosia.core import InputError
from celosia.sketches.hashing.hadamard import sign, sign_scalar, transform


def test_against_the_matrix() -> None:
    size_cases: list[int] = [1, 2, 4, 8, 16, 32, 64, 512, 1024]
    kind_cases: list[Any] = [np.int64, np.float64]
    for size in size_cases:
        for kind in kind_cases:
            rows = np.random.default_rng(size).integers(-1000, 1000, (3, size)).astype(kind)
            expected = rows @ hadamard(size).astype(kind)
            changed = rows.copy()
            assert transform(changed) is changed
            assert np.array_equal(changed, expected)
            assert np.array_equal(transform(rows[0].copy()), expected[0])


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_twice_is_size_times(bits: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-(2**40), 2**40, 1 << bits)
    assert np.array_equal(transform(transform(values.copy())), values << bits)


def test_entries() -> None:
    assert np.array_equal(sign(np.arange(64)[:, None], np.arange(64)), hadamard(64))
    assert sign(5, 3).tolist() == -1
    assert sign(np.array([], dtype=int), 3).tolist() == []


def test_entries_of_different_shapes_and_without_a_warning() -> None:
    cases: list[tuple[Any, Any]] = [(3, np.arange(4)), ([[3]], [1]), (np.arange(4), [[2], [1]]), (2**63, 1)]
    for index, column in cases:
        left, right = np.broadcast_arrays(np.asarray(index, dtype=object), np.asarray(column, dtype=object))
        expected = [(-1) ** (int(i) & int(j)).bit_count() for i, j in zip(left.flat, right.flat, strict=True)]
        found = sign(index, column)
        assert (found.shape, found.reshape(-1).tolist()) == (left.shape, expected)


def test_shapes_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match="index and column"):
        sign([1, 2], [1, 2, 3])


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_an_entry_is_a_parity(index: int, column: int) -> None:
    expected = (-1) ** (index & column).bit_count()
    assert int(sign_scalar(index, column)) == expected
    assert int(sign(index, column)) == expected


def test_what_cannot_be_transformed_in_place_is_refused() -> None:
    cases: list[Any] = [
        np.zeros(3, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        np.zeros(4, dtype=np.int32),
        np.zeros(4, dtype=np.complex128),
        np.zeros((2, 2, 2)),
        np.zeros(8)[::2],
        np.zeros((4, 4)).T[:, :2],
        np.broadcast_to(np.zeros(4), (2, 4)),
        np.array(1.0),
        [1, 2],
    ]
    for array in cases:
        with pytest.raises(InputError, match="array must"):
            transform(array)


def test_indices_are_whole_and_not_negative() -> None:
    cases: list[Any] = [-1, 1.0, [0.5], "1"]
    for index in cases:
        with pytest.raises(InputError, match="index"):
            sign(index, 1)
        with pytest.raises(InputError, match="column"):
            sign(1, index)
