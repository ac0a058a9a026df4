"""Every public name is documented, shows how it is used, and is on an API page."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType


def public_names(modules: list[ModuleType]) -> Iterator[tuple[str, object]]:
    """Each public name once, with the module that lists it."""
    for module in modules:
        for name in getattr(module, "__all__", []):
            yield f"{module.__name__}.{name}", getattr(module, name)


def documented_values(root: Path) -> set[str]:
    """Names of module-level values whose assignment is followed by a docstring."""
    names = set()
    for file in (root / "src" / "celosia").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if '\n"""' not in text.partition('"""')[2].partition('"""')[2]:  # after that of the module
            continue
        for statement, following in itertools.pairwise(ast.parse(text).body):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                names |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return names


def has_example(thing: object) -> bool:
    return ">>>" in (inspect.getdoc(thing) or "")


def needs_example(thing: object) -> bool:
    """Functions and classes do; an exception is shown where it is raised."""
    if inspect.isclass(thing):
        return not issubclass(thing, BaseException)
    return inspect.isroutine(thing)


def test_every_module_says_what_it_is(modules: list[ModuleType]) -> None:
    silent = [module.__name__ for module in modules if not (module.__doc__ or "").strip()]
    assert not silent


def test_every_public_class_and_function_has_a_docstring(modules: list[ModuleType]) -> None:
    silent = [
        name
        for name, thing in public_names(modules)
        # A class inherits its parent's docstring through inspect.getdoc; that one is about the parent.
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and not (thing.__doc__ or "").strip()
    ]
    assert not silent


def test_every_public_value_has_a_docstring(root: Path, modules: list[ModuleType]) -> None:
    documented = documented_values(root)
    silent = [
        name
        for name, thing in public_names(modules)
        if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing))
        and name.rpartition(".")[2] not in documented
        and not name.endswith(".__version__")
    ]
    assert not silent, "write a string literal right below the assignment"


def test_every_public_class_and_function_shows_how_it_is_used(modules: list[ModuleType]) -> None:
    front = [module for module in modules if module.__name__.count(".") <= 1]  # what a user imports from
    without = [name for name, thing in public_names(front) if needs_example(thing) and not has_example(thing)]
    assert not without


def test_every_room_with_public_names_has_an_api_page(root: Path, modules: list[ModuleType]) -> None:
    rooms = [
        module.__name__ for module in modules if module.__name__.count(".") == 1 and getattr(module, "__all__", [])
    ]
    site = (root / "mkdocs.yml").read_text(encoding="utf-8")
    for room in rooms:
        page = root / "docs" / "api" / f"{room.partition('.')[2]}.md"
        assert page.is_file(), f"{room} has no {page.relative_to(root)}"
        assert re.search(rf"^::: {re.escape(room)}$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert f"api/{page.name}" in site, f"{page.name} is not in the navigation"


@pytest.mark.parametrize(("text", "expected"), [("Adds.\n\n>>> 1 + 1\n2\n", True), ("Adds.", False)])
def test_the_search_for_examples_tells_them_apart(text: str, expected: bool) -> None:  # noqa: FBT001
    def function() -> None:
        pass

    function.__doc__ = text
    assert has_example(function) is expected
