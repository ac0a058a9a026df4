from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from celosia.accounting import best
from celosia.cli.app import app
from celosia.core import Event


def run(arguments: str) -> str:
    result = CliRunner().invoke(
        app, ["account", "calibrate", *arguments.split()], env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def found(arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(f"{arguments} --json"))
    return answer


def test_sigma_of_one_release() -> None:
    """Balle and Wang 2018: 4.2248 for continuous noise at epsilon 1 and delta 1e-6, which a fine grid comes near to."""
    answer = found("gaussian --epsilon 1 --delta 1e-6")
    assert 4.2247 <= answer["sigma"] <= 4.2256
    assert answer["too_small"]["sigma"] < answer["sigma"] <= answer["too_small"]["sigma"] * 1.0002
    assert answer["epsilon"] <= 1 < answer["too_small"]["epsilon"]
    assert best(Event.from_json(json.dumps(answer["event"])), "1e-6").epsilon == answer["epsilon"]


def test_whole_counts_have_a_sigma_of_their_own() -> None:
    coarse = found("gaussian --epsilon 8 --delta 1e-6 --grid 1 --tolerance 1e-3")
    fine = found("gaussian --epsilon 8 --delta 1e-6 --tolerance 1e-3")
    assert coarse["sigma"] != fine["sigma"]
    assert "on whole counts" in coarse["priced"]


def test_sampled_steps_need_less_noise() -> None:
    answer = found("gaussian --epsilon 2 --delta 1e-5 --sampling 0.01 --times 10 --tolerance 1e-1")
    assert 0.5 < answer["sigma"] < 1
    assert answer["target"] == {"epsilon": 2.0, "delta": 1e-5}


def test_the_scale_of_laplace_noise() -> None:
    answer = found("laplace --epsilon 1 --delta 1e-6 --times 10 --adjacency replace-one --tolerance 1e-3")
    assert answer["scale"] <= 10.01  # basic composition needs ten
    assert answer["event"]["adjacency"] == "replace-one"
    assert f"scale {answer['scale']:g} " in answer["priced"]


def test_what_is_printed_is_what_was_priced() -> None:
    text = run("laplace --epsilon 3 --times 4 --delta 1e-6 --tolerance 1e-3")
    answer = found("laplace --epsilon 3 --times 4 --delta 1e-6 --tolerance 1e-3")
    assert f"scale = {answer['scale']} is enough for ε = 3 at δ = 1e-6:" in text
    assert f"With scale = {answer['too_small']['scale']} it is ε = " in text


def test_a_fine_tolerance_is_kept() -> None:
    answer = found("laplace --epsilon 1 --delta 1e-6 --tolerance 1e-8")
    assert answer["scale"] <= answer["too_small"]["scale"] * (1 + 1.1e-8)
    assert answer["epsilon"] <= 1 < answer["too_small"]["epsilon"]
    text = run("laplace --epsilon 1 --delta 1e-6 --tolerance 1e-8")
    assert f"scale = {answer['scale']} is enough" in text  # all its digits: fewer might not be enough
    assert f"With scale = {answer['too_small']['scale']} it is" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("gaussian --epsilon 0 --delta 1e-6", "epsilon must be greater than 0"),
        ("gaussian --epsilon 1 --delta 0", "delta must be greater than 0 and less than 1"),
        ("gaussian --epsilon 1 --delta 1", "delta must be greater than 0 and less than 1"),
        ("gaussian --epsilon 1 --delta 1e-6 --sampling 3", "sampling must be between 0 and 1"),
        ("gaussian --epsilon 1 --delta 1e-6 --tolerance 0", "tolerance must be greater than 0"),
        ("laplace --epsilon 1 --delta 1e-6 --times -3", "times must be at least 1"),
        ("laplace --epsilon 1 --delta 1e-6 --grid 5", "grid must be"),
        ("cauchy --epsilon 1", "No such command"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments: str, message: str) -> None:
    result = CliRunner().invoke(app, ["account", "calibrate", *arguments.split()])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
