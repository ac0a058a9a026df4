"""``__all__`` lists what a package exports, in Ruff's order; leaf modules need none."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def rank(name: str) -> tuple[int, str]:
    """Ruff's order (RUF022): constants, classes, the rest."""
    if name.isupper() and len(name) > 1:  # one capital, as in R, is a class to Ruff
        return 0, name
    return (1, name) if name[:1].isupper() else (2, name)


def defined_here(module: ModuleType) -> set[str]:
    """Public classes and functions that this module defines."""
    return {
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isroutine(thing))
        and getattr(thing, "__module__", None) == module.__name__
    }


def test_every_package_lists_its_public_names(modules: list[ModuleType]) -> None:
    packages = [module for module in modules if module.__name__.count(".") == 1]
    assert packages
    assert not [module.__name__ for module in packages if not hasattr(module, "__all__")]


def test_every_listed_name_exists(modules: list[ModuleType]) -> None:
    missing = [
        f"{module.__name__}.{name}"
        for module in modules
        for name in getattr(module, "__all__", [])
        if not hasattr(module, name)
    ]
    assert not missing


def test_every_public_name_is_listed(modules: list[ModuleType]) -> None:
    unlisted = {
        module.__name__: sorted(hidden)
        for module in modules
        if hasattr(module, "__all__") and (hidden := defined_here(module) - set(module.__all__))
    }
    assert not unlisted, "list them in __all__, or give them a leading underscore"


def test_lists_are_sorted_and_without_repetition(modules: list[ModuleType]) -> None:
    unsorted = [
        module.__name__
        for module in modules
        if list(getattr(module, "__all__", [])) != sorted(set(getattr(module, "__all__", [])), key=rank)
    ]
    assert not unsorted


def test_order_puts_constants_before_classes_before_functions() -> None:
    assert sorted(["release", "Laplace", "ZCDP", "AddRemove"], key=rank) == ["ZCDP", "AddRemove", "Laplace", "release"]
