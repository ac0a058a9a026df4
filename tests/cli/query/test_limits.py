"""celosia limits: what it prints, what it spends, what it refuses."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from celosia.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = """
[table]
name = "visits"
person = "who"
max_groups_per_person = 1
max_rows_per_group = 1

[columns.sex]
kind = "category"
values = ["F", "M"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("limits")
    rows = pa.table({"who": [row // 4 for row in range(8000)], "sex": ["F", "M"] * 4000})
    pq.write_table(rows, place / "visits.parquet")
    (place / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return place


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    command = ["limits", "visits.parquet", "--schema", "schema.toml", *arguments]
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, command, env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert result.exit_code == code, result.stderr
    return result.stdout, result.stderr


def test_it_prints_the_choices_and_what_was_spent(folder: Path) -> None:
    answer, said = run(folder, "--by", "sex", "--epsilon", "50", "--planned", "1", "--chart", "limits.svg")
    assert ["2", "*", "2"] in [line.split()[:3] for line in answer.splitlines()]
    assert "Best: max_groups_per_person=2, max_rows_per_group=2." in answer
    assert "Spent ε = 50 for each person." in said
    assert (folder / "limits.svg").stat().st_size > 1000


def test_json_has_the_best_and_the_candidates(folder: Path) -> None:
    found = json.loads(run(folder, "--by", "sex", "--epsilon", "50", "--json", "--most-rows", "8")[0])
    assert found["best"] == {"max_groups_per_person": 2, "max_rows_per_group": 2}
    assert len(found["candidates"]) == 2 * 4


def test_a_preview_spends_nothing(folder: Path) -> None:
    answer, said = run(folder, "--by", "sex", "--epsilon", "0.5", "--preview")
    assert answer.startswith("Cost PureDP(epsilon=0.5, unit='person'): fits")
    assert "Nothing was spent." in said
    assert json.loads(run(folder, "--rho", "0.5", "--preview", "--json")[0])["affordable"] is True


def test_a_ledger_pays(folder: Path) -> None:
    with contextlib.chdir(folder):
        opened = ["ledger", "budget", "sqlite:///b.db", "--dataset", "visits", "--epsilon", "1", "--unit", "person"]
        assert CliRunner().invoke(app, opened).exit_code == 0
    _, said = run(folder, "--by", "sex", "--epsilon", "0.75", "--ledger", "sqlite:///b.db")
    assert "is left in the ledger." in said
    _, said = run(folder, "--by", "sex", "--epsilon", "0.75", "--ledger", "sqlite:///b.db", code=4)
    assert said.startswith("Error: ")


def test_what_is_wrong_is_one_line(folder: Path) -> None:
    for arguments in ([], ["--by", "town", "--epsilon", "1"], ["--epsilon", "1", "--chart", "x.doc"]):
        _, said = run(folder, *arguments, code=3 if "town" in arguments else 2)
        assert said.startswith("Error: ")
        assert said.count("\n") == 1
