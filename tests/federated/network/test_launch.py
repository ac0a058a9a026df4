"""Processes end with what started them: a block, a signal, or a process that is killed."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from celosia.core import EngineError
from celosia.federated.network import launch
from celosia.federated.network.launch import Processes, check_flower, find_port, is_listening
from celosia.federated.network.party_process import replace_app

if TYPE_CHECKING:
    from pathlib import Path

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
    runtime = SimpleNamespace(install_from_fab=print, get_load_client_app_fn=print)
    replace_app(runtime, client)
    assert runtime.install_from_fab(b"code", skip_prompt=True) is None
    assert runtime.get_load_client_app_fn(default_app_ref="", app_path=None, multi_app=True)("a", "b", "c") is client
    for name in ("install_from_fab", "get_load_client_app_fn"):
        changed = SimpleNamespace(install_from_fab=print, get_load_client_app_fn=print)
        delattr(changed, name)
        with pytest.raises(EngineError, match=name):
            replace_app(changed, client)
