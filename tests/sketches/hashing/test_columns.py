"""Whatever a column comes as, the same values come out; what has no one reading is refused, and never quoted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError
from celosia.sketches.hashing.columns import Column, read_column

TEXTS = ["", "sun", "año", "日本", "🌧", "x" * 100]
NUMBERS = [0, 1, -1, 2**63 - 1, -(2**63)]
BYTES = [b"", b"\x00", b"a\x00b", b"\xff" * 9]
SECRET = "Ana"

integers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def test_texts_of_any_library() -> None:
    cases: list[Any] = [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        pa.chunked_array([pa.array(TEXTS[:2]).dictionary_encode(), pa.array(TEXTS[2:]).dictionary_encode()]),
        pa.array(["before", *TEXTS, "after"])[1:-1],
        pa.array(["before", *TEXTS], pa.large_string())[1:],
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS, dtype="category"),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        read_column(TEXTS),
    ]
    for values in cases:
        column = read_column(values)
        assert column.tolist() == TEXTS
        assert column.integers is None
        assert column.text
        assert len(column) == len(TEXTS)


def test_whole_numbers_of_any_library() -> None:
    cases: list[Any] = [
        NUMBERS,
        [np.int64(number) for number in NUMBERS],
        np.array(NUMBERS),
        np.array([9, *NUMBERS])[1:],
        np.repeat(np.array(NUMBERS), 2)[::2],
        np.array(NUMBERS).astype(">i8"),
        np.array(NUMBERS, dtype=object),
        pa.array(NUMBERS),
        pa.chunked_array([NUMBERS[:1], NUMBERS[1:]]),
        pa.array([9, *NUMBERS])[1:],
        pa.array(NUMBERS).dictionary_encode(),
        pd.Series(NUMBERS),
        pd.Series(NUMBERS, dtype="Int64"),
        pl.Series(NUMBERS),
    ]
    for values in cases:
        column = read_column(values)
        assert column.tolist() == NUMBERS
        assert column.integers is not None
        assert column.integers.dtype == np.int64


def test_bytes_of_any_library() -> None:
    cases: list[Any] = [
        BYTES,
        np.array(BYTES, dtype=object),
        pa.array(BYTES),
        pa.array(BYTES, pa.large_binary()),
        pl.Series(BYTES),
    ]
    for values in cases:
        column = read_column(values)
        assert column.tolist() == BYTES
        assert not column.text


def test_every_width_of_integers() -> None:
    for dtype in ("i1", "i2", "i4", "u1", "u2", "u4", "u8", "?"):
        assert read_column(np.array([0, 1], dtype=dtype)).tolist() == [0, 1]
        assert read_column(pa.array(np.array([0, 1], dtype=dtype))).tolist() == [0, 1]


def test_bytes_of_a_fixed_size() -> None:
    fixed = np.array([b"ab", b"", b"a\x00b", b"abcd"], dtype="S4")
    assert read_column(fixed).tolist() == fixed.tolist()
    assert read_column(np.array([b"", b""], dtype="S")).tolist() == [b"", b""]
    assert read_column(pa.array([b"ab", b"\x00c"], pa.binary(2))).tolist() == [b"ab", b"\x00c"]


def test_nothing_is_a_column() -> None:
    cases: list[Any] = [
        *([], (), range(0)),
        *(np.array([]).astype(int), np.array([], dtype="U3"), np.array([], dtype=object)),
        *(pa.array([], pa.string()), pa.array([]), pl.Series([])),
        *(pd.Series([], dtype=object), pd.Series([], dtype="category")),
    ]
    for nothing in cases:
        assert len(read_column(nothing)) == 0
        assert read_column(nothing).tolist() == []
        assert len(read_column(pa.chunked_array([], pa.string()))) == 0


def test_columns_too_long_for_32_bits_are_read_with_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.sketches.hashing.columns._MAX_TEXT_BYTES", 10)
    for kind, values in ((pa.string(), TEXTS), (pa.binary(), BYTES), (pa.int64(), NUMBERS)):
        chunks = pa.chunked_array([pa.array(values[:2], kind), pa.array(values[2:], kind)])
        assert read_column(chunks).tolist() == values


def test_columns_of_objects_are_read_like_lists() -> None:
    cases: list[list[Any]] = [TEXTS, NUMBERS, BYTES]
    for values in cases:
        assert read_column(pl.Series(values, dtype=pl.Object)).tolist() == values
        assert read_column(pd.Series(values, dtype=object)).tolist() == values


def test_dictionaries_of_any_strings() -> None:
    for kind in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"):
        words = TEXTS if "string" in kind else BYTES
        values = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.uint16()), pa.array(words, getattr(pa, kind)()))
        assert read_column(values).tolist() == [words[1], words[0], words[1]]


def test_a_null_inside_a_dictionary_is_one() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["sun", None]))
    assert values.null_count == 0
    with pytest.raises(InputError, match="nulls"):
        read_column(values)


def test_arrow_buffers_are_read_where_they_lie() -> None:
    array = pa.array(TEXTS)
    data = read_column(array).data
    assert data.__array_interface__["data"][0] == array.buffers()[2].address
    numbers = np.arange(5)
    column = read_column(numbers).integers
    assert column is not None
    assert np.shares_memory(column, numbers)
    assert not column.flags.writeable
    assert numbers.flags.writeable


@given(st.one_of(st.lists(integers), st.lists(texts), st.lists(st.binary())), st.data())
def test_a_slice_is_the_slice_of_the_list(values: list[Any], data: st.DataObject) -> None:
    column = read_column(values)
    start = data.draw(st.integers(-2, len(values) + 2))
    stop = data.draw(st.integers(-2, len(values) + 2))
    assert column.slice(start, stop).tolist() == values[start:stop]
    assert column.slice(start, stop).slice(0, 1).tolist() == values[start:stop][:1]


def test_what_has_no_one_reading_is_refused() -> None:
    cases: list[Any] = [
        SECRET,
        SECRET.encode(),
        7,
        7.5,
        None,
        np.int64(7),
        np.array(7),
        np.array([[7]]),
        [SECRET, 7],
        [SECRET, None],
        [SECRET, SECRET.encode()],
        [7, True],
        [7.0],
        [7, float("nan")],
        [2**63],
        ["\ud800"],
        [[7]],
        {7},
        {"a": 7},
        np.array([7.0]),
        np.array([2**63], dtype=np.uint64),
        np.array([7, None]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.ma.masked_array([7], mask=[True]),
        pa.array([SECRET, None]),
        pa.array([7, None]),
        pa.array([7.0]),
        pa.array([None]),
        pa.array([[7]]),
        pa.array([2**63], pa.uint64()),
        pd.Series([7, None]),
        pd.Series([SECRET, 7]),
        pd.Series([7.0]),
        pl.Series([7, None]),
        pl.Series([7.0]),
        pd.Series([SECRET, SECRET.encode()], dtype=object),
        pl.Series([SECRET, 7], dtype=pl.Object),
        pl.Series([object()]),
        pd.DataFrame({"a": [7]}),
        pl.LazyFrame({"a": [7]}),
        object(),
    ]
    for values in cases:
        with pytest.raises(InputError, match="visits must") as caught:
            read_column(values, name="visits")
        assert SECRET not in str(caught.value)
        assert "7" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_offsets_that_leave_the_data_are_refused() -> None:
    cases: list[list[int]] = [[], [-1, 0], [0, 4], [0, 2, 1]]
    for offsets in cases:
        with pytest.raises(InputError, match="offsets"):
            Column(offsets=np.array(offsets, dtype=np.int64), data=np.zeros(3, dtype=np.uint8))
