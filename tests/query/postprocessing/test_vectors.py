from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.postprocessing.vectors import MAX_INTEGER, Vector, align, to_list, vector_of

NOON = dt.datetime(2021, 12, 31, 12, tzinfo=dt.UTC)
FAMILIES: dict[str, st.SearchStrategy[Any]] = {
    "truth": st.booleans(),
    "number": st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False)),
    "text": st.text(max_size=5),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(microsecond=0)),
    "list": st.lists(st.text(max_size=2), max_size=3),
}


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_a_column_comes_back_as_it_was(family: str, data: st.DataObject) -> None:
    kind = st.integers(-(2**62), 2**62) if data.draw(st.booleans()) and family == "number" else FAMILIES[family]
    column = data.draw(st.lists(st.one_of(st.none(), kind), max_size=8))
    if any(isinstance(value, float) for value in column):
        column = [None if value is None else float(value) for value in column]
    vector = vector_of(column)
    assert vector.family == (family if any(value is not None for value in column) else "null")
    assert vector.null.tolist() == [value is None for value in column]
    again = to_list(vector)
    assert again == column
    assert list(map(type, again)) == list(map(type, column))


def test_families_are_found_from_types() -> None:
    for column, family in (
        ([1, np.int64(2), np.uint8(3)], "number"),
        ([0.5, np.float32(0.25), Fraction(1, 2), Decimal(1)], "number"),
        ([True, np.False_], "truth"),
        ([np.str_("a")], "text"),
        ([dt.date(2021, 1, 1)], "date"),
        ([NOON, NOON.replace(tzinfo=None)], "timestamp"),
        ([["a"], ("b",)], "list"),
        ([None, None], "null"),
        ([], "null"),
    ):
        assert vector_of(column).family == family


def test_arrays_are_columns_too() -> None:
    for dtype in ("int8", "uint32", "int64", "float32", "float64", "bool", "U3", "O"):
        assert to_list(vector_of(np.array([1, 0], dtype))) == np.array([1, 0], dtype).tolist()


def test_numbers_that_are_not_finite_are_null() -> None:
    assert vector_of([float("nan"), float("inf"), -float("inf"), 1.0, None]).null.tolist() == [
        True,
        True,
        True,
        False,
        True,
    ]


def test_whole_numbers_stay_whole_however_large_they_are() -> None:
    assert vector_of([2**63 - 1, -(2**63)]).is_integer
    beyond = vector_of([2**63, 1, None, -(2**70), MAX_INTEGER, 10**400])
    assert beyond.is_integer
    assert to_list(beyond) == [None, 1, None, None, MAX_INTEGER, None]
    assert not vector_of([1, 2.0]).is_integer


def test_times_are_seconds_in_utc() -> None:
    zoned = NOON.astimezone(dt.timezone(dt.timedelta(hours=-6)))
    assert to_list(vector_of([zoned, NOON.replace(tzinfo=None, microsecond=7), None])) == [NOON, NOON, None]


def test_a_column_of_several_families_is_refused() -> None:
    cases: list[list[Any]] = [[1, "a"], [True, 1], [dt.date(2021, 1, 1), NOON], ["a", ["a"]]]
    for column in cases:
        with pytest.raises(QueryError, match="mixes"):
            vector_of(column)


def test_one_item_is_repeated_without_being_copied() -> None:
    vector = vector_of(["x"]).repeated(1_000_000)
    assert vector.items.strides == (0,)
    assert to_list(vector.repeated(1_000_000))[:2] == ["x", "x"]
    assert to_list(vector_of([None]).repeated(2)) == [None, None]
    assert to_list(vector_of([7]).repeated(0)) == []


def test_columns_are_brought_to_one_type() -> None:
    whole, real, nothing = vector_of([1, 2]), vector_of([0.5, None]), vector_of([None, None])
    assert [vector.items.dtype.kind for vector in align("+", [whole, real, nothing])] == ["f", "f", "f"]
    assert [vector.items.dtype.kind for vector in align("+", [whole, nothing])] == ["i", "i"]
    assert [vector.family for vector in align("+", [nothing, nothing])] == ["null", "null"]
    texts = align("<", [vector_of(["a", None]), nothing])
    assert (texts[0].items < texts[1].items).tolist() == [False, False]  # without a value, but comparable
    with pytest.raises(QueryError, match="LEAST cannot combine numbers with texts in an answer"):
        align("least", [nothing, whole, vector_of(["a", "b"])])


def test_dates_outside_the_calendar_are_masked() -> None:
    days = Vector("date", np.array([0, 2**40]), np.array([False, True]))
    assert to_list(days) == [dt.date(1970, 1, 1), None]
