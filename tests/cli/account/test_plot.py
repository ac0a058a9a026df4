from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from celosia.cli.account.plot import _numbers
from celosia.cli.app import app
from celosia.core import LaplaceEvent

if TYPE_CHECKING:
    from pathlib import Path

PNSGD = "--records 50 --step-size 0.1 --lipschitz 1 --smoothness 1 --sigma 2 --delta 1e-6"


def draw(arguments: str, out: Path) -> str:
    result = CliRunner().invoke(
        app, ["account", "plot", *arguments.split(), "--chart", str(out)], env={"NO_COLOR": "1", "COLUMNS": "80"}
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{out}\n"
    assert result.stderr == ""
    return out.read_text(encoding="utf-8") if out.suffix != ".png" else ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("budget randomized-response", ["Rényi budget of randomized response", "p = 0.75", "probability of the truth"]),
        ("budget laplace --parameter 2 --parameter 1/3", ["Rényi budget of Laplace noise", "λ = 2", "λ = 1/3"]),
        ("profile laplace --epsilon 1 --grid 1", ["Privacy profile", "whole counts", "renyi", "pld"]),
        ("profile exponential --epsilon 1 --times 9", ["Exponential mechanism of epsilon 1, 9 times"]),
        ("growth gaussian --sigma 5 --times 100 --delta 1e-5", ["δ = 1e-5", "each time", "zcdp", "gdp"]),
        ("trade-off --epsilon 1 --epsilon 2 --approximate 1,0.1 --mu 1 --rho 0.1", ["pure, ε = 2", "δ = 0.1", "μ = 1"]),
        ("profile gaussian --sigma 9 --sample-size 1 --population 9", ["a sample of 1 out of 9", "replace-one"]),
        ("trade-off --epsilon 1", ["Grey: what guessing achieves"]),
        (
            f"iteration {PNSGD} --secret-stop",
            ["Amplification by iteration", "secret stop", "step size 0.1", "real-valued"],
        ),
    ],
)
@pytest.mark.sampled(3)
def test_charts_say_what_they_show(arguments: str, words: list[str], tmp_path: Path) -> None:
    drawn = draw(arguments, tmp_path / "chart.svg")
    assert drawn.startswith("<svg")
    assert [word for word in words if word not in drawn] == []


def test_an_example_of_every_trade_off(tmp_path: Path) -> None:
    drawn = draw("trade-off", tmp_path / "chart.svg")
    assert all(words in drawn for words in ("pure, ε = 1", "Gaussian, μ = 1", "100 times Laplace of ε = 0.1"))


def test_events_are_drawn_from_files(tmp_path: Path) -> None:
    file = tmp_path / "count.json"
    file.write_text(LaplaceEvent(scale=2, sensitivity=1).to_json(), encoding="utf-8")
    assert "LaplaceEvent(scale=2, sensitivity=1) as given, 3 times" in draw(
        f"profile event --file {file} --times 3", tmp_path / "chart.svg"
    )
    assert "count.json" in draw(f"trade-off --file {file}", tmp_path / "chart.svg")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "count.json"
    other.write_text(LaplaceEvent(scale=3, sensitivity=1).to_json(), encoding="utf-8")
    assert str(other) in draw(f"trade-off --file {file} --file {other}", tmp_path / "chart.svg")
    draw(f"growth event --file {file} --times 10 --delta 1e-5", tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("budget cauchy --chart chart.svg", "'cauchy' is not one of"),
        ("budget laplace --parameter 0 --chart chart.svg", "scale must be greater than 0"),
        ("budget laplace --chart chart.bmp", "chart must end in .html, .png or .svg, not 'chart.bmp'."),
        ("budget laplace --chart missing/chart.svg", "there is no directory 'missing'"),
        ("budget laplace", "Missing option '--chart'"),
        ("profile gaussian --epsilon 1 --chart chart.svg", "gaussian needs --sigma, not --epsilon."),
        ("profile gaussian --chart chart.svg", "gaussian needs --sigma."),
        ("profile event --chart chart.svg", "event needs --file."),
        ("profile laplace --epsilon 1 --sampling 0.1 --chart chart.svg", "sampling does not go with laplace"),
        ("profile laplace --epsilon 1 --sample-size 5 --chart chart.svg", "sampling does not go with laplace"),
        ("profile pure --epsilon 1 --grid 1 --chart chart.svg", "grid does not go with pure"),
        ("profile randomized-response --epsilon 1 --adjacency add-remove --chart chart.svg", "adjacency does not go"),
        ("budget laplace --parameter 1 --parameter 1 --chart chart.svg", "parameters must differ"),
        (f"budget laplace {'--parameter 1 ' * 8} --chart chart.svg", "parameters must be 1 to 7"),
        (
            "trade-off --epsilon 1 --rho 1 --mu 1 --epsilon 2 --epsilon 3 --mu 2 --mu 3 --mu 4 --chart chart.svg",
            "1 to 7",
        ),
        ("profile pure --epsilon 0 --chart chart.svg", "epsilon must be greater than 0"),
        ("growth pure --epsilon 1 --times 1 --delta 1e-6 --chart chart.svg", "times must be from 2"),
        ("growth pure --epsilon 1 --delta 1 --chart chart.svg", "delta must be greater than 0 and less than 1"),
        ("trade-off --approximate 1 --chart chart.svg", "approximate must be epsilon and delta"),
        ("trade-off --mu -1 --chart chart.svg", "mu must be 0 or greater"),
        (f"iteration {PNSGD} --records 1 --chart chart.svg", "records must be at least 2"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_writes_nothing(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["account", "plot", *arguments.split()])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("most", [2, 3, 10, 999, 10**9])
def test_growth_is_drawn_at_a_few_numbers_of_releases(most: int) -> None:
    numbers = _numbers(most)
    assert (numbers[0], numbers[-1]) == (1, most)
    assert len(set(numbers)) == len(numbers) <= 40
