from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from celosia.core.guarantees import PureDP
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard
from celosia.ledger import Request
from tests.cli.guard.test_commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def filed(tmp_path: Path) -> str:
    """The id of an approval of ana."""
    run(tmp_path, "init")
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        request, costly = Request(key="k", digest="d"), {"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths"}
        return guard._approvals.file("ana", request, costly, cost=PureDP(epsilon=2), question="How \x1b[2J many?").id


def test_approvals_are_listed_and_decided(tmp_path: Path, filed: str) -> None:
    out, _ = run(tmp_path, "approval", "list", "--state", "pending")
    assert [word in out for word in (filed, "ana", "deaths", "How \\x1b[2J many?", "ε = 2", "waits")] == [True] * 6
    _, err = run(tmp_path, "approval", "deny", filed, "--reason", "too much")
    assert err == f"Approval {filed} of ana is denied.\n"
    _, err = run(tmp_path, "approval", "grant", filed, "--lang", "es")
    assert err == f"La aprobación {filed} de ana está concedida.\n"
    assert "granted" in run(tmp_path, "approval", "list")[0]
    assert "approval " + filed in run(tmp_path, "log")[0]
    lines = [json.loads(line) for line in run(tmp_path, "log", "--json")[0].splitlines()]
    assert [line["body"].get("reason") for line in lines[-2:]] == ["too much", ""]


def test_bad_input(tmp_path: Path, filed: str) -> None:
    wrongs = [(3, ["grant", "0f"]), (2, ["deny", filed, "--reason", "x" * 1_001]), (2, ["list", "--state", "open"])]
    wrongs += [(2, ["grant", filed, "--reason", wrong]) for wrong in ("\x1b[31mred", "two\nlines")]
    for code, wrong in wrongs:
        _, err = run(tmp_path, "approval", *wrong, code=code)
        assert err.startswith("Error: ")
