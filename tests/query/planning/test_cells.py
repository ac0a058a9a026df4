from __future__ import annotations

import datetime as dt
import itertools
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.planning.cells import MAX_CELLS, Cells

keys = st.one_of(
    st.lists(st.integers(-5, 5), max_size=5, unique=True),
    st.lists(st.sampled_from("abcde"), max_size=5, unique=True),
    st.lists(st.dates(), max_size=4, unique=True),
)


def brute_force(cells: Cells, rows: list[tuple[Any, ...]]) -> list[int]:
    order = list(zip(*cells.columns(), strict=True)) if len(cells) else []
    return [order.index(row) if row in order else -1 for row in rows]


# ----------------------------------------------------------------------------------------------------- all combinations


@given(st.lists(keys, min_size=1, max_size=4))
def test_all_combinations_come_in_the_order_of_loops_inside_one_another(values: list[list[Any]]) -> None:
    cells = Cells.product(values)
    expected = list(itertools.product(*values))
    assert len(cells) == len(expected)
    assert cells.columns() == [[row[j] for row in expected] for j in range(len(values))]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_places_are_found_by_arithmetic_as_by_search(shape: list[int], data: st.DataObject) -> None:
    cells = Cells.product([range(many) for many in shape])
    rows = data.draw(st.lists(st.tuples(*(st.integers(-2, many + 1) for many in shape)), max_size=20))
    codes = [[row[j] for row in rows] for j in range(len(shape))]
    assert cells.places(*codes).tolist() == brute_force(cells, rows)


def test_without_keys_there_is_one_cell() -> None:
    cells = Cells.product([])
    assert len(cells) == 1
    assert cells.columns() == []
    with pytest.raises(QueryError, match="looked up by 0 columns"):
        cells.places()
    with pytest.raises(QueryError, match="looked up by 0 columns"):
        cells.locate([])


def test_a_column_without_keys_leaves_no_cells() -> None:
    tried: list[list[list[Any]]] = [[[]], [["a"], []], [[], [1, 2]]]
    for values in tried:
        cells = Cells.product(values)
        assert len(cells) == 0
        assert cells.columns() == [[] for _ in values]
        assert cells.places(*([0, 1] for _ in values)).tolist() == [-1, -1]
    assert Cells.product([[]]).locate([pa.array(["a", None])]).tolist() == [-1, -1]


# ---------------------------------------------------------------------------------------------------- some combinations


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.booleans()), unique=True, max_size=20), st.data()
)
def test_listed_combinations_keep_their_order_and_are_found(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    cells = Cells.from_rows(rows, 3)
    assert len(cells) == len(rows)
    assert cells.columns() == [[row[j] for row in rows] for j in range(3)]
    asked = data.draw(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-1, 5), st.booleans()), max_size=20))
    arrays = [pa.array([row[j] for row in asked], kind) for j, kind in enumerate((pa.string(), pa.int64(), pa.bool_()))]
    assert cells.locate(arrays).tolist() == brute_force(cells, asked)


def test_many_columns_of_many_keys_do_not_overflow() -> None:
    many = 100_000  # to the fourth power far beyond 64 bits
    generator = np.random.default_rng(4)
    columns = [generator.permutation(many) for _ in range(4)]
    cells = Cells.from_rows(list(zip(*(column.tolist() for column in columns), strict=True)), 4)
    places = generator.permutation(many)
    arrays = [pa.array(column[places]) for column in columns]
    assert np.array_equal(cells.locate(arrays), places)
    shifted = [*arrays[:3], pa.array(np.roll(columns[3][places], 1))]
    assert (cells.locate(shifted) == -1).all()


def test_listed_none() -> None:
    cells = Cells.from_rows([], 2)
    assert len(cells) == 0
    assert cells.columns() == [[], []]
    assert cells.locate([pa.array(["a"]), pa.array([1])]).tolist() == [-1]
    assert len(Cells.from_rows([()], 0)) == 1


