from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.query.planning.keys import indices

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NOON = dt.datetime(2021, 12, 31, 12, tzinfo=dt.UTC)


def found(column: Any, values: Sequence[Any]) -> list[int]:
    places = indices(column, values)
    assert places.dtype == np.int64
    assert places.shape == (len(column),)
    return list(places.tolist())


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 127)), max_size=20),
    st.lists(st.integers(-(2**70), 2**70) | st.integers(0, 20), max_size=20, unique=True),
)
def test_whole_numbers_of_every_width(kind: pa.DataType, column: list[int | None], values: list[int]) -> None:
    expected = [values.index(item) if item in values else -1 for item in column]
    assert found(pa.array(column, kind), values) == expected
    assert found(pa.array(column, kind).dictionary_encode(), values) == expected


def test_the_ends_of_every_width_are_found() -> None:
    for kind in INTEGERS:
        ends = (
            [0, 2**kind.bit_width - 1]
            if str(kind).startswith("u")
            else [-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1]
        )
        values = [ends[0] - 1, *ends, ends[1] + 1]
        assert found(pa.array(ends, kind), values) == [1, 2]


def test_texts_of_every_width() -> None:
    cases: list[pa.DataType] = [pa.string(), pa.large_string(), pa.string_view()]
    for kind in cases:
        column = pa.array(["M", "", None, "ñ", "X", "F"], kind)
        assert found(column, ("F", "M", "ñ", "", 1, "\ud800", "\0")) == [1, 3, -1, 2, -1, 0]


def test_texts_and_numbers_that_look_alike_are_different() -> None:
    assert found(pa.array(["1", "2"]), (1, 2)) == [-1, -1]
    assert found(pa.array([1, 2]), ("1", "2")) == [-1, -1]
    assert found(pa.array([1, 0]), (True, False)) == [-1, -1]
    assert found(pa.array([True, False, None]), (1, 0)) == [-1, -1, -1]
    assert found(pa.array([True, False, None]), (False, True)) == [1, 0, -1]
    assert found(pa.array([1, 2]), ("1", 1, 2)) == [1, 2]


def test_whole_numbers_may_be_written_as_others() -> None:
    assert found(pa.array([1, 2, 3]), (1.0, Fraction(2), 2.5, Decimal(3), float("inf"))) == [0, 1, 3]


def test_reals() -> None:
    column = pa.array([0.5, -0.0, 0.0, float("nan"), None, float("inf"), 0.1])
    values = (Fraction(1, 2), 0, Fraction(1, 10), True, "0.5", 10**400, float("inf"))
    assert found(column, values) == [0, 1, 1, -1, -1, -1, 2]
    assert found(pa.array([0.5, 0.1], pa.float32()), (0.5, 0.1)) == [0, -1]
    assert found(pa.array(np.array([0.5], np.float16)), (0.5,)) == [0]


def test_decimals() -> None:
    for kind in (pa.decimal128(38, 2), pa.decimal256(60, 2)):
        column = pa.array([Decimal("1.00"), Decimal("2.50"), None, Decimal(10) ** 30], kind)
        assert found(column, (1, 2.5, "1", True, 10**30)) == [0, 1, -1, 4]
        assert found(column, ("1", False)) == [-1, -1, -1, -1]


def test_dates() -> None:
    cases: list[pa.DataType] = [pa.date32(), pa.date64()]
    for kind in cases:
        day = dt.date(2021, 12, 31)
        column = pa.array([day, None, dt.date(1, 1, 1)], kind)
        assert found(column, (dt.date(1, 1, 1), day)) == [1, -1, 0]
        assert found(column, (dt.datetime(2021, 12, 31, tzinfo=dt.UTC), "2021-12-31", 18992)) == [-1, -1, -1]


def test_a_date_that_no_python_could_hold_is_in_no_cell() -> None:
    far = pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32())
    assert found(far, (dt.date(1970, 1, 1),)) == [-1, -1, 0]
    odd = pa.array([86_400_001, 2**62], pa.int64()).view(pa.date64())
    assert found(odd, (dt.date(1970, 1, 2), dt.date.max))[1] == -1


def test_times() -> None:
    zone_cases: list[str | None] = [None, "UTC", "America/Mexico_City"]
    for unit, zone in product(("s", "ms", "us", "ns"), zone_cases):
        column = pa.array([NOON, None, NOON.replace(year=1970)], pa.timestamp(unit, zone))
        far = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)  # which nanoseconds cannot count
        zoned = NOON.astimezone(dt.timezone(dt.timedelta(hours=-6)))
        assert found(column, (far, NOON.replace(tzinfo=None))) == [1, -1, -1]
        assert found(column, (NOON.replace(microsecond=1), zoned)) == [1, -1, -1]
        assert found(column, (dt.date(2021, 12, 31), "2021-12-31 12:00:00")) == [-1, -1, -1]


def test_times_to_the_microsecond_are_told_apart() -> None:
    fine = NOON.replace(microsecond=1)
    assert found(pa.array([NOON, fine], pa.timestamp("us")), (fine, NOON)) == [1, 0]
    odd = pa.array([int(NOON.timestamp()) * 10**9 + 1], pa.int64()).view(pa.timestamp("ns"))
    assert found(odd, (NOON,)) == [-1]


def test_columns_in_pieces() -> None:
    column = pa.chunked_array([pa.array(["F"]).dictionary_encode(), pa.array(["M", "F"]).dictionary_encode()])
    assert found(column, ("F", "M")) == [0, 1, 0]
    assert found(pa.chunked_array([], pa.int32()), (1,)) == []
    assert found(pa.array(["F", "M", None, "F"]).slice(1, 2), ("F", "M")) == [1, -1]


def test_what_can_be_no_key_is_in_no_cell() -> None:
    cases: list[pa.Array] = [
        pa.nulls(2),
        pa.array([b"F", b"M"]),
        pa.array([["F"], ["M"]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([dt.time(12), dt.time(13)]),
        pa.array([dt.timedelta(1), dt.timedelta(2)]),
    ]
    for column in cases:
        assert found(column, ("F", 1, True, dt.date(2021, 1, 1))) == [-1, -1]


def test_without_values_nothing_is_found() -> None:
    assert found(pa.array([1, 2]), ()) == [-1, -1]
    assert found(pa.array(["a"]), ()) == [-1]
    assert found(pa.array([], pa.string()), ("a",)) == []
