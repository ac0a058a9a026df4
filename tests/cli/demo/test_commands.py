from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.demo.commands import demo
from celosia.core import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    "age-histogram.svg",
    "age-quantiles.svg",
    "attack.svg",
    "laplace-neighbours.svg",
    "report.html",
]


def run(*arguments: str, columns: int = 80) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["demo", *arguments], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout  # it is no terminal
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def printed() -> str:
    return run("--seed", "7", "--no-output")[0]


def test_the_answers_are_printed_within_80_columns(printed: str) -> None:
    assert max(len(line) for line in printed.splitlines()) <= 80
    assert "200,000 deaths" in printed
    for words in (
        "Question",
        "True",
        "Private",
        "95 % interval",
        "ε",
        "108",
        "U071",
        "20–29",
        "Mean age",
        "Refused",
        "attacker",
    ):
        assert words in printed


@pytest.fixture(scope="module")
def charted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of charts, and what was printed."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "charts"
    return folder, run("--seed", "8", "--output", str(folder))[0]


def check_width(text: str, columns: int) -> None:
    """Nothing is wider than the terminal, and the last column is the cost."""
    assert max(len(line) for line in text.splitlines()) <= columns
    head = next(line for line in text.splitlines() if line.startswith("Question "))
    assert head.rstrip().endswith("ε")


def read_count(text: str) -> str:
    """The private answer to the first question, whose true one is 108."""
    found = re.search(r"\b108 +(\S+)", text)
    assert found
    return found[1]


def test_the_cost_stays_in_view_and_epsilon_is_exact_on_narrow_screens() -> None:
    text, _ = run("--no-output", "--epsilon", "0.1", columns=60)
    check_width(text, 60)
    assert "one budget of ε = 0.7." in " ".join(text.split())


@pytest.mark.thorough  # what fits into 60 columns fits into more
def test_the_cost_stays_in_view_on_wide_screens() -> None:
    check_width(run("--no-output", "--epsilon", "1/3", columns=200)[0], 200)


def test_the_true_column_is_explained(printed: str) -> None:
    assert "only because the table is synthetic" in " ".join(printed.split())


def test_the_budget_shrinks_to_nothing(printed: str) -> None:
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert sum(line.endswith(" left") for line in lines) == 7
    assert any(line.startswith("Quantiles of age") and line.endswith("ε = 0 left") for line in lines)
    assert "All queries of the table share one budget of ε = 7." in " ".join(lines)
    assert "The survey by randomized response (ε = 1) is not part of it" in " ".join(lines)


def test_a_seed_repeats_the_answers_and_warns(printed: str, charted: tuple[Path, str]) -> None:
    again, warning = run("--seed", "7", "--no-output")
    assert again == printed
    assert read_count(charted[1]) != read_count(printed)  # of another seed
    assert warning.startswith("Warning: ")
    assert warning.count("\n") == 1
    assert "not private" in warning


@pytest.fixture(scope="module")
def unseeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What is printed to both streams without a seed, in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    with contextlib.chdir(folder):
        told = run("--no-output", "--epsilon", "1e-6")
    assert not list(folder.iterdir())
    return told


def test_without_a_seed_nothing_is_warned_or_written(unseeded: tuple[str, str]) -> None:
    text, warning = unseeded
    assert warning == ""  # nor is there any progress
    check_width(text, 80)


def test_charts_are_saved_where_it_says(charted: tuple[Path, str]) -> None:
    folder, text = charted
    assert sorted(file.name for file in folder.iterdir()) == FILES
    for name in FILES:
        assert str(folder / name) in text


def test_the_report_carries_the_charts(charted: tuple[Path, str]) -> None:
    folder, _ = charted
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in ("laplace-neighbours", "age-histogram", "age-quantiles", "attack"):
        picture = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
        assert page.count(picture) == 1


def test_a_second_run_replaces_the_first_and_answers_change(
    charted: tuple[Path, str], unseeded: tuple[str, str], tmp_path: Path
) -> None:
    shutil.copytree(charted[0], tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "report.html").read_text(encoding="utf-8")
    text, _ = run("--output", str(tmp_path), "--epsilon", "1e-6")
    after = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Two averages" in after
    assert after != before
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES
    assert read_count(text) != read_count(unseeded[0])


@pytest.mark.thorough  # the commands above print into no terminal either
def test_a_real_process_prints_no_escape_codes_and_no_progress_into_a_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "celosia", "demo", "--no-output"]
    environment = os.environ | {"COLUMNS": "80"}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert answer.stderr == ""
    assert "\x1b" not in answer.stdout
    assert "200,000 deaths" in answer.stdout


def test_an_epsilon_without_meaning_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    cases: list[str] = ["0", "-1", "inf", ""]
    for epsilon in cases:
        with pytest.raises(ParameterError, match="epsilon"):
            demo(epsilon=epsilon, output=tmp_path / "charts")
        assert not list(tmp_path.iterdir())
