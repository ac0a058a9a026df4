from __future__ import annotations

from typing import TYPE_CHECKING

from celosia.cli.ledger.show import format_guarantee, print_statement
from celosia.core import ZCDP, ApproxDP, PureDP, RenyiDP
from celosia.ledger import Policy, Window, open_ledger

if TYPE_CHECKING:
    import pytest


def test_guarantees_are_written_on_a_line() -> None:
    assert format_guarantee(ApproxDP(epsilon=1, delta="1e-6")) == "ε = 1, δ = 1e-6"
    assert format_guarantee(ZCDP(rho="0.5")) == "ρ = 0.5"
    assert format_guarantee(RenyiDP(orders=(2, 8), epsilons=(1, 4))) == "a curve of 2 orders"


def test_names_cannot_play_tricks(capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger("memory://") as ledger:
        ledger.set_budget(PureDP(epsilon=1), dataset="[red]deaths[/red]")
        print_statement(ledger.statement())
    assert "[red]deaths[/red]" in capsys.readouterr().out


def test_lines_are_json() -> None:
    with open_ledger("memory://") as ledger:
        window = Window(seconds=60, limit=PureDP(epsilon="0.1"))
        ledger.set_budget(Policy(limit=PureDP(epsilon="1/3"), window=window), dataset="d", analyst="a")
        [line] = ledger.statement()
    found = line.to_json()
    assert (found["dataset"], found["analyst"], found["accountant"]) == ("d", "a", "pure")
    assert found["limit"]["epsilon"] == "1/3"
    assert found["window"]["remaining"]["epsilon"] == "1/10"
    assert found["window"]["renews"] is not None
