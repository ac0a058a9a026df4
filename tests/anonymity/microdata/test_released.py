"""A released table says nothing beside its values: no category, label or note of what was left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.anonymity import DropRecords, Roles, read_microdata
from celosia.anonymity.microdata.files import FileLabels, read_file, write_file
from celosia.anonymity.microdata.released import strip_table
from celosia.noise import Seeded

if TYPE_CHECKING:
    from pathlib import Path

JOBS = ["nurse", "nurse", "clerk", "clerk", "mayor"]
ROLES = Roles(quasi_identifiers=["age"], others=["job"])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [1, 1, 2, 2, 9], "job": pd.Categorical(JOBS)}),
        pl.DataFrame({"age": [1, 1, 2, 2, 9], "job": pl.Series(JOBS, dtype=pl.Categorical)}),
        pl.DataFrame({"age": [1, 1, 2, 2, 9], "job": pl.Series(JOBS, dtype=pl.Enum(["nurse", "mayor", "clerk"]))}),
        pa.table({"age": [1, 1, 2, 2, 9], "job": pa.array(JOBS).dictionary_encode()}),
        pa.concat_tables(
            [
                pa.table({"age": [1, 1], "job": pa.array(JOBS[:2]).dictionary_encode()}),
                pa.table({"age": [2, 2, 9], "job": pa.array(JOBS[2:]).dictionary_encode()}),
            ]
        ),
    ],
)
def test_categories_of_dropped_records_are_gone(frame: Any, tmp_path: Path) -> None:
    released = DropRecords(k=2).apply(read_microdata(frame, roles=ROLES))
    column = released.to_release(Seeded(1))["job"]
    assert sorted(column.to_pylist()) == ["clerk", "clerk", "nurse", "nurse"]
    assert sorted(column.combine_chunks().dictionary.to_pylist()) == ["clerk", "nurse"]
    path = released.write(tmp_path / "file.parquet")
    assert not re.search(b"mayor", path.read_bytes())


def test_categories_are_not_in_the_order_of_the_records() -> None:
    column = pa.array(["b", "c", None, "a"]).dictionary_encode()
    assert strip_table(pa.table({"x": column}))["x"].combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]


def test_declared_order_types_and_nulls_stay() -> None:
    places, names = pa.array([0, None, 2, 0], pa.int8()), pa.array(["low", "middle", "high"], pa.large_string())
    column = pa.DictionaryArray.from_arrays(places, names, ordered=True)
    found = strip_table(pa.table({"x": column}))["x"]
    assert found.type == column.type
    assert found.to_pylist() == ["low", None, "high", "low"]
    assert found.combine_chunks().dictionary.to_pylist() == ["low", "high"]


def test_a_column_of_nulls_alone_has_no_category() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array(["mayor"]))
    found = strip_table(pa.table({"x": column}))["x"].combine_chunks()
    assert (found.to_pylist(), found.dictionary.to_pylist()) == ([None, None], [])


def test_categories_inside_lists_and_structures_are_plain() -> None:
    inner = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["a", "mayor"]))
    field = pa.field("job", inner.type, metadata={b"note": b"the mayor"})
    lists, records = (
        pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), inner),
        pa.StructArray.from_arrays([inner], fields=[field]),
    )
    large = pa.LargeListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int64()), inner)
    table = pa.table({"list": lists, "large": large, "record": records}).take(pa.array([2, 0]))
    found = strip_table(table)
    assert found.to_pylist() == table.to_pylist()
    kinds = [found.schema.field(name).type for name in ("list", "large", "record")]
    assert [kind.value_type for kind in kinds[:2]] == [pa.string()] * 2
    assert kinds[2].field("job").type == pa.string()
    assert kinds[2].field("job").metadata is None


def test_metadata_of_fields_is_gone() -> None:
    fields = [pa.field("age", pa.int64(), metadata={b"note": b"99 is the mayor"}), pa.field("job", pa.string())]
    table = pa.table([pa.array([1]), pa.array(["x"])], schema=pa.schema(fields, metadata={b"author": b"Ana"}))
    schema = read_microdata(table, roles=ROLES).to_release().schema
    assert schema.metadata is None
    assert all(field.metadata is None for field in schema)


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labels_of_values_that_nobody_has_are_not_written(ending: str, tmp_path: Path) -> None:
    labels = FileLabels(value_labels={"job": {1: "nurse", 9: "mayor"}, "sex": {"f": "woman", "x": "other"}})
    path = write_file(pa.table({"job": [1, 1], "sex": ["f", "f"]}), tmp_path / f"file.{ending}", labels)
    assert read_file(path)[1].value_labels["job"] == {1: "nurse"}
    assert b"mayor" not in path.read_bytes()
    assert all("x" not in found for found in read_file(path)[1].value_labels.values())
