"""What a server does in a process that has loaded all libraries already. Imported by the process that forks servers."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from celosia.guard.server.serve import _preload_libraries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["run"]

with _preload_libraries():
    pass
gc.freeze()  # so that no server looks through them again


def run(serve: Callable[[Path], None], config: Path, log: Path, errors: Path) -> None:
    """Serve a configuration, with all that is printed in two files."""
    for path, descriptor in ((log, 1), (errors, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    serve(config)
