from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from celosia.accounting import best
from celosia.cli.app import app
from celosia.core import Event, GaussianEvent, LaplaceEvent, PoissonSampledEvent, RepeatedEvent

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["basic", "optimal", "advanced", "zcdp", "renyi", "gdp", "pld"]
TRAINING = "gaussian --sigma 1 --sampling 0.01 --times 10000 --delta 1e-5"
COUNTS = "laplace --epsilon 0.1 --times 1000 --delta 1e-5"


def run(arguments: str, *, text: str | None = None) -> str:
    result = CliRunner().invoke(
        app, ["account", *arguments.split()], input=text, env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def price(arguments: str, *, text: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(f"{arguments} --json", text=text))
    return found


def test_thousand_laplace_releases_on_a_fine_grid() -> None:
    """The published values for continuous noise (dp-accounting's, 17.4237 and 18.576 at delta 1e-5)."""
    found = price(COUNTS)
    assert found["delta"] == 1e-5
    assert list(found["epsilon"]) == NAMES
    epsilon = found["epsilon"]
    assert epsilon["basic"] == 100
    assert round(epsilon["advanced"], 2) == 25.69
    assert epsilon["zcdp"] <= 20.17
    assert 18.55 <= epsilon["renyi"] <= 18.58
    assert 17.4236 <= epsilon["pld"] <= 17.43
    assert found["best"] == "pld"
    assert found["priced"] == (
        "Laplace noise of epsilon 0.1 on a fine grid (steps of 2^-20 of the sensitivity), 1,000 times, add-remove"
    )


def test_thousand_laplace_releases_on_whole_counts() -> None:
    found = price(f"{COUNTS} --grid 1")
    assert round(found["epsilon"]["renyi"], 2) == 18.96
    assert round(found["epsilon"]["pld"], 2) == 17.79
    assert "on whole counts" in found["priced"]


def test_the_sampled_gaussian() -> None:
    """Noise 1, sampling 0.01, 10,000 steps: dp-accounting's Rényi value, prv-accountant's interval."""
    found = price(TRAINING)
    assert 6.6 <= found["epsilon"]["renyi"] <= 6.7128
    assert 6.1777 <= found["epsilon"]["pld"] <= 6.20
    assert (found["epsilon"]["basic"], found["epsilon"]["optimal"]) == (None, None)
    assert found["best"] == "pld"
    assert "on a Poisson sample of probability 0.01, 10,000 times, add-remove" in found["priced"]


def test_the_event_is_what_was_priced() -> None:
    found = price("gaussian --sigma 2 --sampling 1/2 --times 3 --grid 1/4 --delta 1e-5")
    event = Event.from_json(json.dumps(found["event"]))
    noise = GaussianEvent(variance=64, sensitivity_squared=16, grid="1/4")
    assert event == RepeatedEvent(event=PoissonSampledEvent(event=noise, probability="1/2"), times=3)
    assert found["epsilon"] == best(event, "1e-5").epsilons


def test_fixed_size_sampling_is_replace_one() -> None:
    found = price("gaussian --sigma 2 --sample-size 10 --population 1000 --times 5 --delta 1e-5")
    assert found["priced"].endswith("on a sample of 10 out of 1,000, 5 times, replace-one")
    assert found["event"]["adjacency"] == "replace-one"


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ("randomized-response --epsilon 1 --categories 4", "RandomizedResponseEvent", "over 4 answers, once, replace"),
        ("exponential --epsilon 1", "ExponentialEvent", "Exponential mechanism of epsilon 1, once, add-remove"),
        ("pure --epsilon 1/3 --adjacency replace-one", "GuaranteedEvent", "pure epsilon 1/3, once, replace-one"),
        ("shuffle --epsilon 1 --reports 1000", "ShuffledEvent", "1,000 shuffled reports of any local randomizer"),
        ("shuffle --epsilon 1 --reports 1000 --categories 2", "ShuffledEvent", "randomized response over 2 answers"),
    ],
)
def test_other_mechanisms(arguments: str, kind: str, words: str) -> None:
    found = price(f"{arguments} --delta 1e-6")
    assert found["event"]["kind"] == kind
    assert words in found["priced"]
    epsilon = found["epsilon"][found["best"]]
    assert 0 < epsilon <= 1
    assert epsilon == min(value for value in found["epsilon"].values() if value is not None)


def test_shuffling_helps() -> None:
    epsilon = price("shuffle --epsilon 1 --reports 10000 --delta 1e-6")["epsilon"]
    assert epsilon["pld"] < 0.1 < epsilon["basic"] == 1


def test_a_small_bounded_range_is_cheaper_than_any_pure_mechanism() -> None:
    ranged, pure = (price(f"{kind} --epsilon 0.1 --times 1000 --delta 1e-6") for kind in ("exponential", "pure"))
    assert ranged["epsilon"]["renyi"] < 0.6 * pure["epsilon"]["renyi"]


def test_an_event_is_read_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    event = LaplaceEvent(scale=10, sensitivity=1)
    file = tmp_path / "event.json"
    file.write_text(event.to_json(), encoding="utf-8")
    found = price(f"event {file} --times 1000 --delta 1e-5")
    assert found == price("event - --times 1000 --delta 1e-5", text=event.to_json())
    assert found["epsilon"] == price(f"{COUNTS} --grid 1")["epsilon"]


