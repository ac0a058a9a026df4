"""What ``celosia collect`` reads: parameters with their protocols' names, files, and what a simulation may look up."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celosia.cli.collect.options import Parameters, SimulatedData, complete_options, read_values
from celosia.core.errors import ParameterError
from celosia.local.catalogue import build, find

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "domain"),
    [("26", 26), ("a,b", ("a", "b")), ("1, 2,-3", (1, 2, -3)), ("1,b", ("1", "b"))],
)
def test_domains(text: str, domain: object) -> None:
    assert Parameters(domain=text).to_options() == {"domain": domain}


def test_parameters_have_the_names_of_protocols() -> None:
    given = Parameters(width="64", hash_seed=3, fragment_hashes=5).to_options()
    assert given == {"width": 64, "seed": 3, "fragment_hashes": 5}
    assert Parameters().to_options() == {}
    with pytest.raises(ParameterError, match="domain"):
        Parameters(domain="abc").to_options()


def test_seeds() -> None:
    assert SimulatedData(data="x").source() is None
    source = SimulatedData(data="x", seed=7).source()
    assert source is not None
    assert source.seeded


def test_files_of_both_formats(tmp_path: Path) -> None:
    table = pa.table({"v": [3, 1, 3], "day": [dt.date(2024, 1, 2)] * 3, "name": pa.array(["a", "b", "a"])})
    pq.write_table(table, tmp_path / "values.parquet")
    (tmp_path / "values.csv").write_text("v;name\n3;a\n1;b\n3;a\n", encoding="utf-8")
    for file in ("values.parquet", "values.csv"):
        assert read_values(str(tmp_path / file), "v").to_pylist() == [3, 1, 3]
        assert read_values(str(tmp_path / file), "name").to_pylist() == ["a", "b", "a"]
    assert read_values(str(tmp_path / "values.parquet"), "day").to_pylist() == ["2024-01-02"] * 3
    encoded = pa.table({"value": pa.array(["a", "b"]).dictionary_encode(), "other": [1, 2]})
    pq.write_table(encoded, tmp_path / "encoded.parquet")
    assert read_values(str(tmp_path / "encoded.parquet"), None).to_pylist() == ["a", "b"]


def test_files_that_do_not_do(tmp_path: Path) -> None:
    cases: list[tuple[str, str | None, str]] = [
        ("v,w\n1,2\n", None, "column must be one of v, w"),
        ("v,w\n1,2\n", "x", "column must be one of v, w, not 'x'"),
        ("v,w\n1,2\n,3\n", "v", "has nulls"),
        ("v,w\n1,2\nsecret,4,5\n", "v", "cannot be read as csv"),
        ("v,w\n", "v", "has no rows"),
        ("v,v\n1,2\n", "v", "'v' is there more than once"),
    ]
    for content, column, words in cases:
        (tmp_path / "values.csv").write_text(content, encoding="utf-8")
        with pytest.raises(ParameterError, match=words) as caught:
            read_values(str(tmp_path / "values.csv"), column)
        assert "secret" not in str(caught.value)


def test_texts_of_another_encoding_and_whole_numbers_with_a_point(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("v\ncafé\nniño\n".encode("latin-1"))
    with pytest.raises(ParameterError, match="not UTF-8"):
        read_values(str(tmp_path / "latin.csv"), "v")
    (tmp_path / "floats.csv").write_text("v,w\n1.0,1.5\n2.0,2.0\n", encoding="utf-8")
    assert read_values(str(tmp_path / "floats.csv"), "v").to_pylist() == [1, 2]
    assert read_values(str(tmp_path / "floats.csv"), "w").to_pylist() == [1.5, 2.0]


def test_what_is_neither_a_file_nor_a_name() -> None:
    with pytest.raises(ParameterError, match="no data set of that name"):
        read_values("exp_distrib_51k", None)
    with pytest.raises(ParameterError, match="no file"):
        read_values("nowhere.csv", None)


NUMBERS, WORDS = pa.array([3, 1, 3, 7]), pa.array(["sun", "rain"])


@pytest.mark.parametrize(
    ("name", "values", "given", "options", "remarks"),
    [
        ("grr", NUMBERS, {}, {"domain": (1, 3, 7)}, 1),
        ("grr", NUMBERS, {"domain": 8}, {"domain": 8}, 0),
        ("hierarchy", NUMBERS, {}, {"domain": (1, 2, 3, 4, 5, 6, 7)}, 1),
        ("hierarchy", WORDS, {}, {"domain": ("rain", "sun")}, 1),
        ("duchi", NUMBERS, {}, {"low": 1.0, "high": 7.0}, 2),
        ("duchi", NUMBERS, {"low": "0", "high": "9"}, {"low": "0", "high": "9"}, 0),
        ("cms", NUMBERS, {"hashes": 8}, {"hashes": 8}, 0),
        ("pem", NUMBERS, {}, {"domain": 8}, 1),
        ("pem", WORDS, {}, {"alphabet": "abcdefghijklmnopqrstuvwxyz", "length": 4}, 1),
        ("pem", pa.array(["Sun"]), {"length": 3}, {"alphabet": "Snu", "length": 3}, 1),
        ("sfp", WORDS, {}, {"alphabet": "abcdefghijklmnopqrstuvwxyz"}, 0),
    ],
)
def test_what_a_simulation_reads_from_its_data(
    name: str,
    values: Any,
    given: dict[str, Any],
    options: dict[str, Any],
    remarks: int,
) -> None:
    found = complete_options(find(name), values, given)
    assert found.options == options
    assert len(found.remarks) == remarks
    build(name, epsilon=2, **found.options)


def test_values_of_the_wrong_kind() -> None:
    cases: list[tuple[str, Any]] = [
        *(("grr", pa.array([0.5])), ("duchi", WORDS), ("grr", pa.array([3, 3])), ("duchi", pa.array([3, 3]))),
        ("pem", pa.array([-1, 3])),
    ]
    for name, values in cases:
        with pytest.raises(ParameterError, match="column"):
            complete_options(find(name), values, {})


def test_domains_that_are_none() -> None:
    cases: list[str] = ["1,000,000", "a,a", "a"]
    for text in cases:
        with pytest.raises(ParameterError, match="domain must be"):
            Parameters(domain=text).to_options()
