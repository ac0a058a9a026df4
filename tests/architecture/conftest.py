"""What the architecture tests read: this repository's own files and modules."""

from __future__ import annotations

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
def modules() -> list[ModuleType]:
    """Every module of the package, imported."""
    found = pkgutil.walk_packages(celosia.__path__, prefix="celosia.")
    names = sorted(module.name for module in found if not module.name.endswith(".__main__"))
    return [celosia, *(importlib.import_module(name) for name in names)]
