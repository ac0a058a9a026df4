"""Columns of Python objects: their kind decides, and ids of persons are of one type."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from celosia.core.errors import InputError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Text, Timestamp
from celosia.data.sources.objects import read_ids, read_objects, read_strings
from celosia.data.sources.strings import UNREADABLE

DAYS = Date("2000-01-01", "2030-01-01")
TIMES = Timestamp("2000-01-01", "2030-01-01")
DAY = dt.date(2021, 1, 2)
NOON = dt.datetime(2021, 1, 2, 12, tzinfo=dt.timezone(dt.timedelta(hours=13)))


def column(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize(
    ("values", "kind", "type_", "found"),
    [
        ([True, None, np.False_], Boolean(), pa.bool_(), [True, None, False]),
        ([True, float("nan"), "x", 1, 0.0, 2, Decimal(1)], Boolean(), pa.bool_(), None),
        ([DAY, None, pd.NaT, "x"], DAYS, pa.date32(), [DAY, None, None, None]),
        ([NOON, pd.Timestamp("2021-01-02 23:00")], DAYS, pa.date32(), [dt.date(2021, 1, 1), DAY]),
        ([NOON, DAY], TIMES, pa.timestamp("us", "UTC"), None),
        ([None, None], DAYS, pa.date32(), [None, None]),
        (["2021-01-02", None, "x", "02/01/2021"], DAYS, pa.date32(), [DAY, None, None, None]),
        (["no", True, "Y", "maybe"], Boolean(), pa.bool_(), [False, True, True, None]),
        (["2021-01-01 12:00+00:00", NOON], TIMES, pa.timestamp("us", "UTC"), None),
        ([True, None], Text(), pa.string(), ["True", None]),
        ([1, None], Integer(0, 1), pa.string(), ["1", None]),
        ([b"F", "F"], Category("F", "M"), pa.string(), ["b'F'", "F"]),
    ],
    ids=str,
)
def test_the_kind_decides(values: list[Any], kind: Kind, type_: pa.DataType, found: list[Any] | None) -> None:
    array = read_objects(column(values), kind)
    assert array.type == type_
    if found is not None:
        assert array.to_pylist() == found


def test_zero_and_one_are_booleans_and_dates_are_midnights() -> None:
    odd = column([True, float("nan"), "x", 1, 0.0, 2, Decimal(1)])
    assert read_objects(odd, Boolean()).to_pylist() == [True, None, None, True, False, None, True]
    moments = read_objects(column([NOON, DAY, dt.datetime.max.replace(tzinfo=NOON.tzinfo)]), TIMES).cast(pa.int64())
    day = int(dt.datetime(2021, 1, 2, tzinfo=dt.UTC).timestamp() * 10**6)
    assert moments[:2].to_pylist() == [day - 3_600_000_000, day]
    first = dt.datetime.min.replace(tzinfo=NOON.tzinfo)
    assert read_objects(column([first, NOON]), TIMES).null_count == 1  # before the first year in UTC


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([True, None], pa.bool_()),
        ([DAY, None], pa.date32()),
        ([DAY, NOON], pa.string()),
        ([True, 1], pa.string()),
        ([None, None], pa.string()),
    ],
    ids=str,
)
def test_values_decide_where_they_are_public(values: list[Any], type_: pa.DataType) -> None:
    assert read_objects(column(values), None, infer=True).type == type_
    assert read_objects(column(values), None).type == pa.string()


def test_halves_of_surrogate_pairs() -> None:
    halves = column(["\ud800", "\udc00", "ok", None])
    assert read_strings(halves).to_pylist() == [UNREADABLE, UNREADABLE, "ok", None]
    assert read_ids(halves, "who").to_pylist() == [None, None, "ok", None]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1, np.int8(2), None], [1, 2, None]),
        ([2**70, -1], [str(2**70), "-1"]),
        ([1.0, np.float32(2.5), float("nan")], [1.0, 2.5, None]),
        (["1", "1.0", np.str_("True")], ["1", "1.0", "True"]),
        ([uuid.UUID(int=7), None], [str(uuid.UUID(int=7)), None]),
        ([None, float("nan")], [None, None]),
    ],
    ids=str,
)
def test_ids_of_one_type(values: list[Any], found: list[Any]) -> None:
    assert read_ids(column(values), "who").to_pylist() == found


def test_other_ids_are_refused_without_their_values() -> None:
    cases: list[list[Any]] = [
        [1, 1.0],
        [1, True],
        [1, "1"],
        [1, Decimal(1)],
        [Decimal(1), Decimal("1.0")],
        [True, False],
        [np.True_, None],
        [Fraction(1), Fraction(2)],
        [b"Eulalia", None],
        [DAY, DAY],
        [("Eulalia",), None],
    ]
    for values in cases:
        with pytest.raises(InputError, match="The person column 'who' is of Python objects") as caught:
            read_ids(column(values), "who")
        assert "Eulalia" not in str(caught.value)
