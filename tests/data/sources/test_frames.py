"""Frames in and out; odd values never change how others are read, and are never quoted."""

from __future__ import annotations

import datetime as dt
import decimal
import sys
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.core import InputError
from celosia.core.errors import MissingExtraError
from celosia.data.schema.columns import Boolean, Date, Text
from celosia.data.sources.frames import to_arrow, to_pandas, to_polars
from celosia.data.sources.strings import UNREADABLE

ROWS: dict[str, list[Any]] = {"age": [34, None, 71], "sex": ["F", None, "M"]}


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(ROWS),
        pa.table(ROWS).to_batches()[0],
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
        pd.DataFrame(ROWS).astype({"age": "Int64"}),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_every_library_gives_the_same_table(frame: object) -> None:
    assert to_arrow(frame).to_pydict() == ROWS
    assert to_arrow(frame, ["sex"]).to_pydict() == {"sex": ROWS["sex"]}


def test_a_relation_of_duckdb_is_read() -> None:
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 34 AS age, 'F' AS sex")
        assert to_arrow(relation, ["sex"]).to_pydict() == {"sex": ["F"]}
        assert to_arrow(relation).to_pydict() == {"age": [34], "sex": ["F"]}  # more than once


def test_pandas_columns_of_objects_of_no_kind_are_always_texts() -> None:
    values: list[list[Any]] = [
        [1, 2, 3],
        [1, "two", None],
        [1.5, float("nan"), "x"],
        [True, None, 7],
        [dt.date(2021, 1, 2), "x", None],
        [decimal.Decimal("1.50"), b"x", object],
        ["\ud800", "ok", None],
        [2**70, -1, None],
    ]
    for column in values:
        table = to_arrow(pd.DataFrame({"x": pd.Series(column, dtype=object)}), kinds={})
        assert table.schema.field("x").type == pa.string()
        texts = table.column("x").to_pylist()
        for value, text in zip(column, texts, strict=True):
            missing = value is None or value != value  # noqa: PLR0124 - NaN
            expected = UNREADABLE if value == "\ud800" else str(value)
            assert text is None if missing else text == expected


def test_the_schema_says_what_objects_are() -> None:
    frame = pd.DataFrame(
        {
            "who": pd.Series([1, 2], dtype=object),
            "b": pd.Series([True, None], dtype=object),
            "d": pd.Series([dt.date(2021, 1, 2), None], dtype=object),
            "t": pd.Series(["\ud800", "x"], dtype=object),
        }
    )
    kinds = {"b": Boolean(), "d": Date("2000-01-01", "2030-01-01"), "t": Text()}
    table = to_arrow(frame, kinds=kinds, person="who")
    assert [str(type_) for type_ in table.schema.types] == ["int64", "bool", "date32[day]", "string"]
    assert table.column("t").to_pylist() == [UNREADABLE, "x"]
    with pytest.raises(InputError, match="person column 'who'"):
        to_arrow(frame.assign(who=pd.Series([1, True], dtype=object)), kinds=kinds, person="who")


def test_strings_that_python_keeps_for_pandas() -> None:
    column = pd.Series(["a", None, "b"], dtype=pd.StringDtype("python"))
    assert to_arrow(pd.DataFrame({"s": column}), kinds={}).column("s").to_pylist() == ["a", None, "b"]


@pytest.mark.parametrize("frame", [pl.DataFrame({"s": ["a", "b"]}), pa.table({"s": ["a", "b"]})])
def test_no_column_has_views(frame: Any) -> None:
    class Streamed:
        """Speaks Arrow's protocol, and sends views as Polars does."""

        column_names = ("s",)

        def __arrow_c_stream__(self, requested: object = None) -> object:
            table = pa.table(frame)
            views = table.set_column(0, "s", table.column(0).cast(pa.string_view()))
            return views.__arrow_c_stream__(requested)

    table = to_arrow(Streamed())
    assert table.schema.field("s").type == pa.large_string()
    assert table.column("s").to_pylist() == ["a", "b"]


def test_other_pandas_columns_keep_their_types() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.Series([1, 2], dtype="int8"),
            "real": [1.5, float("nan")],
            "when": pd.to_datetime(pd.Series(["2021-01-01", None])),
            "kind": pd.Categorical(["a", None]),
            "odd": pd.Series([1, "x"], dtype=object).astype("category"),
            "flag": pd.array([True, None], dtype="boolean"),
        }
    )
    table = to_arrow(frame)
    assert table.schema.field("whole").type == pa.int8()
    assert table.column("real").to_pylist() == [1.5, None]
    assert pa.types.is_timestamp(table.schema.field("when").type)
    assert table.column("kind").to_pylist() == ["a", None]
    assert table.column("odd").to_pylist() == ["1", "x"]
    assert table.column("flag").to_pylist() == [True, None]


def test_only_the_columns_that_are_asked_for_must_be_readable() -> None:
    frame = pd.DataFrame({"age": [34], "wave": [1 + 2j]})
    assert to_arrow(frame, ["age"]).to_pydict() == {"age": [34]}
    with pytest.raises(InputError, match="pandas DataFrame could not be read"):
        to_arrow(frame)


def test_a_library_s_errors_are_not_passed_on() -> None:
    cases: list[object] = [
        pl.LazyFrame({"x": ["Eulalia"]}).with_columns(pl.col("x").cast(pl.Int64)),
        "Eulalia",
    ]
    for frame in cases:
        with pytest.raises(InputError, match="could not be read") as caught:
            to_arrow(frame)
        assert "Eulalia" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_frames_out() -> None:
    table = pa.table({"age": [34, 71], "sex": ["F", "M"]})
    assert to_pandas(table).to_dict("list") == table.to_pydict()
    assert to_polars(table).to_dict(as_series=False) == table.to_pydict()


@pytest.mark.parametrize(("library", "convert"), [("pandas", to_pandas), ("polars", to_polars)])
def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, library: str, convert: Any) -> None:
    import importlib

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.delitem(sys.modules, library, raising=False)
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"{library}.*celosia\[frames\]"):
        convert(pa.table({"age": [34]}))
