from __future__ import annotations

import base64
import os
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
    return folder, run("--seed", "7", "--output", str(folder))[0]


def check_width(text: str, columns: int) -> None:
    """Nothing is wider than the terminal, and the last column is the cost."""
    assert max(len(line) for line in text.splitlines()) <= columns
    head = next(line for line in text.splitlines() if line.startswith("Question "))
    assert head.rstrip().endswith("ε")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("columns", "epsilon"), [(60, "1"), (200, "1/3")])
def test_the_cost_stays_in_view_whatever_the_width(columns: int, epsilon: str) -> None:
    check_width(run("--no-output", "--epsilon", epsilon, columns=columns)[0], columns)


def test_the_true_column_is_explained(printed: str) -> None:
    assert "only because the table is synthetic" in " ".join(printed.split())


def test_the_budget_shrinks_to_nothing(printed: str) -> None:
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert sum(line.endswith(" left") for line in lines) == 7
    assert any(line.startswith("Quantiles of age") and line.endswith("ε = 0 left") for line in lines)
    assert "All queries of the table share one budget of ε = 7." in " ".join(lines)
    assert "The survey by randomized response (ε = 1) is not part of it" in " ".join(lines)


def test_epsilon_is_exact(printed: str) -> None:
    text, _ = run("--seed", "7", "--no-output", "--epsilon", "0.1")
    assert "one budget of ε = 0.7." in text
    assert text != printed


def test_a_seed_repeats_the_answers_and_warns(printed: str) -> None:
    again, warning = run("--seed", "7", "--no-output")
    assert again == printed
    assert run("--seed", "8", "--no-output")[0] != printed
    assert warning.startswith("Warning: ")
    assert warning.count("\n") == 1
    assert "not private" in warning


def test_without_a_seed_the_answers_change_and_nothing_is_warned_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, warning = run("--no-output", "--epsilon", "1e-6")
    assert warning == ""  # nor is there any progress
    check_width(first, 80)
    assert first != run("--no-output", "--epsilon", "1e-6")[0]
    assert not list(tmp_path.iterdir())


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


def test_a_second_run_replaces_the_first(charted: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(charted[0], tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "report.html").read_text(encoding="utf-8")
    run("--output", str(tmp_path), "--epsilon", "2")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") != before
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES


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
