"""Columns from outside: of any library, by their type alone; no row decides how another is read, none raises."""


# ruff: noqa: PD011 - these are columns of ours, not of pandas

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError
from celosia.statistics.arrays.reading import read_column, read_numbers

THINGS = st.one_of(
    st.integers(),
    st.floats(),
    st.none(),
    st.booleans(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.decimals(),
    st.just(10**400),
    st.just(-(10**400)),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.dates(),
)


def numbers(column: Any) -> list[float | None]:
    return [float(value) if there else None for value, there in zip(column.values, column.present, strict=True)]


@pytest.mark.parametrize(
    "array",
    [
        np.array([34, 71, 5], dtype=np.int8),
        np.array([34, 71, 5], dtype=">u2"),
        pd.Series([34, 71, 5]),
        pd.Series([34, 71, 5], dtype="Int64"),
        pl.Series([34, 71, 5]),
        pa.array([34, 71, 5]),
        pa.chunked_array([[34], [71, 5]]),
    ],
    ids=lambda array: f"{type(array).__module__} {type(array).__name__}",
)
def test_integers_of_every_library(array: Any) -> None:
    column = read_numbers(array)
    assert column.integral
    assert numbers(column) == [34, 71, 5]


@pytest.mark.parametrize(
    "array",
    [
        [34, None, 0.5],
        (34, float("nan"), 0.5),
        [34, math.inf, Fraction(1, 2)],
        ["34", "many", Decimal("0.5")],
        np.array([34, np.nan, 0.5]),
        np.array([34, -np.inf, 0.5], dtype=np.float32),
        np.array([34, None, 0.5], dtype=object),
        np.ma.array([34, 7, 0.5], mask=[False, True, False]),
        pd.Series([34, None, 0.5]),
        pd.Series([34, pd.NA, 0.5], dtype="Float64"),
        pd.Series([34, pd.NA, 0.5], dtype=object),
        pl.Series([34.0, None, 0.5]),
        pa.array([34, None, 0.5]),
        pa.array([Decimal(34), None, Decimal("0.5")]),
    ],
    ids=lambda array: f"{type(array).__module__} {type(array).__name__} {getattr(array, 'dtype', '')}",
)
def test_reals_of_every_library_with_something_missing(array: Any) -> None:
    column = read_numbers(array)
    assert not column.integral
    assert column.nullable
    assert numbers(column) == [34, None, 0.5]


def test_integers_may_be_missing_too() -> None:
    for array in (
        pd.Series([34, None, 5], dtype="Int64"),
        pl.Series([34, None, 5]),
        pa.array([34, None, 5]),
        np.ma.array([34, 7, 5], mask=[False, True, False]),
    ):
        column = read_numbers(array)
        assert column.integral
        assert numbers(column) == [34, None, 5]
        assert column.nullable
    assert not read_numbers(np.array([34, 5])).nullable


def test_truth_values_are_zero_and_one() -> None:
    for array in (np.array([True, False]), pd.Series([True, False]), pl.Series([True, False]), pa.array([True, False])):
        assert numbers(read_numbers(array)) == [1, 0]
        assert read_numbers(array).integral
    assert numbers(read_numbers([True, False])) == [1, 0]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_beyond_any_bounds_are_clipped(kind: Any) -> None:
    largest = np.iinfo(kind).max
    assert read_numbers(np.array([largest, 1], dtype=kind)).values.tolist() == [2**62, 1]
    assert read_numbers(np.array([np.iinfo(np.int64).min])).values.tolist() == [-(2**62)]


@given(st.lists(THINGS, max_size=6), THINGS)
def test_no_item_of_a_list_raises_or_changes_how_others_are_read(items: list[Any], another: Any) -> None:
    for read in (read_numbers, read_column):
        before, after = read(items), read([*items, another])
        assert after.present[:-1].tolist() == before.present.tolist()
        assert (before.integral, before.nullable) == (after.integral, after.nullable) == (False, True)
    before, after = read_numbers(items), read_numbers([*items, another])
    kept = before.present
    assert (after.values[:-1][kept] == before.values[kept]).all()
    assert np.isfinite(after.values[after.present]).all()


def test_labels_of_every_library() -> None:
    for array in (
        ["F", None, "M"],
        np.array(["F", None, "M"], dtype=object),
        pd.Series(["F", None, "M"]),
        pd.Series(["F", None, "M"], dtype="category"),
        pl.Series(["F", None, "M"]),
        pl.Series(["F", None, "M"], dtype=pl.Categorical),
        pa.array(["F", None, "M"]),
        pa.array(["F", None, "M"]).dictionary_encode(),
        pa.chunked_array([["F"], [None, "M"]]),
    ):
        column = read_column(array)
        assert column.present.tolist() == [True, False, True], type(array)
        assert column.values[[0, 2]].tolist() == ["F", "M"]


def test_times_are_values_but_no_numbers() -> None:
    day = dt.datetime(2021, 12, 31, tzinfo=dt.UTC)
    for array in (
        np.array(["2021-12-31", "NaT"], dtype="datetime64[D]"),
        pd.Series([day, None]),
        pl.Series([day, None]),
        pa.array([day.date(), None]),
    ):
        assert read_column(array).present.tolist() == [True, False]
        with pytest.raises(InputError, match=r"^array must hold numbers, not datetime"):
            read_numbers(array)
    assert read_column([day, day.date(), pd.NaT]).present.tolist() == [True, True, False]


def test_nothing_is_a_column_too() -> None:
    empty: list[Any] = [[], (), np.array([]), pd.Series([], dtype=float), pl.Series([], dtype=pl.Float64), pa.array([])]
    for array in empty:
        assert len(read_numbers(array).values) == 0
    assert len(read_numbers(pa.chunked_array([], type=pa.int64())).values) == 0
    assert read_numbers(range(3)).values.tolist() == [0, 1, 2]


def test_what_is_no_column_is_refused() -> None:
    cases: list[Any] = [
        "34",
        b"34",
        34,
        None,
        {34},
        {34: 1},
        iter([34]),
        np.float64(3),
        object(),
        pd.DataFrame({"a": [1]}),
    ]
    for array in cases:
        with pytest.raises(InputError, match=r"^array must be an array, a list or a column of a frame"):
            read_numbers(array)


def test_an_array_of_several_dimensions_is_refused() -> None:
    cases: list[Any] = [np.zeros((2, 2)), np.array(3.0)]
    for array in cases:
        with pytest.raises(InputError, match=r"^x must be one column"):
            read_numbers(array, name="x")


def test_a_type_that_holds_no_values_is_refused_without_quoting_them() -> None:
    cases: list[Any] = [
        np.array([1j]),
        np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
        pa.array([[1]]),
        pl.Series([[1]]),
    ]
    for array in cases:
        with pytest.raises(InputError, match=r"^array must hold numbers"):
            read_numbers(array)


def test_a_column_shows_nothing_of_what_is_in_it() -> None:
    assert "987654" not in repr(read_numbers([987654]))


def test_a_column_of_texts_is_no_column_of_numbers() -> None:
    cases: list[Any] = [
        np.array(["34", "", "0.5"]),
        pd.Series(["34", None, "0.5"], dtype="str"),
        pl.Series(["34", "x", "0.5"]),
        pa.array(["34", "x", "0.5"]),
    ]
    for array in cases:
        with pytest.raises(InputError, match="must hold numbers, not texts"):
            read_numbers(array)
        assert read_column(array).values.size == 3
