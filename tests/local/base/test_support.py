from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.local.base.support import support
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily


@given(st.integers(1, 40), st.integers(1, 2000), st.integers(0, 2**64 - 1), st.integers(0, 5000))
def test_the_sum_is_that_of_the_cells_that_the_family_names(rows: int, width: int, seed: int, count: int) -> None:
    family = HashFamily(rows, width, seed=seed)
    table = np.random.default_rng(seed).integers(-(2**50), 2**50, (rows, width))
    digests = digest(np.arange(count), seed=seed)
    expected = table[np.arange(rows)[:, None], family.table(digests)].sum(axis=0)
    assert np.array_equal(support(table, family, digests), expected)


def test_extreme_digests_are_hashed_alike() -> None:
    family = HashFamily(64, 1000, seed=3)
    digests = np.array([0, 1, 2**61 - 2, 2**61 - 1, 2**61, 2**64 - 1], dtype=np.uint64)
    table = np.arange(64_000).reshape(64, 1000)
    expected = table[np.arange(64)[:, None], family.table(digests)].sum(axis=0)
    assert support(table, family, digests).tolist() == expected.tolist()


def test_a_table_of_another_shape_or_family_is_refused() -> None:
    cases: list[HashFamily] = [HashFamily(3, 5, independence=2), HashFamily(4, 5), HashFamily(3, 6)]
    for family in cases:
        with pytest.raises(ParameterError, match="table"):
            support(np.zeros((3, 5), dtype=np.int64), family, np.zeros(1, dtype=np.uint64))
