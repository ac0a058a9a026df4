from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.guard.config.settings import Config
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.service import Guard

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 120\n'


def run(folder: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["guard", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stdout, result.stderr


def test_a_guard_is_set_up_with_a_key_that_is_shown_once(tmp_path: Path) -> None:
    out, err = run(tmp_path, "init")
    key = out.strip()
    assert "shown this once" in err
    assert key not in err
    for name in ("guard.toml", "ledger.db"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert key.rpartition("_")[2].encode() not in (tmp_path / name).read_bytes()
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        assert guard.authenticate(key).name == "owner"


def test_where_it_listens_can_be_said_at_once(tmp_path: Path) -> None:
    options = ("--host", "0.0.0.0", "--port", "9000", "--workers", "3", "--behind-proxy")
    run(tmp_path, "init", *options)
    config = Config.read(tmp_path / "guard.toml")
    assert (config.host, config.port, config.workers, config.behind_proxy) == (options[1], 9000, 3, True)


def test_a_guard_in_the_clear_is_not_set_up(tmp_path: Path) -> None:
    for wrong, said in (
        (("--host", "192.0.2.1"), "behind_proxy"),
        (("--port", "70000"), "port"),
        (("--workers", "0"), "workers"),
    ):
        _, err = run(tmp_path, "init", "new", *wrong, code=2)
        assert said in err
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    run(tmp_path, "init", "here/there")
    before = (tmp_path / "here/there/guard.toml").read_bytes()
    _, err = run(tmp_path, "init", "here/there", code=2)
    assert err.startswith("Error: There is a configuration")
    assert err.count("\n") == 1
    assert (tmp_path / "here/there/guard.toml").read_bytes() == before
    (tmp_path / "here/there/guard.toml").unlink()
    _, err = run(tmp_path, "init", "here/there", code=2)  # the store has an owner already
    assert "There is a user 'owner' already" in err
    assert not (tmp_path / "here/there/guard.toml").exists()


def test_a_store_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    for store in ("sqlite:///no/such/folder/ledger.db", "mysql://ana:secret@db/x", "postgresql://a:${NO_SUCH}@b/c"):
        _, err = run(tmp_path, "init", "--store", store, code=2)
        assert err.startswith("Error: ")
        assert "secret" not in err
    assert list(tmp_path.iterdir()) == []


def test_the_log_is_shown_from_its_end(tmp_path: Path) -> None:
    run(tmp_path, "init")
    run(tmp_path, "user", "add", "ana", "--role", "analyst")
    out, err = run(tmp_path, "log", "--limit", "2")
    first, second = out.splitlines()
    assert first.endswith("local added the user ana, as analyst.")
    assert "local gave ana the key" in second
    assert "Head: 5:" in err
    out, _ = run(tmp_path, "log", "--json", "--after", "0", "--limit", "3")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["sequence"] for line in lines] == [1, 2, 3]
    out, _ = run(tmp_path, "log", "--format", "jsonl", "--user", "ana", "--kind", "user added")
    assert [json.loads(line)["sequence"] for line in out.splitlines()] == [4]
    out, _ = run(tmp_path, "log", "--format", "csv", "--since", "2000-01-01")
    assert [line.partition(",")[0] for line in out.splitlines()] == ["sequence", *"12345"]
    out, _ = run(tmp_path, "log", "--format", "csv", "--lang", "es")
    assert "local añadió el usuario ana, como analista." in out
    out, _ = run(tmp_path, "log", "--text", "añadió el usuario", "--lang", "es")
    assert out.count("\n") == 2
    out, _ = run(tmp_path, "log", "--text", "ana", "--limit", "1", "--after", "0")
    assert out.count("\n") == 1
    for wrong, words in ((("--since", "x"), "since must be a day"), (("--format", "xml"), "format must be one of")):
        _, err = run(tmp_path, "log", *wrong, code=2)
        assert words in err
    _, err = run(tmp_path, "log", "--limit", "0", code=2)
    assert "limit must be at least 1" in err


def test_the_log_and_what_follows_from_it_are_verified(tmp_path: Path) -> None:
    run(tmp_path, "init")
    _, err = run(tmp_path, "verify")
    assert err.startswith("As it was written: 3 lines. Head 3:")
    _, err = run(tmp_path, "verify", "--head", "0" * 64, code=1)
    assert "NOT as it was written" in err
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as store, store:
        store.execute("UPDATE celosia_users SET role = 'analyst'")
    _, err = run(tmp_path, "verify", code=1)
    assert "The user 'owner' is not what the log says" in err


def test_serving_is_the_servers_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[str, str]] = []
    server = ModuleType("celosia.guard.server.serve")
    server.serve = lambda path, *, language: served.append((str(path), language))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "celosia.guard.server.serve", server)
    run(tmp_path, "serve", "--config", "other.toml")
    assert served == [("other.toml", "en")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("log",),
        ("user", "list"),
        ("user", "add", "ana", "--role", "analyst"),
        ("dataset", "list"),
        ("dataset", "check"),
        ("budget", "show"),
        ("budget", "set", "--dataset", "deaths", "--epsilon", "1"),
        ("serve",),
    ],
)
def test_without_a_configuration_every_command_says_so_in_a_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    _, err = run(tmp_path, *arguments, code=2)
    assert err == "Error: There is no configuration 'guard.toml': celosia guard init writes one.\n"


