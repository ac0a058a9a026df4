from __future__ import annotations

import json
import math
from typing import Any

import pytest
from scipy import stats
from typer.testing import CliRunner

from celosia.cli.account.game import guarantee_of
from celosia.cli.app import app
from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, ParameterError, PureDP


def run(arguments: str) -> str:
    result = CliRunner().invoke(app, ["account", "game", *arguments.split()], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.stderr
    return result.stdout


def played(arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(f"{arguments} --json"))
    return found


def test_pure_privacy_bounds_beliefs() -> None:
    found = played("--epsilon 1")
    assert found["posterior"] == pytest.approx({"low": 1 / (1 + math.e), "high": math.e / (1 + math.e)})
    assert found["success"] == pytest.approx(math.e / (1 + math.e))
    sure = played("--epsilon 1 --prior 0.9")["posterior"]
    assert sure["high"] == pytest.approx(0.9 * math.e / (0.9 * math.e + 0.1))


def test_other_guarantees_bound_no_belief() -> None:
    for arguments in ("--epsilon 1 --delta 1e-6", "--mu 1", "--rho 0.5"):
        assert played(arguments)["posterior"] is None
        assert "Only pure privacy bounds beliefs" in run(arguments)


def test_approximate_success() -> None:
    assert played("--epsilon 1 --delta 0.1")["success"] == pytest.approx((math.e + 0.1) / (1 + math.e))


def test_the_trade_off_of_gaussian_privacy() -> None:
    for point in played("--mu 1")["trade_off"]:
        exact = stats.norm.cdf(stats.norm.ppf(1 - point["false_alarm"]) - 1)
        assert point["miss"] == pytest.approx(exact, rel=1e-9)
        assert point["miss"] <= exact


def test_the_table_fits() -> None:
    text = run("--epsilon 1")
    assert "0.268941 to 0.731059" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "Best guess between equally likely ones" in text  # a prior lets one guess better without any release
    assert "0.864085" in text  # at five per cent of false alarms, rounded down


@pytest.mark.parametrize(
    ("options", "guarantee", "words"),
    [
        ({"epsilon": "0.1"}, PureDP(epsilon="0.1"), "pure, ε = 0.1"),
        ({"epsilon": "1", "delta": "1e-6"}, ApproxDP(epsilon=1, delta="1e-6"), "approximate, ε = 1, δ = 1e-6"),
        ({"mu": "2"}, GaussianDP(mu=2), "Gaussian, μ = 2"),
        ({"rho": "1/2"}, ZCDP(rho="1/2"), "zero-concentrated, ρ = 0.5"),
    ],
)
def test_options_are_guarantees(options: dict[str, str], guarantee: Guarantee, words: str) -> None:
    nothing: dict[str, str | None] = {"epsilon": None, "delta": None, "mu": None, "rho": None}
    assert guarantee_of(**nothing | options) == (guarantee, words)


def test_one_guarantee_is_needed() -> None:
    with pytest.raises(ParameterError, match=r"--mu and --rho\.$"):
        guarantee_of(epsilon=None, delta=None, mu=None, rho=None)
    with pytest.raises(ParameterError, match="not --epsilon and --mu"):
        guarantee_of(epsilon="1", delta=None, mu="1", rho=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Give one of --epsilon, --mu and --rho"),
        ("--mu 1 --delta 1e-6", "delta goes with --epsilon, not with --mu"),
        ("--epsilon -1", "epsilon must be 0 or greater"),
        ("--epsilon 1 --delta 1", "delta must be less than 1"),
        ("--epsilon 1 --delta 2", "delta must be between 0 and 1"),
        ("--epsilon 1 --prior 2", "prior must be between 0 and 1"),
        ("--mu nan", "mu must be a number"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments: str, message: str) -> None:
    result = CliRunner().invoke(app, ["account", "game", *arguments.split()])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
