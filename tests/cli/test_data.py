from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.data import write_rows
from celosia.core import ParameterError
from celosia.data import RECIPES, generate, generate_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
