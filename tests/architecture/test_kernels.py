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
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def find_globals(kernel: ast.FunctionDef) -> set[str]:
    """Return the names that a kernel reads and does not set."""
    names = [node for line in kernel.body for node in ast.walk(line) if isinstance(node, ast.Name)]  # no annotations
    own = {node.arg for node in ast.walk(kernel.args) if isinstance(node, ast.arg)}
    return {name.id for name in names} - {name.id for name in names if isinstance(name.ctx, ast.Store)} - own


def find_outside(text: str, kept: set[str]) -> set[str]:
    """Return the modules of Celosía that the kernels of a file use and that are not kept with it."""
    tree = ast.parse(text)
    origins = find_origins(tree)
    used = {name for kernel in find_kernels(tree) for name in find_globals(kernel)}
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
