"""``celosia schema --check`` counts what cannot be read, and fails loudly before an epsilon is spent on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.cli.query.schema_check import check_schema
from celosia.core.errors import SchemaError

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = """
[columns.edad]
kind = "integer"
low = 0
high = 120

[columns.peso]
kind = "real"
low = 0
high = 300

[columns.alta]
kind = "date"
low = "2021-01-01"
high = "2021-12-31"

[columns.ciudad]
kind = "category"
values = ["Málaga", "León", "Ávila"]
"""
DECLARED = """
[table]
delimiter = ";"
encoding = "latin-1"
decimal = ","
date_format = "%d/%m/%Y"
"""


@pytest.fixture
def spanish(tmp_path: Path) -> Path:
    """A file as a spreadsheet in Spain writes it: semicolons, decimal commas, Latin-1, days first."""
    rows = [
        f"{20 + i % 50},0;{60 + i % 9},5;{1 + i % 28:02d}/12/2021;{'Málaga' if i % 3 else 'León'}" for i in range(90)
    ]
    (tmp_path / "altas.csv").write_bytes("\n".join(["edad;peso;alta;ciudad", *rows]).encode("latin-1"))
    return tmp_path / "altas.csv"


def run(file: Path, schema: str, *options: str) -> tuple[int, str, str]:
    (file.parent / "schema.toml").write_text(schema, encoding="utf-8")
    arguments = ["schema", str(file), "--check", str(file.parent / "schema.toml"), *options]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    return result.exit_code, result.stdout, result.stderr


def test_a_spanish_file_that_is_not_declared_fails_loudly(spanish: Path) -> None:
    """It was said to fit; then COUNT(edad) was noise around zero, and its epsilon was spent."""
    code, said, errors = run(spanish, COLUMNS)
    assert code != 0
    assert "does not fit the cells: 100 % of all rows, 100 % of edad, 100 % of peso, 100 % of alta cannot" in errors
    assert "date_format" in errors
    assert "fits:" not in said
    assert "Málaga, León, Ávila" in said


def test_the_same_file_declared_fits_and_is_counted_right(spanish: Path) -> None:
    code, said, _ = run(spanish, DECLARED + COLUMNS)
    assert code == 0
    assert "fits: 4 columns of altas can be asked about" in said
    assert "they are for the owner" in said
    assert [line.split()[-1] for line in said.splitlines() if line.startswith("ciudad")] == ["Ávila"]
    table = cl.data.read_schema_file(spanish.parent / "schema.toml").table(str(spanish))
    session = cl.Session(table, budget=cl.PureDP(epsilon=1000))
    [found] = session.sql("SELECT COUNT(edad) AS n, COUNT(alta) AS m FROM altas", epsilon=200).to_arrow().to_pylist()
    assert found == {"n": 90, "m": 90}


def test_the_threshold_can_be_given(spanish: Path) -> None:
    lines = spanish.read_bytes().split(b"\n")
    spanish.write_bytes(b"\n".join([*lines, b"old;60,5;31/12/2021;Le\xf3n"]))
    code, said, errors = run(spanish, DECLARED + COLUMNS)
    assert (code != 0, "1.1 % of edad cannot be read" in errors, "1.1 %" in said) == (True, True, True)
    assert run(spanish, DECLARED + COLUMNS, "--unreadable-at-most", "0.02")[0] == 0
    assert run(spanish, DECLARED + COLUMNS, "--unreadable-at-most", "2")[0] == 2


def test_no_value_of_a_row_is_printed(spanish: Path) -> None:
    spanish.write_bytes(spanish.read_bytes() + "\nZenobia;\x1b[31m;Xantippe;Teruel".encode("latin-1"))
    code, said, errors = run(spanish, DECLARED + COLUMNS)
    assert code != 0
    for word in ("Zenobia", "\x1b", "Xantippe", "Teruel"):
        assert word not in said + errors


def test_the_function_raises_what_the_command_prints(spanish: Path) -> None:
    (spanish.parent / "schema.toml").write_text(COLUMNS, encoding="utf-8")
    with pytest.raises(SchemaError, match="does not fit the cells"):
        check_schema(spanish.parent / "schema.toml", str(spanish), None, 0.01)
