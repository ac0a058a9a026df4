"""Columns as codes of their sorted values."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.coding import encode, encode_columns
from celosia.core.errors import SchemaError


@given(st.lists(st.one_of(st.none(), st.text(max_size=2))))
def test_codes_round_trip_and_follow_the_order_of_values(given_values: list[str | None]) -> None:
    coded = encode(pa.array(given_values, pa.string()), name="c")
    assert coded.decode().to_pylist() == given_values
    known = sorted({value for value in given_values if value is not None}, key=lambda text: text.encode())
    assert coded.labels.to_pylist() == known
    assert coded.has_nulls == (None in given_values)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, None, False]),
        pa.array([2.5, 1.5, None]),
        pa.array([date(2020, 1, 1), None]),
        pa.array(["b", "a"]).dictionary_encode(),
        pa.chunked_array([["b"], ["a"]]),
        pa.array([None, None]),
        pa.chunked_array([], pa.string()),
    ],
)
def test_every_type_that_can_be_sorted_is_encoded(column: Any) -> None:
    assert encode(column, name="c").decode().to_pylist() == column.to_pylist()


def test_nan_is_a_null_and_zero_has_no_sign() -> None:
    coded = encode(pa.array([float("nan"), -0.0, 0.0]), name="c")
    assert coded.codes.tolist() == [-1, 0, 0]
    assert encode_columns(pa.table({"a": [1.0, float("nan")]}), ["a"])[0].codes.tolist() == [0, -1]


def test_lists_are_refused_by_name() -> None:
    with pytest.raises(SchemaError, match="'basket'"):
        encode(pa.array([[1], [2]]), name="basket")
