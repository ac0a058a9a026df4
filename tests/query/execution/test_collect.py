"""Results of an engine as exact integers; Python's Decimal is the oracle."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.execution.row_level import Sums, decode_labels, encode_labels, find_codes, to_integers

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 10**38 - 1
EDGES = [0, 1, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 10**36, -(10**36)]
WIDE = pa.decimal128(38, 0)

narrow = st.integers(-(2**63), 2**63 - 1)
wide = st.one_of(st.integers(-LARGEST, LARGEST), st.sampled_from([*EDGES, LARGEST, -LARGEST]))

# A cell gets one value of each column; here it gets twenty, and those that come as 64 bits must not leave them.
addable = wide.map(lambda value: value if not -(2**63) <= value < 2**63 else value >> 5)


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(st.none(), values), max_size=12)


def python_integers(column: pa.Array) -> list[int]:
    return [0 if value is None else int(value) for value in column.to_pylist()]


# -------------------------------------------------------------------------------------------------------- integers


@given(values=nullable(narrow), data=st.data())
def test_decimals_that_fit_come_as_64_bits(values: list[int | None], data: st.DataObject) -> None:
    column = pa.array([None if value is None else Decimal(value) for value in values], WIDE)
    column = sliced(column, data)
    found = to_integers(column)
    assert found.dtype == np.int64
    assert found.tolist() == python_integers(column)


@given(values=nullable(wide), data=st.data())
def test_decimals_beyond_64_bits_come_as_pythons(values: list[int | None], data: st.DataObject) -> None:
    column = sliced(pa.array([None if value is None else Decimal(value) for value in values], WIDE), data)
    found, wanted = to_integers(column), python_integers(column)
    assert found.tolist() == wanted
    assert (found.dtype == object) == any(not -(2**63) <= value < 2**63 for value in wanted)


@given(
    values=nullable(st.integers(-(10**18), 10**18)),
    kind=st.sampled_from(
        [WIDE, pa.decimal128(30, 0), pa.decimal128(38, 4), pa.decimal256(60, 0), pa.decimal256(60, 9)]
    ),
    data=st.data(),
)
def test_any_width_and_scale_of_decimals_will_do(values: list[int | None], kind: Any, data: st.DataObject) -> None:
    column = sliced(pa.array([None if value is None else Decimal(value) for value in values], kind), data)
    assert to_integers(column).tolist() == python_integers(column)


@given(
    values=nullable(st.integers(-128, 127)), kind=st.sampled_from([pa.int8(), pa.int32(), pa.int64()]), data=st.data()
)
def test_integers_stay_as_they_are(values: list[int | None], kind: Any, data: st.DataObject) -> None:
    column = sliced(pa.array(values, kind), data)
    found = to_integers(column)
    assert found.dtype == np.int64
    assert found.tolist() == python_integers(column)


def sliced(column: pa.Array, data: st.DataObject) -> pa.Array:
    """A part of a column, as batches have: its buffers begin before it does."""
    first = data.draw(st.integers(0, len(column)))
    return column.slice(first, data.draw(st.integers(0, len(column) - first)))


def test_words_put_together_wrongly_are_noticed() -> None:
    """Only the whole lower word is right: what leaves its upper bit out is another number from 2^63 on."""
    mask_cases: list[int] = [2**64 - 1, 2**63 - 1]
    for value in EDGES:
        for mask in mask_cases:
            low, high = value % 2**64, value // 2**64
            (found,) = to_integers(pa.array([Decimal(value)], WIDE)).tolist()
            assert (found == (high << 64) + (low & mask)) == (mask == 2**64 - 1 or low < 2**63)


def test_a_part_of_a_decimal_is_never_dropped_in_silence() -> None:
    with pytest.raises(pa.ArrowInvalid):
        to_integers(pa.array([Decimal("0.5")], pa.decimal128(10, 1)))


# ------------------------------------------------------------------------------------------------------------ sums


@given(
    rows=st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2), addable), max_size=20),
    cuts=st.sets(st.integers(1, 19)),
)
def test_sums_are_those_of_a_dictionary(rows: list[tuple[int, int, int]], cuts: set[int]) -> None:
    sums = Sums(4, 3)
    wanted: dict[tuple[int, int], int] = {}
    for batch in np.array_split(np.array(rows, dtype=object).reshape(-1, 3), sorted(cuts)):
        values = to_integers(pa.array([Decimal(int(value)) for value in batch[:, 2]], WIDE))
        sums.add(batch[:, 0].astype(np.int64), batch[:, 1].astype(np.int64), values)
    for cell, column, value in rows:
        if cell >= 0 and column >= 0:
            wanted[cell, column] = wanted.get((cell, column), 0) + value
    assert sums.array.tolist() == [[wanted.get((cell, column), 0) for column in range(3)] for cell in range(4)]


@given(rows=st.lists(st.tuples(st.integers(-1, 3), narrow), max_size=20), column=st.integers(0, 1))
def test_one_column_takes_all(rows: list[tuple[int, int]], column: int) -> None:
    sums = Sums(4, 2)
    places = np.array([place for place, _ in rows], dtype=np.int64)
    sums.add(places, column, np.array([value >> 5 for _, value in rows], dtype=np.int64))
    assert sums.array[:, 1 - column].tolist() == [0] * 4
    assert sums.array[:, column].tolist() == [
        sum(value >> 5 for place, value in rows if place == cell) for cell in range(4)
    ]
    assert sums.array.dtype == np.int64


def test_without_cells_there_is_nothing_to_add_to() -> None:
    sums = Sums(0, 2)
    sums.add(np.array([-1], dtype=np.int64), 0, np.array([5]))
    assert sums.array.shape == (0, 2)


# ---------------------------------------------------------------------------------------------------------- labels

KINDS: list[tuple[Kind, Sequence[Any], Sequence[Any]]] = [
    (Integer(-3, 3), [-3, 0, 3], [-3, 0, 3]),
    (Boolean(), [False, True], [0, 1]),
    (Category("F", "M"), ["F", "M"], ["F", "M"]),
    (Category(10, 20), [10, 20], [10, 20]),
    (Text(), ["x", ""], ["x", ""]),
    (Date("1969-12-01", "1970-12-31"), [dt.date(1969, 12, 31), dt.date(1970, 2, 1)], [-1, 31]),
    (Timestamp("1969-12-01", "1970-12-31"), [dt.datetime(1970, 1, 1, 0, 1, tzinfo=dt.UTC)], [60]),
    (Real(0, 1, grid="0.25"), [Fraction(3, 4), Fraction(1)], [3, 4]),
]


def test_labels_are_texts_or_whole_numbers() -> None:
    for kind, values, wanted in KINDS:
        found = encode_labels(values, kind)
        assert found.type == (pa.string() if isinstance(wanted[0], str) else pa.int64())
        assert found.to_pylist() == list(wanted)
        assert encode_labels([], kind).type == found.type, "whatever the list holds"


def test_labels_can_be_read_back() -> None:
    for kind, values, wanted in KINDS:
        found = decode_labels(encode_labels(values, kind), kind).to_pylist()
        assert found == list(values)
        assert decode_labels(pa.nulls(2, encode_labels(values, kind).type), kind).null_count == 2
        assert wanted


@given(
    known=st.lists(st.text(max_size=2), max_size=8, unique=True),
    column=nullable(st.text(max_size=2)),
    dictionary=st.booleans(),
)
def test_codes_of_texts_are_places_in_the_list(known: list[str], column: list[str | None], *, dictionary: bool) -> None:
    array = pa.array(column, pa.string())
    found = find_codes(array.dictionary_encode() if dictionary else array, pa.array(known, pa.string()))
    assert found.dtype == np.int64
    assert found.tolist() == [known.index(value) if value in known else -1 for value in column]


@given(known=st.lists(narrow, max_size=8, unique=True), column=nullable(narrow), data=st.data())
def test_codes_of_numbers_are_places_in_the_list(
    known: list[int], column: list[int | None], data: st.DataObject
) -> None:
    column = [*column, *data.draw(st.lists(st.sampled_from(known)) if known else st.just([]))]
    found = find_codes(pa.array(column, pa.int64()), pa.array(known, pa.int64()))
    assert found.tolist() == [known.index(value) if value in known else -1 for value in column]
