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
from tests.cli.test_examples import COMMANDS

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
    for option in ("--epsilon", "--output", "--seed", "--no-output"):
        assert option in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--colour"], "No such option"),
        (["dmo"], "No such command 'dmo'"),
        (["demo", "--seed", "seven"], "'seven' is not a valid"),
        (["demo", "--epsilon"], "requires an argument"),
        (["demo", "--epsilon", "-1", "--no-output"], "epsilon must be greater than 0, not '-1'."),
        (["demo", "--epsilon", "much", "--no-output"], "epsilon must be a number"),
        (["demo", "--epsilon", "nan", "--no-output"], "epsilon must be a number"),
        (["demo", "--epsilon", "1e9", "--no-output"], "epsilon must be at most"),
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
    def fail(*_: object) -> None:
        raise ParameterError("long " * 40 + "\nand broken")

    monkeypatch.setattr("celosia.cli.demo.commands.exact_epsilon", fail)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("long and broken\n")


def test_an_interrupt_leaves_quietly(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("celosia.cli.demo.commands.exact_epsilon", interrupt)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 130
    assert result.stderr.strip() in ("", "Error: interrupted.")  # by the version of Typer


def test_a_defect_of_ours_is_one_line_without_its_words(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("celosia.cli.demo.commands.exact_epsilon", break_down)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "ZeroDivisionError" in result.stderr
    assert "secret" not in result.stderr
    monkeypatch.setenv("CELOSIA_TRACEBACK", "1")
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
    command = [sys.executable, "-m", "celosia", "--version"]
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


def test_a_terminal_without_dashes_gets_question_marks_not_a_traceback() -> None:
    command = [sys.executable, "-m", "celosia", "learn", "models"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, check=True, capture_output=True, env=environment)
    assert b"Traceback" not in answer.stderr
    assert b"kmeans" in answer.stdout
    assert b"?" in answer.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")  # noqa: PTH110 - a path
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(unbuffered: str) -> None:
    command, environment = [sys.executable, "-m", "celosia", "--version"], os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=environment, text=True, timeout=600, check=False
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Error: No space left on device")


# One spelling for one meaning: a new option is written here with what it means, or takes a spelling that is here.
OPTIONS = {
    "--accountant": "who adds up what a budget spends",
    "--adjacency": "which data sets are neighbours",
    "--after": "the line of a log to begin after",
    "--allow-real": "accept noise of real arithmetic",
    "--alphabet": "the letters of texts",
    "--analyst": "who asks, or whose budget it is",
    "--analyst-share": "the part of a budget of each analyst",
    "--approval-above": "the cost that needs an approval",
    "--approximate": "a line of a chart, by epsilon and delta",
    "--behind-proxy": "a proxy speaks TLS",
    "--bits": "the bits of a report",
    "--blocks": "the blocks of the Hadamard response",
    "--bounds": "the public bounds of features",
    "--buckets": "what values are hashed to",
    "--by": "what later queries group by",
    "--categories": "how many answers randomized response has",
    "--certificates": "write certificates and keys",
    "--chart": "the file of a picture",
    "--chart-of": "what a chart of a simulation is of",
    "--check": "a schema file to hold a table to",
    "--chosen": "the size of subsets",
    "--classes": "the public values of a class",
    "--cohorts": "sets of hash functions",
    "--column": "the column with the values",
    "--confidence": "the probability of intervals",
    "--config": "the configuration of a guard",
    "--csv": "the file of a table as CSV",
    "--d": "the buckets of a client",
    "--data": "the records of a party, or the values of a simulation",
    "--dataset": "a data set of a ledger or guard",
    "--days": "how long a key is valid",
    "--delta": "the delta of a guarantee",
    "--diameter": "of the set that weights are projected to",
    "--domain": "the values that there can be",
    "--epochs": "how often every record is used",
    "--epsilon": "the epsilon of a guarantee",
    "--epsilon-infinity": "what all reports of one answer spend",
    "--error": "how good the answer has to be",
    "--f": "the permanent noise of RAPPOR",
    "--fanout": "the children of a node",
    "--features": "the columns to learn from",
    "--file": "an event as JSON",
    "--force": "replace a file that is there",
    "--format": "the format of an export",
    "--fragment": "the letters of a fragment",
    "--fragment-epsilon": "what a fragment spends",
    "--fragment-hashes": "hash functions of fragments",
    "--fragment-width": "columns of the fragments' sketches",
    "--functions": "hash functions of LOLOHA",
    "--g": "the cells of LOLOHA",
    "--grid": "how fine the noise is",
    "--hash-seed": "which hash functions",
    "--hashes": "how many hash functions",
    "--head": "a head of a log that was kept elsewhere",
    "--hierarchy": "what values become when generalized",
    "--high": "the greatest number",
    "--host": "the address to listen on",
    "--household": "who lives together",
    "--households": "the size of a survey",
    "--html": "a page in place of Markdown",
    "--identifier": "what names a person and is never released",
    "--identity": "the column that names a person",
    "--in-process": "all parties in one process",
    "--inside": "the confidential report",
    "--json": "print JSON and nothing else",
    "--k": "the least size of a class",
    "--key": "the columns that a public table is joined by",
    "--kind": "the kind of lines of a log",
    "--last-year": "another release about the same persons",
    "--least-cost": "the least cost of a query",
    "--ledger": "who keeps the budget",
    "--length": "how many letters texts have",
    "--limit": "how many lines of a log",
    "--lipschitz": "the longest gradient",
    "--log": "what each step did",
    "--longitudinal": "people report again and again",
    "--low": "the least number",
    "--masks": "train under masks too",
    "--method": "how a model is fitted",
    "--model": "what is fitted",
    "--most-rows": "the largest limit of rows that is tried",
    "--mu": "the mu of Gaussian privacy",
    "--no-input": "ask no questions",
    "--no-output": "write no files",
    "--oracle": "the frequency oracle of a hierarchy",
    "--other": "columns that reveal nothing",
    "--output": "the file or directory that a command is for",
    "--outside": "the report that goes with a file",
    "--p": "how often RAPPOR shows a 0 as 1",
    "--parameter": "a line of a chart, by its noise",
    "--party": "a party, by its name, or the column that says whose a record is",
    "--persons": "a public number of persons",
    "--planned": "what a later query will spend",
    "--population": "what a sample is drawn from",
    "--port": "the port to listen on",
    "--postprocess": "how estimated counts are corrected",
    "--preset": "a budget to start from",
    "--preview": "say what it would cost and spend nothing",
    "--prior": "a belief before the release",
    "--private-key": "the private key of a party",
    "--protocol": "a local protocol",
    "--public": "a table about nobody",
    "--q": "how often RAPPOR shows a 1 as 1",
    "--quasi-identifier": "what others may know of a person",
    "--reason": "why it was decided",
    "--records": "how many records there are",
    "--register": "persons whom an attacker knows",
    "--released": "a file that was published",
    "--repeat": "how often a training is run",
    "--reports": "how many people report",
    "--rho": "the rho of zero-concentrated privacy",
    "--role": "what a user is to a guard",
    "--rounds": "how often parties are asked",
    "--rows": "a public number of rows",
    "--sample-size": "a sample of fixed size",
    "--sampling": "the probability of Poisson sampling",
    "--schema": "the schema file of a table",
    "--secret-order": "records come in an order that nobody learns",
    "--secret-stop": "a run stops at a step that nobody learns",
    "--seed": "repeat the same draws",
    "--sensitive": "what nobody should learn",
    "--set": "a parameter of a model",
    "--sigma": "Gaussian noise",
    "--since": "the first day of a log",
    "--smoothness": "the Lipschitz constant of gradients",
    "--source": "other rows of a data set",
    "--special-uniques": "how many values make a record unique",
    "--state": "the state of approvals",
    "--step": "by how much beginnings grow",
    "--step-size": "how far a step goes",
    "--store": "the store of a guard",
    "--stratum": "where methods work separately",
    "--table": "the table of a database",
    "--target": "the column that is predicted",
    "--target-bounds": "the public bounds of a target",
    "--text": "what a line contains",
    "--threshold": "the risk above which a record is unsafe",
    "--times": "how many releases",
    "--title": "a line for people",
    "--tolerance": "how near calibration comes",
    "--top": "how many of the largest values",
    "--topology": "who talks to whom, by the name of a graph",
    "--unit": "who is protected",
    "--unreadable-at-most": "the share of cells that may be unreadable",
    "--until": "the last day of a log",
    "--user": "who did it, or to whom",
    "--weight": "sampling weights",
    "--where": "which rows count",
    "--width": "the columns of a sketch",
    "--wildcard": "nulls that match everything",
    "--window-days": "the length of a window",
    "--window-delta": "the delta of a window",
    "--window-epsilon": "the epsilon of a window",
    "--window-rho": "the rho of a window",
    "--workers": "how many processes serve",
    "--yes": "confirm without a question",
}
WRITTEN = {"--output", "--chart", "--csv"}


def test_one_spelling_for_one_option() -> None:
    assert len(set(OPTIONS.values())) == len(OPTIONS)
    found: dict[str, set[str]] = {}
    for path, command in COMMANDS.items():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                spellings = [*parameter.opts, *parameter.secondary_opts]
                assert len(spellings) == 1, (path, spellings)
                found.setdefault(spellings[0], set()).add(str(parameter.metavar))
    assert set(found) == set(OPTIONS)
    assert {option: found[option] for option in WRITTEN} == {
        "--output": {"FILE", "DIR"},
        "--chart": {"FILE"},
        "--csv": {"FILE"},
    }
    assert found["--json"] == {"None"}
    assert found["--schema"] == {"SCHEMA"}


def test_a_name_that_is_nearly_right_is_suggested(runner: CliRunner) -> None:
    assert "query" in runner.invoke(app, ["qery"]).stderr
