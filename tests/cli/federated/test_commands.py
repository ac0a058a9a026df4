"""``celosia federated`` without a network: files, costs, models and errors; the network is in ``tests/federated``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import celosia as cl
from celosia.cli.app import app
from celosia.core import ReplaceOne
from celosia.federated.network import operate
from celosia.learn.io.model_file import load
from tests.federated.network.nodes import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(folder: Path, *words: str, code: int = 0, lang: str = "en") -> tuple[str, str]:
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["--lang", lang, "federated", *words], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stdout, result.stderr


def name_data(files: dict[str, str]) -> list[str]:
    return [word for name, file in files.items() for word in ("--data", f"{name}={file}")]


def test_a_description_is_written_and_then_certificates(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "init", "trial", "--party", "Ana", "--party", "Eva")
    assert out.split() == ["trial/federation.toml"]
    before = (tmp_path / "trial" / "federation.toml").read_text()
    assert '[parties."Eva"]' in before
    run(tmp_path, "init", "trial", code=2)
    run(tmp_path, "init", "trial", "--party", "Ana", "--certificates", code=2)
    out, err = run(tmp_path, "init", "trial", "--certificates", "--host", "fed.example.org")
    assert {Path(line).name for line in out.split()} == {path.name for path in (tmp_path / "trial").iterdir()} - {
        "federation.toml"
    }
    assert "'Eva' needs these files" in err
    assert "party-2.key" in err
    assert (tmp_path / "trial" / "federation.toml").read_text() == before
    run(tmp_path, "init", "trial", "--certificates", code=2)


def test_a_federation_runs_in_one_process_and_pays_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=4, delta="1e-4", adjacency=ReplaceOne), dataset="visits")
    files = write_files(tmp_path, server='ledger = "sqlite:///budget.db"\ndataset = "visits"')
    words = ["run", *name_data(files), "--output", "model.json", "--in-process"]
    out, err = run(tmp_path, *words)
    assert out.strip() == "model.json"
    assert "Parties: 2. Rounds: 3. Bytes from each party in each round: 48." in err
    assert "ε = 4, δ = 1e-5" in err
    assert load(tmp_path / "model.json").coef_.shape == (2,)
    run(tmp_path, *words, code=2)
    run(tmp_path, *words, "--force", code=4)
    with cl.open_ledger(url) as ledger:
        assert [one.state for one in ledger.account("visits").history] == ["committed"]


def test_it_speaks_spanish(tmp_path: Path) -> None:
    files = write_files(tmp_path, server="seed = 5")
    _, err = run(tmp_path, "run", *name_data(files), "--output", "m.json", "--in-process", lang="es")
    assert "Partes: 2. Rondas: 3." in err
    assert "no oculta a nadie" in err
    assert (
        "registros de la parte"
        in run(tmp_path, "run", "--data", f"north={files['north']}", "--output", "n.json", code=2, lang="es")[1]
    )


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    files = write_files(tmp_path, server="")
    north = f"north={files['north']}"
    bad: list[tuple[list[str], int, str]] = [
        (["run", "--data", "north", "--output", "m.json"], 2, "NAME=FILE"),
        (["run", "--data", "east=east.csv", "--output", "m.json"], 2, "no party 'east'"),
        (["run", "--data", north, "--output", "m.json"], 2, "'south' are elsewhere"),
        (["run", "--data", "north=none.csv", "--output", "m.json"], 2, "none.csv"),
        (["run", "nowhere", "--data", north, "--output", "m.json"], 2, "nowhere"),
        (["run", "--data", north, "--output", "none/m.json"], 2, "output"),
        (["serve", "--output", "m.json"], 2, "authority.pem"),
        (["join", "east", "--data", files["north"]], 2, "no party 'east'"),
        (["join", "north", "--data", files["north"]], 2, "authority.pem"),
        (["join", "north", "--data", files["south"].replace("south", "none")], 2, "no file"),
    ]
    for words, code, said in bad:
        _, err = run(tmp_path, *words, code=code)
        assert said in err
        assert not (tmp_path / "m.json").exists()
    assert not list((tmp_path / "nodes").iterdir())


def test_rounds_and_what_was_left_out_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_files(tmp_path, server="seed = 5")

    def serve(*_: object) -> Iterator[dict[str, Any]]:
        yield {"round": 1, "asked": 2, "answered": 1}
        yield {"history": [{"round": 1, "rejected": {"south": "silent"}}]}

    monkeypatch.setattr(operate, "serve", serve)
    out, err = run(tmp_path, "serve", "--output", "m.json")
    assert out.strip() == "m.json"
    assert "Round 1: 1 of 2 parties answered." in err
    assert "Left out of round 1: 'south', silent." in err
    monkeypatch.setattr(operate, "join", lambda *_, **__: iter([1, 2]))
    assert "Round 2 is answered." in run(tmp_path, "join", "north", "--data", files["north"])[1]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("", ["every record, against the server and the other parties", "1.41 times"]),
        ("[masks]", ["every record, against the server together with any 1 of the other parties"]),
        ("[masks]\ncolluders = 0", ["against the server, and whoever is no party"]),
        ('[topology]\nshape = "path"', ["against all other parties, and whoever listens"]),
        ('[level]\nclip = "0.5"', ["every party, with all its records", "a model needs many of them"]),
    ],
)
def test_a_command_says_whom_the_guarantee_holds_against(tmp_path: Path, section: str, words: list[str]) -> None:
    files = write_files(tmp_path, server=f"seed = 5\n{section}")
    _, err = run(tmp_path, "run", *name_data(files), "--output", "model.json", "--in-process")
    for one in [*words, "Neighbours replace one"]:
        assert one in err
