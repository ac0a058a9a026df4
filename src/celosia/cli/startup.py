"""Make short commands start quickly.

Arrow imports pandas with the first array that it makes, if pandas is installed: a quarter of a second of CPU that no
answer needs. Commands that hand out no frame hide it. Ibis imports the compilers of twenty databases for one; here it
imports those that it uses. Python's garbage collector scans all imported objects repeatedly, in vain: it is called less
often, and skips the objects from before DuckDB (whose own objects must be collected at the end).
"""

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_SHORT = ("query", "limits", "schema")
_THRESHOLDS = (100_000, 50, 50)
_COMPILERS = "ibis.backends.sql.compilers"


class _OnDemand(Loader):
    """Loader of a package whose own code runs on first access to a name that is not one of its modules."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Resolve the package's names later."""

        def find(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            try:
                return import_module(f"{module.__name__}.{name}")
            except ModuleNotFoundError:
                del module.__dict__["__getattr__"]
                self._loader.exec_module(module)
                return getattr(module, name)

        module.__dict__["__getattr__"] = find


class _Finder(MetaPathFinder):
    """Finder that hides pandas, unless another package's engine may need it, and loads compilers on demand."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Handle some names, and leave all others to the finders that follow."""
        if fullname == "pandas":
            from celosia.query.engines.registry import plugin_engines

            if not plugin_engines():
                raise ModuleNotFoundError("pandas is hidden from this command.", name=fullname)
        if fullname == "duckdb":
            gc.freeze()
        if fullname == _COMPILERS:
            spec = PathFinder.find_spec(fullname, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _OnDemand(spec.loader)
                return spec
        return None


def start_quickly(arguments: Sequence[str]) -> bool:
    """Prepare this process for a short command, if its command line is one; return whether it is.

    Arrow caches that pandas is missing, so this is for a process that ends with the command.
    """
    if not {*arguments[:1]} & {*_SHORT}:
        return False
    gc.set_threshold(*_THRESHOLDS)
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
    return True
