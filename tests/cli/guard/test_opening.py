from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.cli.guard.opening import open_guard, print_message, print_table
from celosia.core.errors import ParameterError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard

if TYPE_CHECKING:
    from pathlib import Path


def test_a_guard_is_opened_from_its_configuration(tmp_path: Path) -> None:
    Config(store="sqlite:///ledger.db").write(tmp_path / "guard.toml")
    with pytest.raises(ParameterError, match="there is no ledger"), open_guard(tmp_path / "guard.toml"):
        pass
    assert not (tmp_path / "ledger.db").exists()
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        pass
    with pytest.raises(ParameterError, match="has no users: it is not the one that was set up"):
        open_guard(tmp_path / "guard.toml").__enter__()
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        guard.add_user(Identity.local(), "owner", "owner")
    with open_guard(tmp_path / "guard.toml") as guard:
        assert guard.health() == {"status": "ok"}
    with pytest.raises(ParameterError, match="celosia guard init writes one"), open_guard(tmp_path / "nowhere.toml"):
        pass


def test_words_go_to_standard_error_and_tables_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_message("Done [bold]indeed[/bold].")
    print_table(["Name", "Title"], [["ana", "[red]not red[/red]"]])
    captured = capsys.readouterr()
    assert captured.err.strip() == "Done [bold]indeed[/bold]."
    assert "[red]not red[/red]" in captured.out
