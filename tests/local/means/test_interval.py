"""Numbers of an interval are read onto a grid the same way everywhere, rounded without bias, and never quoted."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import InputError, ParameterError
from celosia.local.means.interval import (
    PART_BITS,
    exact_bounds,
    exact_grid,
    read_numbers,
    read_parts,
    round_part,
    round_parts,
)
from celosia.noise import Seeded

SECRET = 86753.0909


def test_bounds_that_hold_nothing_are_refused() -> None:
    cases: list[tuple[Any, Any]] = [
        (1, 1),
        (2, 1),
        ("0.1", 0.1),
        (-1.7e308, 1.7e308),
        (0, 1e200),
        (float("nan"), 1),
        (0, float("inf")),
        (True, 2),
        (None, 1),
    ]
    for low, high in cases:
        with pytest.raises(ParameterError, match=r"low|high"):
            exact_bounds(low, high)


def test_grids_have_a_whole_number_of_steps() -> None:
    cases: list[Any] = [0, -1, 1.5, True, 2**30 + 1, "8", None]
    for grid in cases:
        with pytest.raises(ParameterError, match="grid"):
            exact_grid(grid)


COLUMNS: list[Any] = [
    [0, 1.5, 3],
    (0, 1.5, 3),
    np.array([0, 1.5, 3]),
    np.array([0, 1.5, 3], dtype=np.float32),
    pa.array([0, 1.5, 3]),
    pa.chunked_array([[0.0], [1.5, 3]]),
    pa.array([9.0, 0, 1.5, 3]).slice(1),
    pd.Series([0, 1.5, 3]),
    pl.Series([0.0, 1.5, 3.0]),
]


def test_all_columns_are_read_alike() -> None:
    for column in COLUMNS:
        assert read_numbers(column).tolist() == [0.0, 1.5, 3.0]


def test_whole_numbers_are_numbers() -> None:
    for column in (range(3), [0, 1, 2], np.arange(3, dtype=np.uint8), pa.array([0, 1, 2]), pl.Series([0, 1, 2])):
        assert read_numbers(column).tolist() == [0.0, 1.0, 2.0]
    assert read_numbers([]).size == read_numbers(np.array([])).size == 0


BAD: list[Any] = [
    [math.nan],
    [math.inf],
    [None],
    [True],
    ["1"],
    [1, "x"],
    [object()],
    [10**400],
    [np.complex128(1)],
    None,
    1.5,
    np.float64(1.5),
    "text",
    {1.0},
    np.array([[1.0]]),
    np.array(["a"]),
    np.array([True]),
    np.array([1j]),
    np.ma.masked_array([1.0, 2.0], [False, True]),
    np.array([1.0], dtype=np.longdouble),
    pa.array([1.0, None]),
    pa.array(["a"]),
    pa.array([True]),
    pd.Series([1.0, None]),
    pl.Series([1.0, None]),
]


def test_what_is_no_column_of_numbers_is_refused() -> None:
    for values in BAD:
        with pytest.raises(InputError, match="values"):
            read_numbers(values)


def test_numbers_outside_the_bounds_are_refused_and_not_quoted() -> None:
    cases: list[Any] = [[SECRET], [0.5, -SECRET], np.array([SECRET]), [math.nextafter(1.0, 2.0)]]
    for values in cases:
        with pytest.raises(InputError, match=r"from 0.0 to 1.0") as caught:
            read_parts(values, Fraction(0), Fraction(1), 8)
        assert "86753" not in str(caught.value)


def test_a_bound_that_is_no_double_holds_its_nearest_double() -> None:
    assert read_parts([0.1, 0.0], Fraction(0), Fraction(1, 10), 8).tolist() == [8, 0]


@given(st.floats(-3, 7), st.sampled_from([1, 8, 1000, 1 << 52]))
def test_parts_are_the_nearest_ones(number: float, parts: int) -> None:
    (part,) = read_parts([number], Fraction(-3), Fraction(7), parts).tolist()
    place = (Fraction(number) + 3) / 10 * parts
    assert 0 <= part <= parts
    assert abs(part - place) <= Fraction(1, 2) + Fraction(parts, 2**51)


@given(st.integers(0, 5), st.integers(0, (1 << PART_BITS) - 1))
def test_a_number_is_rounded_to_a_neighbour_of_it(step: int, rest: int) -> None:
    part = (step << PART_BITS) + rest
    seen = round_parts(np.full(50, part), Seeded(3))
    assert set(seen.tolist()) <= {step, step + (rest > 0)}
    assert round_part(part, Seeded(3)) in {step, step + (rest > 0)}


def test_rounding_keeps_the_mean() -> None:
    part = np.full(400_000, (3 << PART_BITS) + (1 << PART_BITS) // 4)
    up = int((round_parts(part, Seeded(5)) == 4).sum())
    assert abs(up - 100_000) < 5 * math.sqrt(400_000 * 3 / 16)
    one = sum(round_part(int(part[0]), source) == 4 for source in [Seeded(6)] for _ in range(4000))
    assert abs(one - 1000) < 5 * math.sqrt(4000 * 3 / 16)
