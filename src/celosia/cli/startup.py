"""Make short commands start quickly.

Arrow imports pandas with the first array that it makes, if pandas is installed: a quarter of a second of CPU that no
answer needs. Commands that hand out no frame hide it. Of Ibis, only the compilers that are used are loaded. Python's
garbage collector scans all imported objects repeatedly, in vain: it is called less often, and skips the objects from
before DuckDB (whose own objects must be collected at the end).
"""

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Final

from celosia.core.extras import load_on_demand

_SHORT: Final = ("query", "limits", "schema")
_LIGHT: Final = ("account", "guard", "ledger")
_RARELY: Final = (100_000, 50, 50)
_OFTEN: Final = gc.get_threshold()
_COMPILERS: Final = "ibis.backends.sql.compilers"


class _Finder(MetaPathFinder):
    """Finder that hides pandas, unless another package's engine may need it."""

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        """Handle some names, and leave all others to the finders that follow."""
        if fullname == "pandas":
            from celosia.query.engines.registry import plugin_engines

            if not plugin_engines():
                raise ModuleNotFoundError("pandas is hidden from this command.", name=fullname)
        if fullname == "duckdb":
            gc.freeze()


def start_quickly(arguments: Sequence[str]) -> bool:
    """Prepare this process for the command of its command line; return whether the command is short.

    Arrow caches that pandas is missing, so this is for a process that ends with the command.
    """
    command = next(iter(arguments), "")
    if command in (*_SHORT, *_LIGHT):
        gc.set_threshold(*_RARELY)
    if command not in _SHORT:
        return False
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
        load_on_demand(_COMPILERS)
    return True


def collect_often() -> None:
    """Collect garbage as often as Python does by itself, in a process that goes on."""
    gc.set_threshold(*_OFTEN)
