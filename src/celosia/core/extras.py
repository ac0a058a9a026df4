"""Optional and heavy dependencies, loaded when they are used.

``import celosia`` must stay quick, and a hospital that only counts need not install Spark. ``require`` imports a module
on demand; if it is missing, the error names the extra to install. ``load_on_demand`` and ``hide_module`` load less in
processes whose start counts: Ibis imports the compilers of twenty databases for one, and other libraries import a
package only because it is installed.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from celosia.core.errors import MissingExtraError


def require(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, or raise ``MissingExtraError`` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is installed, but one of its own imports is missing: hiding that would mislead
        raise MissingExtraError("core.missing_extra", module=module, extra=extra) from error


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
                return importlib.import_module(f"{module.__name__}.{name}")
            except ModuleNotFoundError:
                del module.__dict__["__getattr__"]
                self._loader.exec_module(module)
                return getattr(module, name)

        module.__dict__["__getattr__"] = find


class _Finder(MetaPathFinder):
    """Finder of one package, which leaves all other names to the finders that follow."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give the package a loader that runs none of its code."""
        spec = PathFinder.find_spec(fullname, path) if fullname == self._package else None
        if spec is not None and spec.loader is not None:
            spec.loader = _OnDemand(spec.loader)
        return spec


def load_on_demand(package: str) -> None:
    """Load the modules of a package on first use in this process, unless the package is loaded already."""
    if package not in sys.modules:
        sys.meta_path.insert(0, _Finder(package))


class _Hiding(MetaPathFinder):
    """Finder that lets one module be missing."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        """Raise as Python does for a missing module, and leave all other names to the finders that follow."""
        if fullname == self._module:
            raise ModuleNotFoundError(f"{fullname} is hidden.", name=fullname)


@contextmanager
def hide_module(name: str) -> Iterator[None]:
    """Let imports of a module fail in the block, unless it is loaded already."""
    finder = _Hiding(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
