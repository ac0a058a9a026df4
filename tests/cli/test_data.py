from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.data import write_rows
from celosia.core import ParameterError
from celosia.data import RECIPES, draw_dummy_rows, generate, generate_batches, make_survey, parse_schema_file
from celosia.query.engines.readability import count_cells

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == code, result.stderr
    if code:
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
    else:
        assert result.stderr == ""  # nobody watches
    return result.stdout, result.stderr


def test_the_list_names_every_data_set() -> None:
    said, _ = run("list")
    assert all(name in said for name in RECIPES)
    assert "2,400,000" in said


def test_without_a_command_there_is_help() -> None:
    assert "generate" in run()[0]


def test_the_default_file_is_a_csv_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("generate", "norm_distrib_300")[0] == "norm_distrib_300.csv\n"
    assert csv.read_csv(tmp_path / "norm_distrib_300.csv").equals(generate("norm_distrib_300"))
    assert [file.name for file in tmp_path.iterdir()] == ["norm_distrib_300.csv"]


def test_parquet_by_the_suffix_and_another_seed(tmp_path: Path) -> None:
    file = tmp_path / "words.parquet"
    run("generate", "anglicismo_750", "--output", file, "--seed", 3)
    assert pq.read_table(file).equals(generate("anglicismo_750", seed=3))


def test_many_batches_are_one_file(tmp_path: Path) -> None:
    file = tmp_path / "values.parquet"
    write_rows(file, generate_batches("norm_distrib_200k"))
    assert pq.read_table(file).equals(generate("norm_distrib_200k"))


def test_what_is_there_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "values.csv"
    file.write_text("mine")
    assert "is there already" in run("generate", "norm_distrib_50", "--output", file, code=2)[1]
    assert file.read_text() == "mine"
    run("generate", "norm_distrib_50", "--output", file, "--force")
    assert len(file.read_text().splitlines()) == 51


def test_whoever_was_quicker_keeps_the_name(tmp_path: Path) -> None:
    file = tmp_path / "values.csv"

    def quick() -> Iterator[pa.RecordBatch]:
        yield from generate_batches("norm_distrib_50")
        file.write_text("theirs")

    with pytest.raises(ParameterError, match="is there already"):
        write_rows(file, quick())
    assert file.read_text() == "theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["values.csv"]


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    cases: list[str] = ["csv", "parquet"]
    for suffix in cases:

        def broken() -> Iterator[pa.RecordBatch]:
            yield from generate_batches("norm_distrib_50")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write_rows(tmp_path / f"values.{suffix}", broken())
        assert list(tmp_path.iterdir()) == []


SCHEMA = """
[table]
name = "visits"
person = "who"
max_groups_per_person = 2
max_rows_per_group = 3
delimiter = ";"
decimal = ","
date_format = "%d/%m/%Y"
[columns.cost]
kind = "real"
low = 0
high = 100
grid = "0.01"
[columns.day]
kind = "date"
low = "2021-01-01"
high = "2021-12-31"
"""


def test_dummy_rows_are_those_of_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    file = parse_schema_file(SCHEMA)
    assert run("dummy", "schema.toml", "--rows", 50)[0] == "visits_dummy.csv\n"
    assert re.fullmatch(
        r'"who";"cost";"day"\n(\d+;"?\d*,?\d*"?;"?[\d/]*"?\n){50}', Path("visits_dummy.csv").read_text()
    )
    counts = count_cells(file.table("visits_dummy.csv"))
    assert (counts.rows, [column.unreadable for column in counts.columns]) == (50, [0, 0])
    run("dummy", "schema.toml", "--seed", 3, "--output", "rows.parquet")
    drawn = pq.read_table("rows.parquet")
    assert drawn.equals(draw_dummy_rows(file, seed=3).cast(drawn.schema))


def test_dummy_rows_of_nothing_are_one_line_and_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    Path("draft.toml").write_text(SCHEMA.replace("low = 0", "low = ?"))
    Path("wrong.toml").write_text(SCHEMA.replace('person = "who"', 'person = "cost"'))
    before = {file.name: file.read_text() for file in tmp_path.iterdir()}
    cases: list[tuple[list[str], str]] = [
        (["nowhere.toml"], "There is no schema file 'nowhere.toml'."),
        (["draft.toml"], "The schema is not filled in: [columns.cost] needs low."),
        (["wrong.toml"], "'cost'"),
        (["schema.toml", "--rows", "0"], "rows must be at least 1, not 0."),
        (["schema.toml", "--seed", "-1"], "seed must be at least 0, not -1."),
        (["schema.toml", "--output", "rows.txt"], "output must end in .csv or .parquet, not 'rows.txt'."),
        (["schema.toml", "--output", "schema.toml/rows.csv"], "there is no directory 'schema.toml'"),
    ]
    for arguments, message in cases:
        assert message in run("dummy", *arguments, code=2)[1]
        assert {file.name: file.read_text() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "name must be one of exp_distrib_50k, "),
        (["norm_distrib_50", "--output", "values.txt"], "output must end in .csv or .parquet, not 'values.txt'."),
        (
            ["norm_distrib_50", "--output", "nowhere/values.csv"],
            "output: there is no directory 'nowhere'; make it first.",
        ),
        (["norm_distrib_50", "--seed", "-1"], "seed must be at least 0, not -1."),
        (["../norm_distrib_50"], "name must be one of"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run("generate", *arguments, code=2)[1]
    assert list(tmp_path.iterdir()) == []


def test_a_survey_is_written(tmp_path: Path) -> None:
    said, _ = run("survey", "--households", 20, "--output", tmp_path / "survey.parquet")
    assert said.strip() == str(tmp_path / "survey.parquet")
    assert pq.read_table(tmp_path / "survey.parquet").equals(make_survey(20))
    run("survey", "--output", tmp_path / "survey.parquet", code=2)


def test_the_tutorial_shows_the_survey_that_is_made(tmp_path: Path) -> None:
    run("survey", "--output", tmp_path / "survey.csv")
    head = "\n".join((tmp_path / "survey.csv").read_text(encoding="utf-8").splitlines()[:3])
    assert head in (Path(__file__).parents[2] / "docs/survey.md").read_text(encoding="utf-8")
