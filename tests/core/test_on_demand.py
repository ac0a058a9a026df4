"""Packages that load less than they would by themselves; each in a process of its own, where nothing is loaded yet."""

from __future__ import annotations

import subprocess
import sys


def run(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True)


def test_names_of_a_package_on_demand_are_all_there() -> None:
    run("""
import sys
from celosia.core.on_demand import load_on_demand
load_on_demand("ibis.backends.sql.compilers")
import ibis.backends.sql.compilers as compilers
assert "ibis.backends.sql.compilers.trino" not in sys.modules
assert compilers.duckdb.DuckDBCompiler is compilers.DuckDBCompiler
assert all(hasattr(compilers, name) for name in compilers.__all__)
assert not hasattr(compilers, "nothing_of_the_kind")
""")


def test_a_loaded_package_stays_as_it_is() -> None:
    run("""
import sys
import json
from celosia.core.on_demand import load_on_demand
before = list(sys.meta_path)
load_on_demand("json")
assert sys.meta_path == before
""")


def test_a_module_is_hidden_in_the_block_and_there_after_it() -> None:
    run("""
import sys
from celosia.core.on_demand import hide_module
with hide_module("sqlite3"):
    try:
        import sqlite3
    except ModuleNotFoundError as error:
        assert error.name == "sqlite3"
    else:
        raise AssertionError
    import colorsys
import sqlite3
""")
