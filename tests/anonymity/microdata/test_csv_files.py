"""CSV files as offices write them: semicolons, decimal commas, empty cells; and files that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from celosia.anonymity import Roles, measure, read_microdata
from celosia.anonymity.microdata.files import read_file
from celosia.core.errors import CelosiaError

if TYPE_CHECKING:
    from pathlib import Path


def _read(place: Path, text: str | bytes) -> pa.Table:
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(place)[0]


def test_semicolons_go_with_decimal_commas_and_empty_cells_are_null(tmp_path: Path) -> None:
    text = "\ufeffaño;sueldo;sexo;código\n40;1200,5;M;028\n;;;\n52;-900;F;041\n"
    table = _read(tmp_path / "a.csv", text)
    assert table.to_pylist() == [
        {"año": 40, "sueldo": 1200.5, "sexo": "M", "código": "028"},
        {"año": None, "sueldo": None, "sexo": None, "código": None},
        {"año": 52, "sueldo": -900.0, "sexo": "F", "código": "041"},
    ]


@pytest.mark.parametrize("cells", [["1,234", "20,100"], ["1,5", "about 2"], ["1.234,5", "2,5"], ["1,2,3", "4,5"]])
def test_what_may_be_no_decimal_comma_stays_a_string(cells: list[str], tmp_path: Path) -> None:
    table = _read(tmp_path / "a.csv", "a;b\n" + "".join(f"x;{cell}\n" for cell in cells))
    assert table["b"].to_pylist() == cells
    quoted = _read(tmp_path / "b.csv", 'a,b\nx,"1,5"\n')
    assert quoted["b"].to_pylist() == ["1,5"]


def test_codes_keep_their_zeros_and_numbers_stay_numbers(tmp_path: Path) -> None:
    table = _read(tmp_path / "a.csv", "province,age,share\n08,0,0.5\n28,-3,00.1\n,10,0\n")
    assert table["province"].to_pylist() == ["08", "28", None]
    assert table["age"].to_pylist() == [0, -3, 10]
    assert table["share"].to_pylist() == [0.5, 0.1, 0.0]


def test_a_line_may_have_a_line_break_between_quotes(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", 'a,b\n"two\nlines",1\n').num_rows == 1


def test_wildcards_stay_wildcards_in_a_file(tmp_path: Path) -> None:
    roles = Roles(quasi_identifiers=["job"], nulls="wildcard")
    data = read_microdata(pa.table({"job": ["cook", "cook", None, "nurse"]}), roles=roles)
    again = read_microdata(data.write(tmp_path / "a.csv"), roles=roles)
    assert measure(again).k == measure(data).k == 2


def test_files_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    cases: dict[str, tuple[str | bytes, str]] = {
        "anonymity.line_of_other_length": ("a;b;c\n1;2;3\n1;2;3\n1;2\n1;2;3\n", "Line 4 of .* has 2 values.* 3"),
        "anonymity.column_repeated": ("a,b,a\n1,2,3\n", "'a'"),
        "anonymity.text_not_utf8": ("a,b\nMálaga,2\n".encode("latin-1"), "'f.csv'"),
    }
    for code, (text, sentence) in cases.items():
        with pytest.raises(CelosiaError, match=sentence) as caught:
            _read(tmp_path / "f.csv", text)
        assert caught.value.code == code
    with pytest.raises(CelosiaError) as caught:
        _read(tmp_path / "f.csv", "año,b\n1,2\n".encode("latin-1"))
    assert caught.value.code == "anonymity.text_not_utf8"
