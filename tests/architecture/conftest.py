"""What the architecture tests read: this repository's own files and modules."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import celosia

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="session")
def root() -> Path:
    """Top of the repository."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def trees(root: Path) -> dict[Path, ast.Module]:
    """The syntax tree of every file of the package, by its path within it."""
    package = root / "src" / "celosia"
    files = sorted(package.rglob("*.py"))
    return {file.relative_to(package): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="session")
def modules() -> list[ModuleType]:
    """Every module of the package, imported."""
    found = pkgutil.walk_packages(celosia.__path__, prefix="celosia.")
    names = sorted(module.name for module in found if not module.name.endswith(".__main__"))
    return [celosia, *(importlib.import_module(name) for name in names)]