@pytest.mark.parametrize("group", [(), ("user",), ("dataset",), ("budget",)])
def test_groups_show_their_help(tmp_path: Path, group: tuple[str, ...]) -> None:
    out, _ = run(tmp_path, *group)
    assert "Usage" in out


def test_the_configuration_can_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "init", "elsewhere")
    monkeypatch.setenv("CELOSIA_GUARD", str(tmp_path / "elsewhere" / "guard.toml"))
    out, _ = run(tmp_path, "user", "list")
    assert "owner" in out


def test_from_nothing_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "deaths.csv").write_text("age\n" + "34\n" * 100, encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    run(tmp_path, "init")
    run(tmp_path, "dataset", "add", "deaths", "deaths.csv", "--schema", "schema.toml")
    run(tmp_path, "budget", "set", "--dataset", "deaths", "--epsilon", "3", "--delta", "1e-6")
    out, _ = run(tmp_path, "user", "add", "ana", "--role", "analyst", "--days", "90")
    with Guard.open(Config.read(tmp_path / "guard.toml")) as guard:
        ana = guard.authenticate(out.strip())
        ask = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="1")
        assert guard.ask(ana, ask, "k").state == "committed"
        assert guard.ledger.account("deaths").spent == cl.ApproxDP(epsilon=1, delta=0)
    out, _ = run(tmp_path, "budget", "show", "--dataset", "deaths")
    assert "ε = 2, δ = 2e-7" in out
    out, _ = run(tmp_path, "log")
    assert "local set the budget of data set 'deaths': ε = 3; δ = 1 × 10⁻⁶." in out
    assert "ana asked deaths, at a cost of ε = 1: SELECT COUNT(*) FROM deaths" in out


def test_an_edited_log_commands_no_terminal_and_is_shown_in_spanish(tmp_path: Path) -> None:
    _, err = run(tmp_path, "init", "--lang", "es")
    assert "Sigue la clave del responsable" in err
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE celosia_log SET kind = 'a' || char(27) || '[2Jb' WHERE sequence = 1")
    out, err = run(tmp_path, "log", "--lang", "es", code=1)
    assert "\x1b" not in out + err
    assert err.startswith("Error: La línea 1 del registro se ha modificado")
    out, _ = run(tmp_path, "user", "list", "--lang", "es")
    assert [word in out for word in ("Usuario", "responsable", "válida")] == [True] * 3
