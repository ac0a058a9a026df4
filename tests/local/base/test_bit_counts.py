"""Column sums of packed bits, against NumPy's unpacking."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.base.bit_counts import add_bits, count_ones


@given(rows=st.integers(0, 40), size=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_sums_are_those_of_the_unpacked_bits(rows: int, size: int, seed: int) -> None:
    payload = np.random.default_rng(seed).integers(0, 256, (rows, size), dtype=np.uint8)
    counts = np.ones(8 * size, dtype=np.int64)
    add_bits(payload, counts)
    bits = np.unpackbits(payload, axis=1, bitorder="little")
    assert (counts == 1 + bits.sum(axis=0)).all()
    assert (count_ones(payload) == bits.sum(axis=1)).all()


def test_blocks_of_rows_and_columns_meet() -> None:
    rows_cases: list[int] = [7, 8, 9, 1015, 1016, 1017, 2032, 2033, 5000]
    size_cases: list[int] = [8, 13, 72, 128]
    for rows in rows_cases:
        for size in size_cases:
            payload = np.random.default_rng(rows * size).integers(0, 256, (rows, size), dtype=np.uint8)
            counts = np.zeros(8 * size, dtype=np.int64)
            add_bits(payload, counts)
            assert (counts == np.unpackbits(payload, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)).all()


def test_all_ones_fill_every_digit() -> None:
    payload = np.full((3000, 9), 255, dtype=np.uint8)
    counts = np.zeros(66, dtype=np.int64)
    add_bits(payload, counts)
    assert (counts == 3000).all()
    assert (count_ones(payload) == 72).all()


def test_rows_need_not_lie_together_nor_on_words() -> None:
    wide = np.random.default_rng(1).integers(0, 256, (50, 41), dtype=np.uint8)
    wide.flags.writeable = False
    for payload in (wide[:, 1:17], wide[::2, 8:16], wide.reshape(-1)[1:1601].reshape(-1, 16)):
        counts = np.zeros(8 * payload.shape[1], dtype=np.int64)
        add_bits(payload, counts)
        assert (counts == np.unpackbits(payload, axis=1, bitorder="little").sum(axis=0)).all()
