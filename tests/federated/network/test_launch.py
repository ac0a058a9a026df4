"""Processes end with what started them: a block, a signal, or a process that is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from flwr.supercore.constant import TASK_TYPE_TO_COMMAND

from celosia.core import EngineError
from celosia.federated.network import launch
from celosia.federated.network.launch import (
    Processes,
    SuperLink,
    check_flower,
    find_loaders,
    find_port,
    find_program,
    is_listening,
    start_supernode,
)
from celosia.federated.network.party_process import replace_app

SLEEP = ["sleep", "1000"]
# A program that had not begun when it was asked to end is killed.
ENDED = {128 + signal.SIGTERM, -signal.SIGTERM, -signal.SIGKILL}


def interrupt(processes: Processes) -> None:
    processes.start("sleep", SLEEP, os.environ)
    signal.raise_signal(signal.SIGTERM)


HOLD = """
import fcntl, signal, sys, time
signal.signal(signal.SIGTERM, getattr(signal, sys.argv[2]))
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
file.write("held")
file.flush()
time.sleep(1000)
"""
PARENT = """
import os, signal, sys, time
from pathlib import Path
from celosia.federated.network.launch import Processes
folder = Path(sys.argv[2])
with Processes(folder) as processes:
    processes.start("hold", [sys.executable, "-c", sys.argv[1], str(folder / "lock"), sys.argv[3]], os.environ)
    while not (folder / "lock").exists() or not (folder / "lock").read_text():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("handler", ["SIG_DFL", pytest.param("SIG_IGN", marks=pytest.mark.thorough)])
def test_a_process_does_not_outlive_one_that_is_killed(tmp_path: Path, handler: str) -> None:
    ended = subprocess.run([sys.executable, "-c", PARENT, HOLD, str(tmp_path), handler], check=False)
    assert ended.returncode == -signal.SIGKILL
    with (tmp_path / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits until whoever holds it has ended
        assert file.read() == "held"


def test_processes_end_with_their_block_and_a_signal_ends_the_block(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        started = processes.start("sleep", SLEEP, os.environ)
        processes.check(started)
    assert started.returncode in ENDED
    processes = Processes(tmp_path)
    with pytest.raises(KeyboardInterrupt), processes:
        interrupt(processes)
    [started] = processes._started
    assert started.returncode in ENDED
    with Processes(tmp_path) as processes:
        started = processes.start("false", ["false"], os.environ)
        started.wait()
        with pytest.raises(EngineError, match="false has ended"):
            processes.check(started)


def test_a_command_keeps_its_words_and_its_code(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        process = processes.start("echo", ["sh", "-c", 'echo "$1"; exit 7', "sh", "a 'b' $c"], os.environ)
        assert process.wait() == 7
    assert (tmp_path / "echo.log").read_text() == "a 'b' $c\n"


def test_a_port_is_free_until_somebody_listens() -> None:
    assert not is_listening(f"127.0.0.1:{find_port()}")


def test_flower_is_one_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    check_flower()
    monkeypatch.setattr(launch, "_TESTED", ("0.1.",))
    with pytest.raises(EngineError, match="has not been tested"):
        check_flower()


def test_a_node_runs_its_own_app_or_none() -> None:
    client = object()
    functions = dict.fromkeys(("install_from_fab", "install_app_dependencies", "get_load_client_app_fn"), print)
    runtime = SimpleNamespace(**functions)
    replace_app(runtime, client)
    assert runtime.install_from_fab(b"code", skip_prompt=True) is None
    assert runtime.install_app_dependencies("path", launch_id="1") is None
    assert runtime.get_load_client_app_fn(default_app_ref="", app_path=None, multi_app=True)("a", "b", "c") is client
    for name in functions:
        changed = SimpleNamespace(**functions)
        delattr(changed, name)
        with pytest.raises(EngineError, match=name):
            replace_app(changed, client)


@dataclass
class Started:
    """Processes that only remember what they were to start."""

    folder: Path
    commands: list[list[str]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, _name: str, command: list[str], environment: dict[str, str]) -> None:
        self.commands.append(command)
        self.environment = environment

    def check(self, _process: object) -> None:
        """Say that all is well."""


def start_node(folder: Path) -> Started:
    started = Started(folder)
    start_supernode(cast("Processes", started), "north", (folder / "a.pem", folder / "n.key"), "127.0.0.1:1", {})
    return started


def test_a_node_finds_no_program_of_flower_that_loads_code(tmp_path: Path) -> None:
    path = start_node(tmp_path).environment["PATH"]
    assert set(TASK_TYPE_TO_COMMAND.values()) <= set(find_loaders())
    for name in find_loaders():
        found = shutil.which(name, path=path)
        assert found is not None
        assert tmp_path in Path(found).parents
        if name == "flwr-clientapp":
            assert "celosia.federated.network.party_process" in Path(found).read_text()
        else:
            ended = subprocess.run([found, "--help"], check=False, capture_output=True, text=True)
            assert (ended.returncode, ended.stdout) == (1, "")
    assert "flower-superexec" not in find_loaders()  # which a SuperNode needs


def test_only_parties_call_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "is_listening", lambda _: True)
    outside = "0.0.0.0:9092"
    for one_port in (False, True):
        monkeypatch.setattr(launch, "has_one_port", lambda found=one_port: found)
        folder = tmp_path / str(one_port)
        folder.mkdir()
        started = Started(folder)
        SuperLink.start(cast("Processes", started), tmp_path, outside, tmp_path / "report")
        [command] = started.commands
        program = Path(shutil.which(command[0], path=started.environment["PATH"]) or "")
        if one_port:
            assert f"-m celosia.federated.network.superlink_process {outside} " in program.read_text()
            assert command[command.index("--host") + 1] == "127.0.0.1"
        else:
            assert str(program) == find_program("flower-superlink")
            own = [word for word in command if word.startswith("127.0.0.1:")]
            assert len(own) == 2
        assert command.count(outside) == (not one_port)
        [node] = start_node(folder).commands
        words = ["--host", "127.0.0.1"] if one_port else ["--clientappio-api-address", "127.0.0.1:0"]
        assert node[7:9] == words
