from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import celosia
from celosia.cli.app import app, main
from celosia.core import ParameterError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def test_version(runner: CliRunner) -> None:
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"celosia {celosia.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_names_the_commands(runner: CliRunner, arguments: list[str]) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "without exposing anyone" in result.stdout


def test_help_of_the_demo_names_its_options(runner: CliRunner) -> None:
    result = runner.invoke(app, ["demo", "--help"], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0
    for option in ("--epsilon", "--output", "--seed", "--no-charts"):
        assert option in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--colour"], "No such option"),
        (["dmo"], "No such command 'dmo'"),
        (["demo", "--seed", "seven"], "'seven' is not a valid"),
        (["demo", "--epsilon"], "requires an argument"),
        (["demo", "--epsilon", "-1", "--no-charts"], "epsilon must be greater than 0, not '-1'."),
        (["demo", "--epsilon", "much", "--no-charts"], "epsilon must be a number"),
        (["demo", "--epsilon", "nan", "--no-charts"], "epsilon must be a number"),
        (["demo", "--epsilon", "1e9", "--no-charts"], "epsilon must be at most"),
    ],
)
def test_wrong_options_are_one_line(runner: CliRunner, arguments: list[str], message: str) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_output_that_is_no_directory_is_one_line(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = runner.invoke(app, ["demo", "--output", str(tmp_path / "file" / "charts")])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "cannot be made" in result.stderr


def test_errors_of_ours_are_one_line_however_long(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ParameterError("long " * 40 + "\nand broken")

    monkeypatch.setattr("celosia.cli.app.demo", fail)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("long and broken\n")


def test_an_interrupt_leaves_quietly(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("celosia.cli.app.demo", interrupt)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 130
    assert result.stderr.strip() in ("", "Error: interrupted.")  # by the version of Typer


def test_a_defect_of_ours_is_not_hidden(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("celosia.cli.app.demo", break_down)
    assert isinstance(runner.invoke(app, ["demo"]).exception, ZeroDivisionError)


def test_a_traceback_never_shows_local_variables() -> None:
    assert app.pretty_exceptions_show_locals is False


def test_main_exits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["celosia", "--version"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"celosia {celosia.__version__}\n"


def test_the_module_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "celosia.cli", "--version"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    assert answer.stdout == f"celosia {celosia.__version__}\n"


def test_help_does_not_wait_for_heavy_libraries() -> None:
    script = """
import sys
from celosia.cli import main
sys.argv = ["celosia", "--help"]
try:
    main()
except SystemExit:
    pass
print(sorted({"altair", "numba", "numpy", "pyarrow", "scipy"} & set(sys.modules)), file=sys.stderr)
"""
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert answer.stderr.strip() == "[]"


def test_a_terminal_without_greek_gets_question_marks_not_a_traceback() -> None:
    command = [sys.executable, "-m", "celosia.cli", "demo", "--no-charts", "--seed", "1"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, check=True, capture_output=True, env=environment)
    assert b"Traceback" not in answer.stderr
    assert b"Question" in answer.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")  # noqa: PTH110 - a path
def test_a_full_disk_is_one_line() -> None:
    command = [sys.executable, "-m", "celosia.cli", "account", "pure", "--epsilon", "1", "--delta", "1e-5", "--json"]
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Error: No space left on device")
