"""``celosia account presets`` shows the budgets that the package suggests."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from celosia.accounting import PRESETS, suggest_budget
from celosia.accounting.game import game
from celosia.cli.app import app


def test_the_table_has_every_preset_and_what_it_means() -> None:
    shown = CliRunner().invoke(app, ["account", "presets", "--persons", "30000"], env={"COLUMNS": "160"})
    assert shown.exit_code == 0
    for name, preset in PRESETS.items():
        assert name in shown.stdout
        assert preset.when in shown.stdout
    assert "ε = 2, δ = 1e-6" in shown.stdout


def test_json_has_the_same_numbers() -> None:
    told = json.loads(CliRunner().invoke(app, ["account", "presets", "--persons", "500", "--json"]).stdout)
    for line in told["presets"]:
        budget = suggest_budget(line["preset"], persons=500)
        assert (line["epsilon"], line["delta"]) == (float(budget.epsilon), float(budget.delta))
        assert line["success"] == pytest.approx(game(budget).success)


def test_no_persons_are_refused() -> None:
    refused = CliRunner().invoke(app, ["account", "presets", "--persons", "0"])
    assert refused.exit_code != 0
    assert "persons" in refused.stderr
