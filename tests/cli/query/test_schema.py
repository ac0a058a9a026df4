from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.query.schema import schema
from celosia.core import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

ROWS: dict[str, list[Any]] = {
    "age": [999_983, -999_979, 34],  # would give itself away in a draft
    "name": ["Zenobia", "Xantippe", "Ana"],
    "hale": [True, False, True],
}
FILLED = """
[table]
name = "people"

[columns.age]
kind = "integer"
low = 0
high = 120

[columns.hale]
kind = "boolean"
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    pq.write_table(pa.table(ROWS), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["schema", *map(str, arguments)], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == code, result.stderr
    if code:
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
    return result.stdout, result.stderr


def test_the_draft_goes_to_stdout_and_what_is_missing_to_stderr(people: Path) -> None:
    draft, said = run(people)
    assert 'kind = "integer"' in draft
    assert '[columns.name]     # string\nkind = "text"' in draft
    assert said.startswith("The schema is not filled in: [columns.age] needs low and high.")
    assert "never read from the data" in said
    assert said.count("\n") == 1


def test_nothing_of_the_rows_is_in_the_draft(people: Path) -> None:
    draft, said = run(people)
    for value in ("999983", "999_983", "-999979", "Zenobia", "Xantippe", "34"):
        assert value not in draft + said


def test_a_csv_file_has_kinds_by_its_cells(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age;name\n34;Ana\n")
    draft, said = run(tmp_path / "people.csv")
    assert '[columns.age]      # as it seems\nkind = "integer"\n# low = ?' in draft
    assert "[columns.age] needs low and high." in said
    assert run(tmp_path / "people.csv", "--no-input") == (draft, said)


def test_a_table_of_texts_lacks_nothing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["Ana"]}), tmp_path / "names.parquet")
    assert run(tmp_path / "names.parquet")[1].startswith("Nothing is missing")


def test_the_name_in_sql_can_be_given(people: Path) -> None:
    assert 'name = "people"' in run(people)[0]
    assert 'name = "patients"' in run(people, "--table", "patients")[0]


def test_a_file_is_not_overwritten(people: Path, tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    assert run(people, "--output", file)[0] == f"{file}\n"
    draft = file.read_text()
    assert draft == run(people)[0]
    file.write_text("mine")
    assert "is there already" in run(people, "--output", file, code=2)[1]
    assert file.read_text() == "mine"
    run(people, "--output", file, "--force")
    assert file.read_text() == draft


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.parquet"], "source: there is no file 'nowhere.parquet'."),
        (["schema.txt"], "source: there is no file 'schema.txt'."),
        (["postgresql://db.example/registry"], "table must be given for a database, or for Spark's catalogue"),
        (["spark:"], "table must be given for a database, or for Spark's catalogue"),
        (
            ["people.parquet", "--output", "nowhere/schema.toml"],
            "output: there is no directory 'nowhere'; make it first.",
        ),
        (["people.parquet", "--force"], "force goes with --output: without it nothing is written."),
        (["people.parquet", "--check", "s.toml", "--output", "t.toml"], "check only looks: leave out --output"),
        (["people.parquet", "--check", "none.toml"], "There is no schema file 'none.toml'."),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(
    people: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(people.parent)
    before = sorted(people.parent.iterdir())
    assert message in run(*arguments, code=2)[1]
    assert sorted(people.parent.iterdir()) == before


def test_a_broken_file_is_one_line_that_quotes_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"Zenobia, 71")
    assert "Zenobia" not in run(tmp_path / "broken.parquet", code=2)[1]


def test_a_schema_that_fits_is_described(people: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(FILLED)
    said, _ = run(people, "--check", tmp_path / "schema.toml")
    assert "fits: 2 columns of people can be asked about (age, hale); every row is one person's only row." in said


def test_whom_a_schema_protects_is_described(people: Path, tmp_path: Path) -> None:
    limits = 'name = "people"\nperson = "name"\nmax_groups_per_person = 2\nmax_rows_per_group = 3'
    (tmp_path / "schema.toml").write_text(FILLED.replace('name = "people"', limits))
    said, _ = run(people, "--check", tmp_path / "schema.toml")
    assert "rows are told apart by name: at most 3 of one person in each of 2 groups." in said


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("columns.age", "columns.weight", "'weight'"),
        ("high = 120", "high = ?", "The schema is not filled in: [columns.age] needs high."),
        ('"boolean"', '"date"\nlow = "2021-01-01"\nhigh = "2021-12-31"', "cannot be read as Date"),
        ("low = 0", "low = 121", "'age'"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(people: Path, before: str, after: str, message: str) -> None:
    file = people.with_name("schema.toml")
    file.write_text(FILLED.replace(before, after))
    assert message in run(people, "--check", file, code=2)[1]


def test_the_function_raises_what_the_command_prints() -> None:
    with pytest.raises(ParameterError, match="there is no file"):
        schema("nowhere.parquet")
