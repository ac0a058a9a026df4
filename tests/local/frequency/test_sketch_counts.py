"""The compiled loops count what a plain loop counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.local.frequency.sketch_counts import add_bits, add_signs, sum_of_squares


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 700), st.integers(0, 2**32 - 1))
def test_bits_are_added_to_their_rows(rows: int, width: int, reports: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    payload = generator.integers(0, 256, (reports, -(-width // 8) + 1), dtype=np.uint8)
    which = generator.integers(0, rows, reports)
    counts = np.full((rows, width), 5, dtype=np.int64)
    add_bits(counts, which, payload)
    bits = np.unpackbits(payload, axis=1, bitorder="little")[:, :width]
    wanted = np.full((rows, width), 5, dtype=np.int64)
    np.add.at(wanted, which, bits)
    assert np.array_equal(counts, wanted)


def test_bytes_do_not_run_over() -> None:
    for reports in (254, 255, 256, 511, 70_000):
        counts = np.zeros((2, 9), dtype=np.int64)
        add_bits(counts, np.ones(reports, dtype=np.int64), np.full((reports, 2), 255, dtype=np.uint8))
        assert counts.tolist() == [[0] * 9, [reports] * 9]


def test_many_rows_and_read_only_views() -> None:
    counts = np.zeros((70_000, 8), dtype=np.int64)
    payload = np.frombuffer(bytes([1, 2, 3, 4, 5, 6]), dtype=np.uint8).reshape(3, 2)[:, 1:]
    add_bits(counts, np.array([69_999, 3, 69_999]), payload)
    assert (counts[69_999] @ 2 ** np.arange(8), counts[3] @ 2 ** np.arange(8), counts.sum()) == (2 + 6, 4, 4)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans())))
def test_signs_are_added_to_their_cells(reports: list[tuple[int, int, bool]]) -> None:
    sums, totals = np.zeros((4, 5), dtype=np.int64), np.zeros(4, dtype=np.int64)
    rows, columns, plus = (np.array([report[i] for report in reports], dtype=np.int64) for i in range(3))
    add_signs(sums, totals, rows, columns, plus)
    wanted = np.zeros((4, 5), dtype=np.int64)
    for row, column, positive in reports:
        wanted[row, column] += 1 if positive else -1
    assert np.array_equal(sums, wanted)
    assert totals.tolist() == [sum(report[0] == row for report in reports) for row in range(4)]


@given(st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), min_size=1), st.floats(-5, 5))
def test_squares_add_up(rows: list[list[int]], scale: float) -> None:
    table = np.array(rows, dtype=np.int64)
    shifts = np.arange(len(rows), dtype=np.float64)
    wanted = ((scale * table - shifts[:, None]) ** 2).sum()
    assert sum_of_squares(table, scale, shifts) == pytest.approx(wanted, rel=1e-12)
