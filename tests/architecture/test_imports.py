"""``import celosia`` is light: a command line starts at once, and a server that needs one room pays for one room."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("altair", "duckdb", "ibis", "numba", "pandas", "pyarrow", "scipy", "sklearn")

# Counted, because a clock on a busy machine says nothing. The vocabulary of core needs some standard library
# (dataclasses, decimal, fractions, json, typing: about 60 modules); NumPy alone would add more than 100, and any
# library of the list above several hundred.
MOST_MODULES = 100


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """What ``import celosia`` adds to a fresh interpreter."""
    script = """
import json, sys
before = set(sys.modules)
import celosia
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(answer.stdout))


def test_no_heavy_library_is_loaded(loaded: set[str]) -> None:
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_few_modules_are_loaded(loaded: set[str]) -> None:
    assert "celosia" in loaded
    assert len(loaded) <= MOST_MODULES, sorted(loaded)
