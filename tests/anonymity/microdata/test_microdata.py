"""Roles are declared, what is released has neither identifiers nor an order, and bad tables are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from celosia.anonymity import Categories, DropRecords, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = {
    "name": ["Ana", "Luis", "Eva", "Juan"],
    "age": [30, 41, 30, None],
    "illness": ["flu", "asthma", "flu", "none"],
    "weight": [1.0, 2.0, 2.5, 4.0],
    "home": [70, 70, 90, 80],
    "region": ["N", "S", "N", "S"],
}
ROLES = Roles(
    identifiers=["name"],
    quasi_identifiers=["age"],
    sensitive=["illness"],
    weight="weight",
    household="home",
    stratum="region",
)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_comes_back_in_its_library_without_identifiers(library: Callable[[Any], Any]) -> None:
    frame = library(COLUMNS)
    out = read_microdata(frame, roles=ROLES).to_frame(Seeded(1))
    assert type(out) is type(frame)
    assert list(getattr(out, "column_names", out.columns)) == ["age", "illness", "weight", "home", "region"]
    if library is pd.DataFrame:
        assert list(out.index) == [0, 1, 2, 3]  # not the numbers that the records had


def test_order_and_household_numbers_are_drawn_by_lot() -> None:
    table = pa.table({"age": list(range(200)), "home": [place // 2 * 7 for place in range(200)]})
    data = read_microdata(table, roles=Roles(quasi_identifiers=["age"], household="home"))
    once, again, other = (data.to_release(Seeded(seed)) for seed in (1, 1, 2))
    assert once.equals(again)
    assert not once.equals(other)
    assert sorted(once["age"].to_pylist()) == list(range(200))
    assert once["age"].to_pylist() != list(range(200))
    homes = once["home"].to_pylist()
    assert sorted(homes) == sorted([*range(1, 101)] * 2)
    pairs = dict(zip(once["age"].to_pylist(), homes, strict=True))
    assert all(pairs[place] == pairs[place + 1] for place in range(0, 200, 2))
    assert [pairs[place] for place in range(0, 200, 2)] != list(range(1, 101))


def test_metadata_of_a_file_is_not_released() -> None:
    table = pa.table({"age": [1]}).replace_schema_metadata({"author": "somebody"})
    assert read_microdata(table, roles=Roles(quasi_identifiers=["age"])).to_release().schema.metadata is None


def test_rows_and_spreads_follow_the_records() -> None:
    data = read_microdata(pa.table(COLUMNS), roles=ROLES, hierarchies={"age": Categories({"30": "x", "41": "x"})})
    changed = data.replace_columns({"age": pa.array(["a", "b", "c", "d"])}, spreads={"age": np.arange(4) / 4})
    kept = changed.keep_rows(np.array([False, True, False, True]))
    assert kept.rows.tolist() == [1, 3]
    assert kept.spreads["age"].tolist() == [0.25, 0.75]
    assert kept.get_column("age").to_pylist() == ["b", "d"]
    assert data.get_column("age").to_pylist() == [30, 41, 30, None]
    assert kept.keep_rows(np.array([1])).rows.tolist() == [3]
    assert np.array_equal(data.get_numbers("age"), [30, 41, 30, np.nan], equal_nan=True)
    assert (data.weights.tolist(), data.strata.tolist(), data.households.tolist()) == (
        [1, 2, 2.5, 4],
        [0, 1, 0, 1],
        [0, 0, 2, 1],
    )


def test_without_columns_for_them_all_weigh_the_same_and_live_alone() -> None:
    data = read_microdata(pa.table({"age": [1, 2]}), roles=Roles(quasi_identifiers=["age"]))
    assert (data.weights.tolist(), data.strata.tolist(), data.households.tolist()) == ([1, 1], [0, 0], [0, 1])


def test_bad_declarations_and_tables_are_refused() -> None:
    table, one = pa.table(COLUMNS), pa.table({"age": [1, 2]})
    quasi = Roles(quasi_identifiers=["age"])
    cases: dict[str, list[Callable[[], object]]] = {
        "anonymity.column_with_two_roles": [lambda: Roles(quasi_identifiers=["a"], sensitive=["a"])],
        "anonymity.names_not_a_list": [lambda: Roles(sensitive="age")],
        "anonymity.unknown_null_meaning": [lambda: Roles(nulls="any")],  # type: ignore[arg-type]
        "anonymity.column_without_role": [lambda: read_microdata(table, roles=quasi)],
        "anonymity.unknown_column": [
            lambda: read_microdata(one, roles=Roles(quasi_identifiers=["age", "sex"])),
            lambda: read_microdata(one, roles=quasi, hierarchies={"sex": Categories({"1": "x"})}),
            lambda: read_microdata(one, roles=quasi).get_column("sex"),
        ],
        "anonymity.no_records": [lambda: read_microdata(one.slice(0, 0), roles=quasi)],
        "anonymity.no_quasi_identifier": [
            lambda: read_microdata(one, roles=Roles(others=["age"])).encode_quasi_identifiers(),
        ],
        "anonymity.weight_not_positive": [
            lambda value=value: read_microdata(  # type: ignore[misc]
                pa.table({"age": [1, 2], "w": [1.0, value]}), roles=Roles(quasi_identifiers=["age"], weight="w")
            )
            for value in (0.0, -1.0, None, float("nan"), float("inf"))
        ],
        "anonymity.column_not_numeric": [
            lambda: read_microdata(table, roles=ROLES).get_numbers("illness"),
            lambda: read_microdata(
                pa.table({"age": [1], "w": ["1"]}), roles=Roles(quasi_identifiers=["age"], weight="w")
            ),
        ],
        "anonymity.column_repeated": [
            lambda: read_microdata(pa.Table.from_arrays([pa.array([1])] * 2, ["age", "age"]), roles=quasi),
        ],
    }
    for code, acts in cases.items():
        for act in acts:
            with pytest.raises(CelosiaError) as caught:
                act()
            assert caught.value.code == code


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_dropped_records_are_not_released(*, ordered: bool, tmp_path: Path) -> None:
    jobs = pd.Categorical(
        ["cook", "astronaut", "nurse", "cook", None, "nurse", None],
        categories=["nurse", "astronaut", "cook"],
        ordered=ordered,
    )
    frame = pd.DataFrame({"job": jobs})
    data = DropRecords(k=2).apply(read_microdata(frame, roles=Roles(quasi_identifiers=["job"])))
    out = data.to_frame()
    assert sorted(map(str, out["job"])) == ["cook", "cook", "nan", "nan", "nurse", "nurse"]
    assert list(out["job"].cat.categories) == (["nurse", "cook"] if ordered else ["cook", "nurse"])
    assert out["job"].cat.ordered == ordered
    assert b"astronaut" not in data.write(tmp_path / "out.parquet").read_bytes()


def test_a_dictionary_in_pieces_or_of_nulls_is_released_whole() -> None:
    pieces = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", None]).dictionary_encode()])
    nulls = pa.DictionaryArray.from_arrays(pa.array([None] * 4, pa.int8()), pa.array(["secret"]))
    table = pa.table(
        {"letter": pieces, "nothing": nulls, "none": pa.array([None] * 4, pa.string()).dictionary_encode()}
    )
    out = read_microdata(table, roles=Roles(quasi_identifiers=table.column_names)).to_release()
    assert sorted(out["letter"].to_pylist(), key=str) == [None, "a", "b", "c"]
    assert out["nothing"].to_pylist() == [None] * 4
    assert out["nothing"].chunk(0).dictionary.to_pylist() == []


def test_categories_that_cannot_be_sorted_are_named() -> None:
    frame = pd.DataFrame({"age": pd.cut([1, 2, 3], 2)})
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"]))
    with pytest.raises(CelosiaError, match="'age'"):
        data.encode_quasi_identifiers()


def test_column_names_are_different_texts() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(CelosiaError, match="two columns 'age'"):
        read_microdata(twice, roles=Roles(quasi_identifiers=["age"]))
    with pytest.raises(CelosiaError, match="name 1 is not text"):
        read_microdata(pd.DataFrame({1: [1]}), roles=Roles(quasi_identifiers=["1"]))
