"""Federations in real processes: Flower's SuperLink and SuperNodes on the loopback, with TLS and the keys of nodes.

Nothing here depends on how fast the machine is: each test waits for what must happen, and ends what it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import EngineError, ReplaceOne
from celosia.federated.network import launch
from celosia.federated.network.certificates import AUTHORITY, find_key, write_certificates
from celosia.federated.network.description import load_description
from celosia.federated.network.launch import find_port
from celosia.federated.network.operate import run
from celosia.learn.io.model_file import load
from tests.federated.network.nodes import FILED, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = 900  # seconds; a machine may be busy with other things


@contextlib.contextmanager
def celosia(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command line, which ends with the block."""
    command = [sys.executable, "-m", "celosia", "federated", *words]
    with (folder / "output.txt").open("ab") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=os.environ | {"LANG": "C"})
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)  # which ends what it started
        process.wait(LONG)


def assert_same(model: Any, other: Any) -> None:
    assert np.array_equal(model.coef_, other.coef_)
    assert model.intercept_ == other.intercept_
    assert model.event_ == other.event_


@pytest.mark.xdist_group("flower")
def test_a_server_and_parties_train_the_model_of_one_process(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.mkdir()
    files = write_files(server, server=f'address = "127.0.0.1:{find_port()}"\nseed = 5\ndeadline = {LONG}')
    write_certificates(server, len(FILED), ["127.0.0.1"])
    folders = [tmp_path / name for name in FILED]
    for place, folder in enumerate(folders):  # each party has its own copy, and its own key only
        folder.mkdir()
        for file in (server / "federation.toml", server / AUTHORITY, find_key(server, place)):
            shutil.copy(file, folder)
    with contextlib.ExitStack() as running:
        serving = running.enter_context(celosia(server, "serve", "--output", "model.json"))
        joined = [
            running.enter_context(celosia(folder, "join", name, "--data", files[name]))
            for name, folder in zip(FILED, folders, strict=True)
        ]
        codes = [process.wait(LONG) for process in (serving, *joined)]
    told = {folder.name: (folder / "output.txt").read_text() for folder in (server, *folders)}
    assert codes == [0, 0, 0], told
    assert "Round 3: 2 of 2 parties answered." in told["server"]
    assert "Round 3 is answered." in told["north"]
    assert_same(load(server / "model.json"), load_description(server).describe(files).run())
    assert [path.name for path in (server / "nodes").iterdir()] == []  # no logs, no checkpoint
    for folder in folders:
        assert {path.suffix for path in (folder / "nodes").iterdir()} == {".json", ".lock"}


@pytest.mark.xdist_group("flower")
def test_masks_over_a_network_give_the_sums_of_one_process(tmp_path: Path) -> None:
    files = write_files(tmp_path, server=f"seed = 5\ndeadline = {LONG}\n[masks]\ncolluders = 0", rounds=2)
    description, told = load_description(tmp_path), []
    told = list(run(description, files, tmp_path / "model.json"))
    assert [one["answered"] for one in told if "round" in one] == [2, 2]
    near = description.describe(files).run()
    assert_same(load(tmp_path / "model.json"), near)
    assert next(one["history"] for one in told if "history" in one) == json.loads(json.dumps(near.history_))


@pytest.mark.thorough
@pytest.mark.xdist_group("flower")
def test_a_node_never_runs_the_code_of_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=5, delta="1e-4", adjacency=ReplaceOne), dataset="visits")
    files = write_files(tmp_path, server=f'deadline = {LONG}\nledger = "{url}"\ndataset = "visits"')
    trace = tmp_path / "trace"
    steal = f"import os\nif 'job' in open(os.environ[{launch.JOB!r}]).read(4096):\n    pass\n"
    steal += f"open({str(trace)!r}, 'a').write(open(os.environ[{launch.JOB!r}]).read() + chr(10))\n"
    monkeypatch.setattr(launch, "_BRIDGE", steal + launch._BRIDGE)
    told = list(run(load_description(tmp_path), files, tmp_path / "model.json"))
    assert [one["answered"] for one in told if "round" in one] == [2, 2, 2]
    seen = trace.read_text()
    assert "checkpoint" in seen  # the server runs its own code
    assert '"party"' not in seen
    with cl.open_ledger(url) as ledger:
        assert [one.state for one in ledger.account("visits").history] == ["committed"]
    assert load(tmp_path / "model.json").guarantee_.epsilon == 4


