from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from celosia.cli.app import app
from celosia.cli.guard.users import print_key
from celosia.core.errors import NotAllowedError
from celosia.guard.auth.identity import Identity
from celosia.guard.config.settings import Config
from celosia.guard.service import Guard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Config(store="sqlite:///ledger.db").write(tmp_path / "guard.toml")
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        guard.add_user(Identity.local(), "owner", "owner")
    return tmp_path


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["guard", "user", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def role_of(folder: Path, key: str) -> str:
    with Guard.open(Config.read(folder / "guard.toml")) as guard:
        return guard.authenticate(key).role.value


@pytest.mark.parametrize("role", ["owner", "curator", "analyst", "auditor"])
def test_a_user_gets_a_key_alone_on_standard_output(folder: Path, role: str) -> None:
    out, err = run(folder, "add", "ana", "--role", role)
    assert role_of(folder, out.strip()) == role
    assert out.count("\n") == 1
    assert out.strip() not in err


def test_keys_are_listed_renewed_and_revoked(folder: Path) -> None:
    first, err = run(folder, "add", "ana", "--role", "analyst", "--days", "1")
    assert "ends after 1 day." in err
    second, _ = run(folder, "key", "ana", "--days", "90")
    out, _ = run(folder, "list")
    assert out.count("valid") == 3  # with that of the owner
    assert first.strip() not in out
    _, err = run(folder, "revoke", first[8:20], "--yes")
    assert first[8:20] in err
    with pytest.raises(NotAllowedError):
        role_of(folder, first.strip())
    assert role_of(folder, second.strip()) == "analyst"
    run(folder, "revoke", "ana", "--yes")
    _, err = run(folder, "revoke", "ana", "--yes")
    assert "nothing left to revoke" in err
    out, _ = run(folder, "list")
    assert out.count("revoked") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "Ana", "--role", "analyst"), "name must be 1 to 64 small letters"),
        (("add", "ana", "--role", "king"), "role must be one of"),
        (("add", "ana"), "Missing option '--role'"),
        (("add", "ana", "--role", "analyst", "--days", "0"), "days must be from 1 to 36525, not 0"),
        (("key", "nobody"), "There is no user 'nobody'"),
        (("revoke", "nobody", "--yes"), "There is no user or key 'nobody'"),
        (("revoke", "owner", "--yes"), "the last valid key of an owner"),
        (("revoke", "owner"), "This revokes owner at once and permanently. Nothing was done"),
    ],
)
def test_mistakes_are_told_in_a_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    _, err = run(folder, *arguments, code=3 if words.startswith("There is no user") else 2)
    assert words in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_user_is_added_once(folder: Path) -> None:
    run(folder, "add", "ana", "--role", "analyst")
    _, err = run(folder, "add", "ana", "--role", "owner", code=2)
    assert "celosia guard user key ana" in err


def test_a_key_is_printed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    print_key("celosia_x")
    assert capsys.readouterr().out == "celosia_x\n"
