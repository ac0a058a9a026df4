from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.cli.ledger.commands import BudgetOptions
from celosia.core import ZCDP, ApproxDP, GuaranteedEvent, ParameterError, PureDP, ReplaceOne
from celosia.ledger import Policy, Scope, Window, open_ledger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'budget.db'}"


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["ledger", *map(str, arguments)], env={"COLUMNS": "120", "NO_COLOR": "1"})
    assert result.exit_code == code, result.stderr
    if code == 2:
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
    return result.stdout, result.stderr


def test_budgets_are_set_and_shown(url: str) -> None:
    shown, _ = run("budget", url, "--dataset", "deaths", "--epsilon", "3", "--delta", "1e-6")
    assert "deaths" in shown
    assert shown.count("ε = 3, δ = 1e-6") == 1
    assert "ε = 3, δ = 2e-7" in shown  # a part of delta pays for composition
    run("budget", url, "--analyst", "ana", "--rho", "0.1")
    shown, _ = run("show", url)
    assert "ρ = 0.1" in shown
    assert "deaths" in shown
    with open_ledger(url) as ledger:
        assert ledger.budgets == {
            Scope(dataset="deaths"): Policy(limit=ApproxDP(epsilon=3, delta="1e-6")),
            Scope(analyst="ana"): Policy(limit=ZCDP(rho="0.1")),
        }
        ledger.set_budget(PureDP(epsilon=1), dataset="births")
        ledger.reserve(GuaranteedEvent(guarantee=PureDP(epsilon="0.25")), dataset="births")
    shown, _ = run("show", url, "--dataset", "births")
    assert "ε = 0.75" in shown
    assert "deaths" not in shown
    assert "1 reserved and not answered" in shown
    found = json.loads(run("show", url, "--json")[0])
    assert [line["dataset"] for line in found["budgets"]] == [None, "births", "deaths"]
    assert found["budgets"][1]["spent"]["epsilon"] == "1/4"
    assert found["open"] == 1


def test_spending_is_shown_by_kind(url: str) -> None:
    with open_ledger(url) as ledger:
        ledger.set_budget(PureDP(epsilon=1), dataset="deaths")
        ledger.set_budget(ApproxDP(epsilon=1, delta="1e-6"), analyst="ana")
        for kind in ("query", "local", "local"):
            event = GuaranteedEvent(guarantee=PureDP(epsilon="0.125"))
            ledger.reserve(event, dataset="deaths", analyst="ana", kind=kind)
    shown, _ = run("show", url, "--dataset", "deaths")
    assert shown.count("queries (1)") == shown.count("local collections (2)") == 2
    assert shown.count("The costs of the kinds need not add up to the total.") == 1
    shown = CliRunner().invoke(app, ["--lang", "es", "ledger", "show", url], env={"COLUMNS": "120"}).stdout
    assert "recogidas locales (2)" in shown
    assert "Los costes de las clases no tienen por qué sumar el total." in shown
    found = json.loads(run("show", url, "--json")[0])
    [line] = [line for line in found["budgets"] if line["dataset"] == "deaths"]
    assert [(one["kind"], one["releases"], one["cost"]["epsilon"]) for one in line["kinds"]] == [
        ("query", 1, "1/8"),
        ("local", 2, "1/4"),
    ]


def test_a_window_is_set_and_shown(url: str) -> None:
    run(
        "budget",
        url,
        "--dataset",
        "d",
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--window-days",
        "7",
        "--window-epsilon",
        1,
    )
    with open_ledger(url) as ledger:
        [policy] = ledger.budgets.values()
    assert policy.window == Window(seconds=7 * 86_400, limit=ApproxDP(epsilon=1, delta="1e-6"))
    shown, _ = run("show", url)
    assert "until 20" in shown
    assert json.loads(run("show", url, "--json")[0])["budgets"][0]["window"]["seconds"] == 604_800


def test_a_preset_is_a_budget(url: str) -> None:
    run("budget", url, "--dataset", "deaths", "--preset", "usual", "--persons", "30000", "--unit", "person")
    with open_ledger(url) as ledger:
        assert ledger.budgets[Scope(dataset="deaths")].limit == ApproxDP(epsilon=2, delta="1e-6", unit="person")
    for wrong in (["--preset", "usual"], ["--preset", "usual", "--persons", "9", "--epsilon", "1"]):
        assert "--preset goes with --persons" in run("budget", url, "--dataset", "births", *wrong, code=2)[1]