def test_what_is_no_list_of_combinations_is_refused() -> None:
    cases: list[tuple[list[tuple[Any, ...]], int, str]] = [
        ([("F", 1), ("F", 1)], 2, "twice"),
        ([(1,), (True,)], 1, "twice"),  # Python takes them for the same
        ([("F",)], 2, "needs 2 values"),
        ([("F", 1, 2)], 2, "needs 2 values"),
        ([("F", None)], 2, "null"),
        ([("F", float("nan"))], 2, "null"),
        ([("F", pd.NaT)], 2, "null"),
        ([("F", pd.NA)], 2, "not"),
        ([("F", ["x"])], 2, "not"),
        ([("F", {})], 2, "not"),
    ]
    for rows, columns, word in cases:
        with pytest.raises(QueryError, match=word):
            Cells.from_rows(rows, columns)


def test_what_is_no_list_of_keys_is_refused() -> None:
    cases: list[tuple[Any, ...]] = [("F", "F"), (1, 1.0), ("F", None), (float("nan"),), ([],)]
    for column in cases:
        with pytest.raises(QueryError, match="key"):
            Cells.product([("a", "b"), column])


def test_there_are_at_most_a_million_cells() -> None:
    assert len(Cells.product([range(1000), range(1000)])) == MAX_CELLS
    with pytest.raises(QueryError, match="more than 1,000,000 cells"):
        Cells.product([range(1000), range(1001)])
    with pytest.raises(QueryError, match="more than 1,000,000 cells"):
        Cells.product([range(1000)] * 30)
    with pytest.raises(QueryError, match="more than 1,000,000 cells"):
        Cells.from_rows([(i,) for i in range(MAX_CELLS + 1)], 1)


# --------------------------------------------------------------------------------------------------------------- lookup


def test_codes_that_are_out_of_range_are_in_no_cell() -> None:
    cells = Cells.product([("F", "M"), (1, 2, 3)])
    assert cells.places([0, 0, 2, -1, 1], [2, 3, 0, 0, -9]).tolist() == [2, -1, -1, -1, -1]
    listed = Cells.from_rows([("F", 1), ("M", 3)], 2)
    assert listed.places([0, 1, 1, 5], [0, 1, 0, 0]).tolist() == [0, 1, -1, -1]


def test_the_number_of_columns_must_be_right() -> None:
    for columns in (0, 1, 3):
        for cells in (Cells.product([("F", "M"), (1, 2)]), Cells.from_rows([("F", 1)], 2)):
            with pytest.raises(QueryError, match=f"by 2 columns of keys, not by {columns}"):
                cells.places(*([0] for _ in range(columns)))
            with pytest.raises(QueryError, match=f"by 2 columns of keys, not by {columns}"):
                cells.locate([pa.array(["F"]) for _ in range(columns)])


def test_a_row_with_one_unknown_key_is_in_no_cell() -> None:
    cells = Cells.product([("F", "M"), (dt.date(2021, 1, 1), dt.date(2021, 1, 2))])
    sexes = pa.array(["M", None, "X", "F"]).dictionary_encode()
    days = pa.array([dt.date(2021, 1, 1), dt.date(2021, 1, 1), dt.date(2021, 1, 1), None])
    assert cells.locate([sexes, days]).tolist() == [2, -1, -1, -1]


# -------------------------------------------------------------------------------------------------------------- a value


def test_cells_are_a_value() -> None:
    cells = Cells.from_rows([("F", 1), ("M", 3)], 2)
    again = pickle.loads(pickle.dumps(cells))
    assert again == cells
    assert hash(again) == hash(cells)
    assert again.locate([pa.array(["M"]), pa.array([3])]).tolist() == [1]
    assert cells != Cells.from_rows([("M", 3), ("F", 1)], 2)
    assert cells != Cells.product([("F", "M"), (1, 3)])
    assert repr(cells) == "<Cells: 2, of 2 columns>"
    with pytest.raises(FrozenInstanceError):
        cells.rows = None  # type: ignore[misc] # the point of the test


def test_keys_of_numpy_become_pythons_own() -> None:
    texts: Any = np.array(["F", "M"])
    numbers: Any = np.arange(2)
    cells = Cells.product([texts, numbers])
    assert cells == Cells.product([("F", "M"), (0, 1)])
    assert [type(column[0]) for column in cells.columns()] == [str, int]
