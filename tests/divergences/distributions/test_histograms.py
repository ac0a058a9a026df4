"""Data sets as histograms, in every form that a column comes in."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.divergences import distance, histogram

RECORDS = st.lists(st.integers(0, 5), max_size=12)


def test_every_kind_of_column() -> None:
    cases: list[Any] = [list, tuple, np.array, pa.array, pa.chunked_array, pd.Series, pl.Series]
    for make in cases:
        values = ["b", "a", "b"]
        column = pa.chunked_array([["b"], ["a", "b"]]) if make is pa.chunked_array else make(values)
        assert histogram(column) == {"a": 1, "b": 2}
        numbers = pa.chunked_array([[3], [1, 3]]) if make is pa.chunked_array else make([3, 1, 3])
        assert histogram(numbers) == {1: 1, 3: 2}


def test_table_3_1_of_seed_004() -> None:
    groups = [(group, sign) for group in ("A", "B", "AB", "O") for sign in "+-"]
    people = [("A", "+"), ("A", "+"), ("AB", "-"), ("B", "+"), ("A", "-"), ("AB", "+"), ("O", "+"), ("O", "+")]
    assert list(histogram(people, universe=groups).values()) == [2, 1, 1, 0, 1, 1, 2, 0]


def test_rows_are_records() -> None:
    assert histogram(np.array([[1, 2], [1, 2], [2, 1]])) == {(1, 2): 2, (2, 1): 1}


@given(RECORDS, RECORDS)
def test_distance_is_the_l1_norm(one: list[int], other: list[int]) -> None:
    universe = range(6)
    by_hand = sum(abs(histogram(one, universe)[k] - histogram(other, universe)[k]) for k in universe)
    assert distance(one, other) == by_hand == distance(np.array(other, dtype=int), np.array(one, dtype=int))
    assert distance(one, other) == sum(((Counter(one) - Counter(other)) + (Counter(other) - Counter(one))).values())


@given(RECORDS, st.integers(0, 5))
def test_neighbours(records: list[int], extra: int) -> None:
    assert distance(records, [*records, extra]) == 1
    # The Rényi thesis calls it the number of different records; replacing one record counts 2.
    assert distance([*records, extra], [*records, extra + 1]) == 2
    assert distance(records, list(reversed(records))) == 0


def test_bad_data() -> None:
    cases: list[object] = [
        [1.0, math.nan],
        pd.Series([1, None], dtype="Int64"),
        np.array(["NaT"], dtype="M8[s]"),
        np.array([math.nan]),
        ["a", None],
        [[1], [2]],
        "text",
        {"a": 1},
        5,
        np.zeros((1, 1, 1)),
    ]
    for bad in cases:
        with pytest.raises(InputError, match="dataset"):
            histogram(bad)


def test_the_universe_binds() -> None:
    with pytest.raises(InputError, match="universe") as caught:
        histogram(["secret"], universe=["a"])
    assert "secret" not in str(caught.value)
    for universe in ([], ["a", "a"]):
        with pytest.raises(ParameterError, match="universe"):
            histogram(["a"], universe=universe)


def test_what_is_missing_within_a_record_is_found() -> None:
    fields = np.array([(1, math.nan)], dtype=[("a", int), ("b", float)])
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    for dataset in ([(1, math.nan)], [(1, (None,))], fields, masked, np.array([[1, None]], dtype=object)):
        with pytest.raises(InputError, match=r"^dataset holds"):
            histogram(dataset)


def test_a_frame_of_mixed_columns_has_rows() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]})
    assert histogram(frame) == {(1, "x"): 2, (2, "y"): 1}
    assert distance(frame, [(1, "x"), (2, "y")]) == 1