def test_options_become_policies() -> None:
    assert BudgetOptions(epsilon="0.1", unit="person", adjacency="replace-one").policy() == Policy(
        limit=PureDP(epsilon="0.1", unit="person", adjacency=ReplaceOne)
    )
    both = BudgetOptions(epsilon="1", delta="1e-6", accountant="zcdp", allow_real=True).policy()
    assert (both.accountant, both.allow_real) == ("zcdp", True)
    assert BudgetOptions(rho="1", window_days=1, window_rho="0.1").policy().window == Window(
        seconds=86_400, limit=ZCDP(rho="0.1")
    )
    for wrong in (
        BudgetOptions(),
        BudgetOptions(delta="1e-6"),
        BudgetOptions(epsilon="1", rho="1"),
        BudgetOptions(epsilon="-1"),
        BudgetOptions(epsilon="nan"),
        BudgetOptions(epsilon="1e-400"),
        BudgetOptions(epsilon="1", accountant="pld"),
        BudgetOptions(epsilon="1", window_epsilon="1"),
        BudgetOptions(epsilon="1", window_days=7),
        BudgetOptions(epsilon="1", window_days=0, window_epsilon="1"),
        BudgetOptions(epsilon="1", adjacency="near"),
    ):
        with pytest.raises(ParameterError):
            wrong.policy()


def test_a_ledger_is_verified_exported_and_its_head_printed(url: str, tmp_path: Path) -> None:
    run("budget", url, "--dataset", "deaths", "--epsilon", "1")
    head = run("head", url)[0].strip()
    assert run("verify", url)[0] == f"As it was written: 2 lines. Head {head}\n"
    run("verify", url, "--head", head)
    run("verify", url, "--head", head.partition(":")[2])
    exported, _ = run("export", url)
    assert [json.loads(line)["kind"] for line in exported.splitlines()] == ["opened", "budget"]
    file = tmp_path / "log.jsonl"
    assert "2 lines" in run("export", url, "--output", file)[0]
    assert file.read_text() == exported
    assert "there already" in run("export", url, "--output", file, code=2)[1]
    assert "rewritten" in run("verify", url, "--head", "0" * 64, code=1)[0]
    with open_ledger(url) as ledger, ledger.store.transaction() as connection:
        connection.execute(text("UPDATE celosia_log SET kind = 'x' WHERE sequence = 2"))
    assert run("verify", url, code=1)[0].startswith("NOT as it was written, after 1 lines that hold. Line 2")
    with open_ledger(url) as ledger, ledger.store.transaction() as connection:
        connection.execute(text("DELETE FROM celosia_head"))
    assert "lost its head" in run("verify", url, code=1)[0]


@pytest.mark.parametrize("command", ["show", "verify", "export", "head"])
def test_only_budget_begins_a_ledger(command: str, url: str, tmp_path: Path) -> None:
    assert "there is no ledger" in run(command, url, code=2)[1]
    assert list(tmp_path.iterdir()) == []
    assert "gone when the command ends" in run(command, "memory://", code=2)[1]


def test_wrong_budgets_write_nothing(url: str, tmp_path: Path) -> None:
    assert "Give --epsilon" in run("budget", url, "--dataset", "deaths", code=2)[1]
    assert "epsilon must be 0 or greater" in run("budget", url, "--dataset", "d", "--epsilon", "-1", code=2)[1]
    assert list(tmp_path.iterdir()) == []
    assert "give dataset or analyst" in run("budget", url, "--epsilon", "1", code=2)[1]
    with cl.open_ledger(url) as ledger:
        assert not ledger.budgets


def test_the_group_shows_its_help() -> None:
    shown, _ = run()
    for command in ("budget", "show", "verify", "export", "head"):
        assert command in shown


def test_an_edited_head_commands_no_terminal(url: str) -> None:
    run("budget", url, "--dataset", "deaths", "--epsilon", "1")
    with open_ledger(url) as ledger, ledger.store.transaction() as connection:
        connection.execute(text("UPDATE celosia_head SET hash = 'a' || char(27) || '[2Jb'"))
    assert run("head", url)[0] == "2:a\\x1b[2Jb\n"