@pytest.mark.thorough
@pytest.mark.xdist_group("flower")
def test_a_round_goes_on_without_a_party_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_files(tmp_path, server="deadline = 60\nseed = 5", training="least_parties = 1")
    started: list[subprocess.Popen[bytes]] = []
    start = launch.Processes.start

    def remember(self: launch.Processes, name: str, *given: Any) -> subprocess.Popen[bytes]:
        process = start(self, name, *given)
        if name == "party-2":
            started.append(process)
        return process

    monkeypatch.setattr(launch.Processes, "start", remember)
    told = []
    for one in run(load_description(tmp_path), files, tmp_path / "model.json"):
        told.append(one)
        if one.get("round") == 1:
            os.killpg(started[0].pid, signal.SIGKILL)
    history = next(one["history"] for one in told if "history" in one)
    assert history[0]["accepted"] == list(FILED)
    assert [one["accepted"] for one in history[1:]] == [["north"], ["north"]]
    assert {one["rejected"]["south"] for one in history[1:]} == {"silent"}
    assert load(tmp_path / "model.json").coef_.shape == (2,)


@pytest.mark.thorough
@pytest.mark.xdist_group("flower")
def test_a_training_without_parties_spends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    with cl.open_ledger(url) as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=5, delta="1e-4", adjacency=ReplaceOne), dataset="visits")
    files = write_files(tmp_path, server=f'deadline = 2\nledger = "{url}"\ndataset = "visits"')
    monkeypatch.setattr("celosia.federated.network.operate.start_supernode", lambda *_: None)
    with pytest.raises(EngineError, match="Only 0 parties are connected"):
        list(run(load_description(tmp_path), files, tmp_path / "model.json"))
    with cl.open_ledger(url) as ledger:
        assert not list(ledger.account("visits").history)
    assert not (tmp_path / "model.json").exists()


def count_begun(folder: Path) -> int:
    """Return how many rounds a server has begun."""
    return max((json.loads(file.read_text())["begun"] for file in folder.glob("checkpoint-*.json")), default=0)


@pytest.mark.thorough
@pytest.mark.xdist_group("flower")
def test_a_server_that_was_killed_goes_on_and_no_round_is_asked_twice(tmp_path: Path) -> None:
    server = f'address = "127.0.0.1:{find_port()}"\ndeadline = {LONG}'
    files = write_files(tmp_path, server=server, training="least_parties = 2")
    write_certificates(tmp_path, len(FILED), ["127.0.0.1"])
    words = "serve", "--output", "model.json"
    with contextlib.ExitStack() as running:
        serving = running.enter_context(celosia(tmp_path, *words))
        joined = [running.enter_context(celosia(tmp_path, "join", name, "--data", files[name])) for name in FILED]
        while count_begun(tmp_path / "nodes") < 2:
            assert serving.poll() is None, (tmp_path / "output.txt").read_text()
            time.sleep(0.1)
        serving.kill()
        serving.wait()
        again = running.enter_context(celosia(tmp_path, *words, "--force"))
        codes = [process.wait(LONG) for process in (again, *joined)]
    told = (tmp_path / "output.txt").read_text()
    assert codes == [0, 0, 0], told
    assert told.count("Round 1: ") <= 1  # the first server's, if it could still say so
    assert "Left out of round 2: 'north', lost." in told
    assert "Round 2: " not in told
    assert "Round 3: 2 of 2 parties answered." in told
    assert load(tmp_path / "model.json").coef_.shape == (2,)
