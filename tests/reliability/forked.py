"""Servers forked from one process that has loaded all libraries: one starts in a tenth of a second, not in four.

That process starts with the first server. What the command ``celosia guard serve`` adds is tested with the command.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["ForkedProcess"]


class ForkedProcess:
    """A forked server, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(self, serve: Callable[[Path], None], config: Path, log: Path, errors: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.reliability.loaded"])
        self._process = context.Process(target=_run, args=(serve, config, log, errors), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("serve", timeout)
        return code


def _run(serve: Callable[[Path], None], config: Path, log: Path, errors: Path) -> None:
    from tests.reliability.loaded import run  # the forking process has it; this one must not load all of that

    run(serve, config, log, errors)
