"""Files of statistical packages come back with their labels; what cannot be read or written is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from celosia.anonymity import Roles, read_microdata
from celosia.anonymity.microdata.files import FileLabels, read_file, write_file
from celosia.core.errors import ParameterError
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE = pa.table({"id": [7, 8, 9], "sex": [1, 2, None], "pay": [1.5, None, 2.25], "job": ["ana", "bob", None]})
LABELS = FileLabels(column_labels={"sex": "Sex of the person"}, value_labels={"sex": {1: "man", 2: "woman"}})


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt", "por", "csv", "parquet"])
def test_a_table_round_trips(ending: str, tmp_path: Path) -> None:
    path = write_file(TABLE, tmp_path / f"file.{ending}", LABELS)
    table, labels = read_file(path)
    rows = [{name.lower(): value for name, value in row.items()} for row in table.to_pylist()]  # .por has capitals
    assert rows == TABLE.to_pylist()
    if ending in {"sav", "zsav", "dta", "xpt"}:
        assert labels.column_labels == LABELS.column_labels
    if ending in {"sav", "zsav", "dta"}:
        assert labels.value_labels == LABELS.value_labels
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_that_a_statistical_package_wrote_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1.0, 2.0], "born": pd.to_datetime(["1980-05-17", "1990-01-01"])})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels={"sex": {1: "man"}})
    data = read_microdata(tmp_path / "a.sav", roles=Roles(quasi_identifiers=["sex", "born"]))
    assert data.get_column("sex").to_pylist() == [1, 2]
    assert data.labels.value_labels == {"sex": {1: "man"}}


def test_a_generalized_column_loses_the_labels_of_its_values(tmp_path: Path) -> None:
    roles = Roles(quasi_identifiers=["sex"], sensitive=["pay", "job"], others=["id"])
    write_file(TABLE, tmp_path / "in.sav", LABELS)
    data = read_microdata(tmp_path / "in.sav", roles=roles)
    assert read_file(data.write(tmp_path / "same.sav", source=Seeded(1)))[1].value_labels == LABELS.value_labels
    masked = data.replace_columns({"sex": pa.array(["*"] * 3)})
    assert read_file(masked.write(tmp_path / "out.sav"))[1] == FileLabels(column_labels=LABELS.column_labels)


def test_bad_places_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "broken.sav").write_bytes(b"no file of SPSS")
    cases: dict[str, Callable[[], object]] = {
        "anonymity.file_not_found": lambda: read_file(tmp_path / "none.sav"),
        "anonymity.file_not_readable": lambda: read_file(tmp_path / "broken.sav"),
        "anonymity.unknown_file_format": lambda: write_file(TABLE, tmp_path / "a.sas7bdat"),
        "anonymity.no_such_folder": lambda: write_file(TABLE, tmp_path / "none" / "a.csv"),
        "anonymity.column_name_too_long": lambda: write_file(pa.table({"household": [1]}), tmp_path / "a.por"),
        "anonymity.column_name_not_allowed": lambda: write_file(pa.table({"a b": [1]}), tmp_path / "a.sav"),
        "anonymity.table_not_writable": lambda: write_file(pa.table({"a": ["x" * 40_000]}), tmp_path / "a.por"),
    }
    for code, act in cases.items():
        with pytest.raises(ParameterError) as caught:
            act()
        assert caught.value.code == code
    assert [file.name for file in tmp_path.iterdir()] == ["broken.sav"]
