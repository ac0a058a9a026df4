"""Strings of any bytes and any layout become UTF-8 that every kernel reads; those in order are not copied."""

from __future__ import annotations

import pyarrow as pa
import pytest

from celosia.data.sources.strings import (
    UNREADABLE,
    cast_views,
    decode_dictionary,
    has_valid_strings,
    is_string,
    replace_invalid,
    sanitize_strings,
)

RAW = [b"F", None, b"\xff", "é".encode(), b"", b"x" * 20 + b"\xed\xa0\x80"]
CLEAN = ["F", None, UNREADABLE, "é", "", UNREADABLE]
PERSONS = ["F", None, None, "é", "", None]
LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string_view())]


def strings(type_: pa.DataType) -> pa.Array:
    """Strings that are not all UTF-8, in a layout."""
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(pa.array([0, None, 2, 3, 4, 5], pa.int8()), strings(type_.value_type))
    if pa.types.is_string_view(type_):
        return pa.array(RAW).cast(pa.binary_view()).view(type_)
    raw = pa.array(RAW, pa.large_binary() if type_ == pa.large_string() else pa.binary())
    return raw.view(type_)


@pytest.mark.parametrize("type_", LAYOUTS, ids=str)
def test_strings_that_are_not_utf_8_become_one(type_: pa.DataType) -> None:
    table = pa.table({"s": pa.chunked_array([strings(type_)]).slice(0)})
    assert sanitize_strings(table).column("s").to_pylist() == CLEAN
    assert sanitize_strings(table, person="s").column("s").to_pylist() == PERSONS
    part = sanitize_strings(table.slice(2, 2))
    assert part.column("s").to_pylist() == CLEAN[2:4]


@pytest.mark.parametrize("type_", [pa.string_view(), pa.binary_view(), pa.dictionary(pa.int8(), pa.string_view())])
def test_views_get_offsets(type_: pa.DataType) -> None:
    value = type_.value_type if pa.types.is_dictionary(type_) else type_
    plain = pa.array(["x" * 20, None, "F"]).cast(value)
    array = pa.DictionaryArray.from_arrays([0, 1, 2], plain) if pa.types.is_dictionary(type_) else plain
    column = cast_views(pa.table({"s": array})).column("s")
    assert "view" not in str(column.type)
    texts = [value.decode() if isinstance(value, bytes) else value for value in column.to_pylist()]
    assert texts == ["x" * 20, None, "F"]


def test_what_is_in_order_is_not_copied() -> None:
    table = pa.table({"s": ["a", "é", None], "n": [1, 2, 3]})
    assert cast_views(table) is table
    assert sanitize_strings(table) is table


def test_parts() -> None:
    column = pa.chunked_array([strings(pa.string())])
    assert not has_valid_strings(column)
    assert has_valid_strings(column.slice(0, 2))
    assert replace_invalid(column, person=False).to_pylist() == CLEAN
    encoded = pa.chunked_array([pa.array(["a", "a"]).dictionary_encode()])
    assert decode_dictionary(encoded).type == pa.string()
    assert [is_string(type_) for type_ in (pa.string_view(), pa.binary(), pa.int8())] == [True, True, False]
