from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.cli.guard.budgets import BudgetOptions
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard
from celosia.ledger import Scope

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("budgets")
    Config(store="sqlite:///ledger.db").write(place / "guard.toml")
    (place / "deaths.csv").write_text("age\n34\n", encoding="utf-8")
    with Guard.open(Config.read(place / "guard.toml")) as guard:
        guard.add_dataset(Identity.local(), "deaths", str(place / "deaths.csv"), SCHEMA)
        guard.add_user(Identity.local(), "ana", "analyst")
    return place


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["guard", "budget", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_budgets_are_set_and_shown(folder: Path) -> None:
    out, err = run(folder, "show", "--analyst", "ana")
    assert "celosia guard budget set opens one" in err
    out, _ = run(folder, "set", "--dataset", "deaths", "--epsilon", "3", "--delta", "1e-6")
    assert "ε = 3, δ = 1e-6" in out
    window = ("--window-days", "30", "--window-epsilon", "1/3")
    run(folder, "set", "--dataset", "deaths", "--analyst", "ana", "--epsilon", "1", "--delta", "1e-7", *window)
    run(folder, "set", "--analyst", "ana", "--epsilon", "2", "--delta", "1e-6")
    with Guard.open(Config.read(folder / "guard.toml")) as guard:
        budgets = guard.ledger.budgets
        [*_, line] = guard.ledger.entries()
    assert budgets[Scope(dataset="deaths")].limit == cl.ApproxDP(epsilon=3, delta="1e-6")
    own = budgets[Scope(dataset="deaths", analyst="ana")]
    assert own.window is not None
    assert own.window.seconds == 30 * 86_400
    assert own.window.limit == cl.ApproxDP(epsilon="1/3", delta="1e-7")
    assert line.body["by"] == "local"
    out, _ = run(folder, "show")
    assert out.count("deaths") == 2
    assert "(30 days)" in out
    out, _ = run(folder, "show", "--dataset", "deaths", "--analyst", "ana")
    assert out.count("ana") == 2
    event = cl.mechanisms.Laplace(epsilon="0.125", sensitivity=1).event
    with Guard.open(Config.read(folder / "guard.toml")) as guard:
        for kind in ("query", "federated"):
            guard.ledger.reserve(event, dataset="deaths", kind=kind)
    out, err = run(folder, "show", "--dataset", "deaths")
    assert out.count("queries (1)") == out.count("federated training (1)") == 1
    assert "need not add up" in err
    same, lower = (("set", "--dataset", "deaths", "--epsilon", epsilon, "--delta", "1e-6") for epsilon in "32")
    run(folder, *same)  # changes nothing
    _, err = run(folder, *lower, code=2)
    assert "This changes the budget from ε = 3, δ = 1e-6 to ε = 2, δ = 1e-6. Nothing was done" in err
    out, _ = run(folder, *lower, "--yes")
    assert "ε = 2, δ = 1e-6" in out


def test_a_rule_stays_until_0_removes_it(tmp_path: Path) -> None:
    Config(store="sqlite:///ledger.db").write(tmp_path / "guard.toml")
    (tmp_path / "deaths.csv").write_text("age\n34\n", encoding="utf-8")
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        guard.add_dataset(Identity.local(), "deaths", str(tmp_path / "deaths.csv"), SCHEMA)
        guard.add_user(Identity.local(), "ana", "analyst")
    same = ("set", "--dataset", "deaths", "--epsilon", "100")
    rules = "a question costs at least 0.01, each analyst may spend 0.2 of the budget"
    given = ("--least-cost", "0.01", "--analyst-share", "0.2", "--approval-above", "1")
    out, _ = run(tmp_path, *same, *given)
    assert (
        f"Rules for analysts, data set 'deaths': {rules}, a question that costs more than 1 needs an approval." in out
    )
    for arguments in (same, ("show",)):
        again, _ = run(tmp_path, *arguments)
        assert again == out
    removed = (*same, "--approval-above", "0")
    _, err = run(tmp_path, *removed, code=2)
    assert f"needs an approval) to ε = 100 ({rules}). Nothing was done" in err
    out, _ = run(tmp_path, *removed, "--yes")
    assert f"{rules}." in out
    out, _ = run(tmp_path, *same, "--least-cost", "0.0", "--analyst-share", "0", "--yes")
    assert "Rules" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "--epsilon", "1"), "Give --dataset, --analyst or both"),
        (("set", "--dataset", "deaths"), "Give --epsilon or --rho"),
        (("set", "--dataset", "deaths", "--epsilon", "1", "--rho", "1"), "Give --epsilon or --rho"),
        (("set", "--dataset", "deaths", "--rho", "1", "--delta", "1e-6"), "a rho has none"),
        (("set", "--dataset", "deaths", "--epsilon", "-1"), "epsilon must be 0 or greater"),
        (("set", "--dataset", "deaths", "--epsilon", "nan"), "epsilon must be a number"),
        (("set", "--dataset", "deaths", "--epsilon", "1e-400"), "epsilon must be"),
        (("set", "--dataset", "deaths", "--epsilon", "1", "--delta", "2"), "delta must be between 0 and 1"),
        (("set", "--dataset", "births", "--epsilon", "1"), "There is no data set 'births'"),
        (("set", "--analyst", "nobody", "--epsilon", "1"), "There is no user 'nobody'"),
        (("set", "--dataset", "deaths", "--epsilon", "1", "--window-epsilon", "1"), "window_days must be given"),
        (("set", "--dataset", "deaths", "--epsilon", "1", "--window-days", "3"), "Give --window-epsilon"),
        (
            ("set", "--dataset", "deaths", "--epsilon", "1", "--window-days", "0", "--window-epsilon", "1"),
            "window_days must be at least 1",
        ),
        (("show", "--dataset", "births"), "There is no data set 'births'"),
    ],
)
def test_mistakes_are_told_in_a_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    hidden = words.startswith(("There is no data set", "There is no user"))
    _, err = run(folder, *arguments, code=3 if hidden else 2)
    assert words in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"epsilon": "1/3"}, cl.PureDP(epsilon="1/3")),
        ({"epsilon": "1", "delta": "0"}, cl.PureDP(epsilon=1)),
        ({"epsilon": "1", "delta": "1e-6"}, cl.ApproxDP(epsilon=1, delta="1e-6")),
        ({"rho": "0.5"}, cl.ZCDP(rho="0.5")),
    ],
)
def test_amounts_are_exact(given: dict[str, str], limit: cl.Guarantee) -> None:
    options: dict[str, Any] = given
    assert BudgetOptions(**options).policy().limit == limit


def test_a_window_may_have_a_delta_of_its_own() -> None:
    policy = BudgetOptions(epsilon="3", delta="1e-6", window_days=7, window_epsilon="1", window_delta="1e-7").policy()
    assert policy.window is not None
    assert policy.window.limit == cl.ApproxDP(epsilon=1, delta="1e-7")
    policy = BudgetOptions(rho="1", window_days=7, window_rho="0.1").policy()
    assert policy.window is not None
    assert policy.window.limit == cl.ZCDP(rho="0.1")
