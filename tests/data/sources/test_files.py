"""Paths and globs, formats by ending, and the delimiter by the first line."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.core.errors import SchemaError
from celosia.data.sources.files import Files, find_files, read_csv_header

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, name: str, text: str = "age,sex\n34,F\n") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_path_is_one_file(tmp_path: Path) -> None:
    file = write(tmp_path, "deaths.parquet")
    assert find_files(str(file)) == Files((str(file),), "parquet")
    assert find_files(str(write(tmp_path, "DEATHS.CSV"))).format == "csv"


def test_relative_paths_and_the_home_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "deaths.csv")
    monkeypatch.chdir(tmp_path)
    assert find_files("deaths.csv").paths == (str(file),)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert find_files("~/deaths.csv").paths == (str(file),)


def test_a_glob_is_its_files_in_order(tmp_path: Path) -> None:
    files = [write(tmp_path, f"{year}/part{number}.csv") for year in (2020, 2021) for number in range(3)]
    (tmp_path / "2020" / "folder.csv").mkdir()
    assert find_files(f"{tmp_path}/*/*.csv").paths == tuple(map(str, files))
    assert find_files(f"{tmp_path}/**/part1.csv").paths == (str(files[1]), str(files[4]))


def test_a_name_with_signs_of_a_glob_is_a_file_first(tmp_path: Path) -> None:
    odd, _ = write(tmp_path, "part[1].csv"), write(tmp_path, "part1.csv")
    assert find_files(str(odd)).paths == (str(odd),)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for pattern in (str(tmp_path / "none.csv"), str(tmp_path / "*.csv"), ""):
        with pytest.raises(ParameterError, match="there is no file"):
            find_files(pattern)
    with pytest.raises(ParameterError, match="a folder is read by a glob"):
        find_files(str(tmp_path))


def test_other_and_mixed_formats_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.csv")
    write(tmp_path, "a.parquet")
    write(tmp_path, "a.xlsx")
    for pattern in ("a.*", "a.xlsx"):
        with pytest.raises(ParameterError, match="source must be files that all end in"):
            find_files(str(tmp_path / pattern))


@pytest.mark.parametrize(
    ("name", "line", "delimiter", "columns"),
    [
        ("a.csv", "age,sex", ",", ("age", "sex")),
        ("a.csv", "age;sex;weight, in kg", ";", ("age", "sex", "weight, in kg")),
        ("a.csv", '"age, in years";sex', ";", ("age, in years", "sex")),
        ("a.csv", "age\tsex", "\t", ("age", "sex")),
        ("a.csv", "age|sex", "|", ("age", "sex")),
        ("a.csv", "age", ",", ("age",)),
        ("a.csv", "\ufeffage,sex", ",", ("age", "sex")),
        ("a.csv", "edad,años\r", ",", ("edad", "años")),
        ("a.tsv", "age, in years", "\t", ("age, in years",)),
    ],
)
def test_the_first_line_says_the_delimiter(
    tmp_path: Path, name: str, line: str, delimiter: str, columns: tuple[str, ...]
) -> None:
    file = write(tmp_path, name, f"{line}\n1,2;3\t4|5\n")
    assert read_csv_header(str(file)) == (delimiter, columns)
    assert find_files(str(file)).delimiter == delimiter


def test_the_rows_do_not_count(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "age;sex\n" + "1,2,3,4,5,6\n" * 100)
    assert read_csv_header(str(file)) == (";", ("age", "sex"))


def test_a_packed_file_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "a.csv.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.write("age;sex\n34;F\n")
    assert find_files(str(file)) == Files((str(file),), "csv", ";")
    broken = tmp_path / "b.csv.gz"
    broken.write_bytes(file.read_bytes()[:15])
    with pytest.raises(ParameterError, match=r"'b\.csv\.gz' cannot be read"):
        find_files(str(broken))
    write(tmp_path, "c.csv.gz")
    with pytest.raises(ParameterError, match=r"'c\.csv\.gz' cannot be read"):
        find_files(str(tmp_path / "c.csv.gz"))


def test_a_csv_file_needs_a_first_line(tmp_path: Path) -> None:
    cases: list[str] = ["", "\n", "  \n1,2", "x" * 1_000_001]
    for text in cases:
        file = write(tmp_path, "a.csv", text)
        with pytest.raises(SchemaError, match=r"'a\.csv' needs a first line"):
            find_files(str(file))


def test_files_of_one_table_have_one_header(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "age,sex\n")
    write(tmp_path, "b.csv", "sex,age\n")
    with pytest.raises(SchemaError, match="the same header"):
        find_files(str(tmp_path / "*.csv"))


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), min_size=2, max_size=5))
def test_any_quoted_header_is_read_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    line = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    delimiter, found = read_csv_header(str(write(tmp_path_factory.mktemp("csv"), "a.csv", f"{line}\n")))
    assert delimiter == "," or len(found) > len(names)
    if delimiter == ",":
        assert found == tuple(names)


def test_repr_is_the_call() -> None:
    for files in (Files(("a.parquet",), "parquet"), Files(("a.csv", "b.csv"), "csv", "\t")):
        assert eval(repr(files)) == files
