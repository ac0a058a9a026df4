"""Where benchmarks keep what takes long to make: the peers' environments, and large tables."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache"]


def cache() -> Path:
    """The folder: under ``$CELOSIA_PEERS``, else ``$XDG_CACHE_HOME``, else ``~/.cache``."""
    chosen = os.environ.get("CELOSIA_PEERS") or os.environ.get("XDG_CACHE_HOME")
    return Path(chosen or Path.home() / ".cache") / "celosia"
