"""Public tables: read whole, kinds from their rows, every key once."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import SchemaError
from celosia.data.public import check_key, infer_public_schema, read_public
from celosia.data.schema.columns import MAX_KEYS, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import SparkSource, classify

if TYPE_CHECKING:
    from pathlib import Path

CODES = pa.table({"code": ["A", "B", "C"], "beds": [10, 250, None]})


@pytest.mark.parametrize(
    "source",
    [CODES, CODES.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow(CODES), ibis.memtable(CODES)],
    ids=lambda source: type(source).__name__,
)
def test_every_source_gives_the_same_rows(source: object) -> None:
    assert read_public(classify(source)).to_pydict() == CODES.to_pydict()


def test_a_spark_frame_of_either_generation() -> None:
    class New:
        def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
            return CODES

    class Old:
        def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
            frame: pd.DataFrame = CODES.to_pandas(types_mapper=pd.ArrowDtype)
            return frame

    for frame in (New(), Old()):
        assert read_public(SparkSource(frame)).to_pydict() == CODES.to_pydict()


def test_files_are_put_together(tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(CODES.slice(number, 1), tmp_path / f"{number}.parquet")
        (tmp_path / f"{number}.csv").write_text(f"code;beds\n00{number};{number}\n", encoding="utf-8")
    assert read_public(classify(tmp_path / "*.parquet")).to_pydict() == CODES.to_pydict()
    rows = classify(tmp_path / "*.csv")
    assert read_public(rows).to_pydict() == {"code": [0, 1, 2], "beds": [0, 1, 2]}
    for kind in (Text(), Category("000", "001", "002")):
        assert read_public(rows, {"code": kind}).column("code").to_pylist() == ["000", "001", "002"]
    assert read_public(rows, {"code": Category(0, 1, 2)}).column("code").to_pylist() == [0, 1, 2]


def test_a_ragged_csv_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("code,beds\nA,1,2\n", encoding="utf-8")
    with pytest.raises(SchemaError, match="as many values as the first"):
        read_public(classify(tmp_path / "a.csv"))


# ---- kinds


def test_kinds_have_the_bounds_of_the_rows() -> None:
    cases: list[tuple[pa.Array, Kind | None]] = [
        (pa.array([3, None, -2], pa.int8()), Integer(-2, 3)),
        (pa.array([1.5, None, float("nan"), float("inf"), -0.25]), Real(-0.25, 1.5)),
        (pa.array([2.0, 2.0]), Real(2, 3)),
        (pa.array(["1.50", "2.25"]).cast(pa.decimal128(5, 2)), Real("1.5", "2.25")),
        (pa.array([True, None]), Boolean()),
        (pa.array(["b", None, "a", "b"]), Category("a", "b")),
        (pa.array(["b", None, "a"]).dictionary_encode(), Category("a", "b")),
        (pa.array(["drop", "keep"]), Text()),
        (pa.array([dt.date(2021, 1, 2), dt.date(1950, 3, 4)]), Date("1950-03-04", "2021-01-02")),
        (
            pa.array([dt.datetime(1960, 1, 2, 3, 4, 5, 600_000), dt.datetime(2021, 1, 2)], pa.timestamp("us")),  # noqa: DTZ001 - without a zone
            Timestamp("1960-01-02 03:04:05", "2021-01-02"),
        ),
        (
            pa.array([0, 10**18 + 1], pa.timestamp("ns", tz="America/Mexico_City")),
            Timestamp("1970-01-01", "2001-09-09 01:46:40"),
        ),
        (pa.array([None, None], pa.int64()), None),
        (pa.array([float("nan")]), None),
        (pa.array([b"x"]), None),
    ]
    for values, kind in cases:
        table = pa.table({"x": values, "y": pa.array([True] * len(values))})
        assert infer_public_schema(table) == Schema({**({} if kind is None else {"x": kind}), "y": Boolean()})


def test_many_texts_are_no_categories() -> None:
    words = pa.array(range(MAX_KEYS + 1)).cast(pa.string())
    assert infer_public_schema(pa.table({"x": words})) == Schema(x=Text())
    assert isinstance(infer_public_schema(pa.table({"x": words.slice(1)}))["x"], Category)


def test_what_fits_into_no_kind_has_to_be_declared() -> None:
    cases: list[pa.Array] = [pa.array([1e300, 0.0]), pa.array([2**64 - 1], pa.uint64())]
    for values in cases:
        with pytest.raises(SchemaError, match="public column 'x' needs a kind in schema="):
            infer_public_schema(pa.table({"x": values}))


@given(st.lists(st.none() | st.floats(-1e25, 1e25), min_size=1))
def test_every_real_is_within_its_kind(values: list[float | None]) -> None:
    kind = infer_public_schema(pa.table({"x": pa.array([*values, 0.5], pa.float64())}))["x"]
    assert isinstance(kind, Real)
    assert all(kind.low <= value <= kind.high for value in values if value is not None)
    largest = max(abs(value) for value in [*values, 0.5] if value is not None)
    assert kind.high - kind.low <= max(value or 0 for value in [*values, 0.5]) - min(
        value or 0 for value in [*values, 0.5]
    ) + max(1, largest * 2**-38)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-30, 1.0, -1e25, 0.1])
def test_one_real_alone_has_some_room(value: float) -> None:
    kind = infer_public_schema(pa.table({"x": [value]}))["x"]
    assert isinstance(kind, Real)
    assert kind.low <= value < kind.high


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_whole_numbers_have_their_own_bounds(values: list[int]) -> None:
    assert infer_public_schema(pa.table({"x": values}))["x"] == Integer(min(values), max(values))


# ---- keys


def test_a_key_is_there_once() -> None:
    check_key(CODES, ("code",), Schema(code=Text()))
    both = pa.table({"year": [2020, 2021, 2020], "code": ["A", "A", "B"]})
    schema = Schema(year=Integer(2000, 2030), code=Category("A", "B"))
    check_key(both, ("year", "code"), schema)
    for key in (("year",), ("code",)):
        with pytest.raises(SchemaError, match="has a key twice"):
            check_key(both, key, schema)


def test_rows_without_a_key_match_nothing() -> None:
    check_key(pa.table({"code": ["A", None, None]}), ("code",), Schema(code=Text()))
    check_key(pa.table({"code": pa.array([None, None], pa.int64())}), ("code",), Schema(code=Integer(0, 1)))


def test_a_key_that_cleaning_would_change_is_refused() -> None:
    cases: list[tuple[list[Any], Kind, str]] = [
        ([1, 11, 12], Integer(0, 10), "outside"),
        ([dt.date(2021, 1, 1), dt.date(2031, 1, 1)], Date("2021-01-01", "2021-12-31"), "outside"),
        (["1", "2"], Integer(0, 10), "holds string"),
        ([1.0, 2.0], Integer(0, 10), "holds double"),
        ([1.5, 2.5], Real(0, 10), "must be an Integer"),
        ([dt.datetime(2021, 1, 1)], Timestamp("2021-01-01", "2022-01-01"), "must be an Integer"),  # noqa: DTZ001 - without a zone
        (["A", "B"], Text(null="B"), 'null rule "drop"'),
    ]
    for values, kind, message in cases:
        with pytest.raises(SchemaError, match=message):
            check_key(pa.table({"k": values}), ("k",), Schema(k=kind))


def test_keys_that_every_engine_holds_equal_are_refused_when_the_table_is_made() -> None:
    cases: list[Any] = [
        pa.array([b"A", b"\xfe", b"\xff"]).view(pa.string()),
        pa.array([b"A", b"\xfe", b"\xff"]).cast(pa.binary_view()).view(pa.string_view()),
        pa.array([0, 1, 86_399_999], pa.date64()),
        pd.Series(["A", "\ud800", "\ud801"], dtype=object),
    ]
    for values in cases:
        rows = pd.DataFrame({"k": values}) if isinstance(values, pd.Series) else pa.table({"k": values})
        with pytest.raises(SchemaError, match="key twice"):
            cl.table(rows, name="book", public=True, key="k")


@pytest.mark.parametrize("type_", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string_view())])
def test_strings_of_any_layout_are_keys(type_: pa.DataType) -> None:
    view = type_.value_type if pa.types.is_dictionary(type_) else type_
    values = pa.array(["A", "B"]).cast(view)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values) if view is not type_ else values
    book = cl.table(pa.table({"k": column}), name="book", public=True, key="k")
    assert book.schema == Schema(k=Category("A", "B"))


def test_objects_of_public_frames_are_what_they_hold() -> None:
    rows = pd.DataFrame(
        {
            "day": pd.Series([dt.date(2021, 1, 2), dt.date(2021, 1, 3)], dtype=object),
            "open": pd.Series([True, None], dtype=object),
        }
    )
    assert infer_public_schema(read_public(classify(rows))) == Schema(
        day=Date("2021-01-02", "2021-01-03"), open=Boolean()
    )