def test_the_table_marks_the_smallest_and_fits_80_columns() -> None:
    text = run(COUNTS)
    first, *others = text.splitlines()
    assert first.startswith("Laplace noise of epsilon 0.1 on a fine grid")  # one line, to be copied
    assert max(map(len, others)) <= 80
    assert "pld *        17.42" in text
    assert "Smallest bound: ε = 17.42" in text
    assert "no rule for when to stop" in text
    assert "\x1b" not in text


def test_the_table_says_where_an_accountant_gives_no_bound() -> None:
    lines = [" ".join(line.split()) for line in run("gaussian --sigma 2 --delta 1e-6").splitlines()]
    assert "basic – gives no bound here" in lines


def test_what_makes_no_sense_is_one_line() -> None:
    cases: list[tuple[str, str]] = [
        ("gaussian --sigma -1 --delta 1e-5", "sigma must be greater than 0, not '-1'."),
        ("gaussian --sigma nan --delta 1e-5", "sigma must be a number"),
        ("gaussian --sigma 1e-300 --delta 1e-5", "sigma must be between 1e-100 and 1e100"),
        ("gaussian --sigma 1 --delta 1", "delta must be greater than 0 and less than 1, not '1'."),
        ("gaussian --sigma 1 --delta 0", "delta must be greater than 0 and less than 1, not '0'."),
        ("gaussian --sigma 1 --delta -1e-6", "delta must be greater than 0"),
        ("gaussian --sigma 1", "Missing option '--delta'"),
        ("gaussian --sigma 1 --delta 1e-5 --sampling 1.5", "sampling must be between 0 and 1, not '1.5'."),
        ("gaussian --sigma 1 --delta 1e-5 --sampling 0", "sampling must be greater than 0"),
        ("gaussian --sigma 1 --delta 1e-5 --sampling .1 --sample-size 1 --population 9", "sampling: give either"),
        ("gaussian --sigma 1 --delta 1e-5 --sample-size 1", "population is missing"),
        ("gaussian --sigma 1 --delta 1e-5 --population 1", "sample-size is missing"),
        ("gaussian --sigma 1 --delta 1e-5 --sample-size 9 --population 3", "sample-size must be at most"),
        ("gaussian --sigma 1 --delta 1e-5 --sampling .1 --adjacency replace-one", "adjacency must be add-remove"),
        ("gaussian --sigma 1 --delta 1e-5 --adjacency both", "adjacency must be add-remove or replace-one"),
        ("gaussian --sigma 1 --delta 1e-5 --times 0", "times must be at least 1, not 0."),
        ("gaussian --sigma 1 --delta 1e-5 --times many", "'many' is not a valid"),
        ("gaussian --sigma 1 --delta 1e-5 --grid 2", "grid must be the sensitivity divided by an integer"),
        ("gaussian --sigma 1 --delta 1e-5 --grid 0", "grid must be the sensitivity divided by an integer"),
        ("laplace --epsilon 0 --delta 1e-5", "epsilon must be greater than 0, not '0'."),
        ("pure --epsilon much --delta 1e-5", "epsilon must be a number"),
        ("randomized-response --epsilon 1 --categories 1 --delta 1e-5", "categories must be at least 2"),
        ("shuffle --epsilon 1 --reports 0 --delta 1e-5", "reports must be at least 1"),
        ("event nowhere.json --delta 1e-5", "The file 'nowhere.json' cannot be read"),
        ("cauchy --delta 1e-5", "No such command 'cauchy'"),
    ]
    for arguments, message in cases:
        for extra in ([], ["--json"]):
            result = CliRunner().invoke(app, ["account", *arguments.split(), *extra])
            assert result.exit_code == 2
            assert result.stdout == ""
            assert result.stderr.startswith("Error: ")
            assert result.stderr.count("\n") == 1
            assert message in result.stderr


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"kind": "Nothing", "version": 1}', "[1]", '"\ud83d"'])
def test_what_is_no_event_is_one_line(text: str) -> None:
    result = CliRunner().invoke(
        app, ["account", "event", "-", "--delta", "1e-5"], input=text.encode("utf-8", "replace")
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: Standard input holds no event. ")
    assert result.stderr.count("\n") == 1


def test_a_guarantee_is_no_event(tmp_path: Path) -> None:
    file = tmp_path / "guarantee.json"
    file.write_text('{"adjacency": "add-remove", "epsilon": "1", "kind": "PureDP", "unit": "row", "version": 1}')
    result = CliRunner().invoke(app, ["account", "event", str(file), "--delta", "1e-5"])
    assert result.exit_code == 2
    assert "holds a PureDP, not a Event" in " ".join(result.stderr.split())
    file.write_bytes(b"\xff\xfe")
    result = CliRunner().invoke(app, ["account", "event", str(file), "--delta", "1e-5"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not text in UTF-8" in result.stderr


def test_help_names_the_commands() -> None:
    text = run("--help")
    for command in ("gaussian", "laplace", "event", "shuffle", "iteration", "calibrate", "plot", "game"):
        assert command in text


def test_a_real_process_prints_json_and_nothing_else() -> None:
    command = [sys.executable, "-m", "celosia", "account", *COUNTS.split(), "--json"]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "FORCE_COLOR": "1"}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(answer.stdout)["best"] == "pld"
    assert "\x1b" not in answer.stdout
