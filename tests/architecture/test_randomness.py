"""No noise is added by hand: no module outside ``celosia.noise`` draws randomness, however it is spelt.

Ruff's banned imports and import-linter hold the same rule for what they can see; this scan also sees ``np.random``
behind an alias, SciPy's ``.rvs`` and imports by name. Within ``celosia.noise`` only the operating system may be asked.
"""

from __future__ import annotations

import ast
import unicodedata
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

FORBIDDEN = ("random", "secrets", "numpy.random", "os.urandom", "os.getrandom", "uuid.uuid4")
IMPORTERS = ("importlib.import_module", "import_module", "__import__")
WORDS = (
    "random",
    "secrets",
    "uuid",
    "rvs",
    "generate",
    "import_module",
    "__import__",
)  # a file without them draws nothing


def matches(name: str) -> str | None:
    return next((bad for bad in FORBIDDEN if name == bad or name.startswith(f"{bad}.")), None)


def aliases(tree: ast.AST) -> dict[str, str]:
    """Local name to full name, over every import of a file."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return known


def full_name(node: ast.expr, known: dict[str, str]) -> str:
    """Dotted name of an expression with its aliases undone; empty when it is no name."""
    if isinstance(node, ast.Name):
        return known.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        owner = full_name(node.value, known)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def imported(node: ast.AST) -> list[str]:
    """What a statement imports, by full name."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def called(node: ast.AST, known: dict[str, str]) -> list[str]:
    """What a call draws from or imports by its name in a string."""
    if not isinstance(node, ast.Call):
        return []
    if isinstance(node.func, ast.Attribute) and node.func.attr == "rvs":
        return ["random.rvs"]
    if (name := full_name(node.func, known)).startswith("cryptography.") and ".generate" in name:
        return ["secrets.generate"]  # a key, which is made from bytes of a source
    if full_name(node.func, known) in IMPORTERS:
        return [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return []


def violations(source: str) -> set[str]:
    """The forbidden sources of randomness that a file reaches for."""
    spelled = unicodedata.normalize("NFKC", source)  # as Python reads names
    if not any(word in spelled for word in WORDS):
        return set()
    tree = ast.parse(source)
    known = aliases(tree)
    owners = {value.partition(".")[0] for value in known.values()}
    found = set()
    for node in ast.walk(tree):
        names = imported(node) + called(node, known)
        # A bare name counts only if it was imported: a variable may well be called `random`.
        if isinstance(node, ast.Attribute) and (name := full_name(node, known)).partition(".")[0] in owners:
            names.append(name)
        found |= {bad for name in names if (bad := matches(name))}
    return found


def test_only_the_package_noise_draws(root: Path) -> None:
    package = root / "src" / "celosia"
    found = {}
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package).parts[0] == "noise"
        bad = violations(file.read_text(encoding="utf-8")) - ({"os.urandom"} if inside else set())
        if bad:
            found[file.relative_to(root).as_posix()] = sorted(bad)
    assert not found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import random", {"random"}),
        ("from random import SystemRandom", {"random"}),
        ("import secrets as s", {"secrets"}),
        ("import numpy as np\nx = np.random.default_rng(1)", {"numpy.random"}),
        ("import numpy\nx = numpy.random.laplace()", {"numpy.random"}),
        ("from numpy import random as r", {"numpy.random"}),
        ("from numpy.random import default_rng", {"numpy.random"}),
        ("import os\nx = os.urandom(8)", {"os.urandom"}),
        ("from os import urandom", {"os.urandom"}),
        ("import uuid\nx = uuid.uuid4()", {"uuid.uuid4"}),
        ("from scipy import stats\nx = stats.laplace.rvs(size=3)", {"random"}),
        ("from scipy import stats\nx = stats.laplace(0, 1).rvs(3)", {"random"}),
        ("def f():\n    import random as r\n    return r.gauss(0, 1)", {"random"}),
        ("import importlib\nx = importlib.import_module('random')", {"random"}),
        ("x = __import__('secrets')", {"secrets"}),
        ("from cryptography.x509 import Key\nx = Key.generate()", {"secrets"}),
        ("x = __import__('sec' 'rets')", {"secrets"}),
        ("import ｒandom", {"random"}),
    ],
)
def test_the_scan_catches_a_planted_violation(source: str, expected: set[str]) -> None:
    assert violations(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nx = np.zeros(3)",
        "from celosia.noise import Seeded",
        "random = 3\nx = random.real",
        "import os",
    ],
)
def test_the_scan_lets_the_innocent_pass(source: str) -> None:
    assert violations(source) == set()
