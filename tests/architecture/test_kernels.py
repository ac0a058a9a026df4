"""Kernels use names of files that mention Numba only: `./dev test` keeps what is compiled by their content."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def find_kernels(tree: ast.AST) -> list[ast.FunctionDef]:
    """Return the functions that Numba compiles."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(each) for each in node.decorator_list)
    ]


def find_origins(tree: ast.AST) -> dict[str, str]:
    """Return the module that each imported name comes from."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            origins.update({alias.asname or alias.name: node.module for alias in node.names})
        elif isinstance(node, ast.Import):
            origins.update({alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names})
    return origins


def find_globals(kernel: ast.FunctionDef) -> set[str]:
    """Return the names that a function reads and does not set."""
    names = [node for line in kernel.body for node in ast.walk(line) if isinstance(node, ast.Name)]  # no annotations
    own = {node.arg for node in ast.walk(kernel.args) if isinstance(node, ast.arg)}
    return {name.id for name in names} - {name.id for name in names if isinstance(name.ctx, ast.Store)} - own


def find_definitions(tree: ast.Module) -> dict[str, set[str]]:
    """Return the names that each global of a file is made from: a constant's value, a function's globals."""
    made: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            made.setdefault(node.name, set()).update(find_globals(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            read = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
            for name in (each for target in targets for each in ast.walk(target)):
                if isinstance(name, ast.Name):
                    made.setdefault(name.id, set()).update(read)
    return made


def find_outside(text: str, kept: set[str]) -> set[str]:
    """Return the modules of Celosía that the kernels of a file use and that are not kept with it."""
    tree = ast.parse(text)
    origins, made = find_origins(tree), find_definitions(tree)
    used = {name for kernel in find_kernels(tree) for name in find_globals(kernel)}
    while more := set().union(*(made.get(name, set()) for name in used)) - used:
        used |= more
    return {origins[name] for name in used & origins.keys() if origins[name].startswith("celosia")} - kept


def test_kernels_depend_on_files_that_name_numba(root: Path) -> None:
    texts = {path: text for path in (root / "src").rglob("*.py") if "numba" in (text := path.read_text("utf-8"))}
    kept = {".".join(path.relative_to(root / "src").with_suffix("").parts) for path in texts}
    assert sum(len(find_kernels(ast.parse(text))) for text in texts.values()) > 40
    for path, text in texts.items():
        assert not find_outside(text, kept), path


def test_a_constant_from_elsewhere_is_found() -> None:
    text = "from celosia.core.exact import LIMIT\n@njit(cache=True)\ndef count(x):\n    return x > LIMIT\n"
    assert find_outside(text, {"celosia.noise.packed"}) == {"celosia.core.exact"}
    for start, name in (
        ("from celosia.core.exact import LIMIT\nHALF = LIMIT // 2\n", "HALF"),
        ("import celosia.core.exact as exact\n", "exact.LIMIT"),
        ("import celosia.core.exact\n", "celosia.core.exact.LIMIT"),
        ("from celosia.core.exact import LIMIT\ndef half():\n    return LIMIT // 2\nHALF: int = half()\n", "HALF"),
    ):
        derived = f"{start}@njit(cache=True)\ndef count(x):\n    return x > {name}\n"
        assert find_outside(derived, {"celosia.noise.packed"}) == {"celosia.core.exact"}, start
