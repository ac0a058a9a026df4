"""A question waits for no library that it does not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from celosia.cli.startup import start_quickly
from celosia.core import ApproxDP
from celosia.guard.config.settings import Config
from celosia.guard.schema.requests import QueryRequest
from celosia.guard.service import Guard
from tests.reliability.serving import question, set_up

if TYPE_CHECKING:
    from pathlib import Path

UNNEEDED = {
    "altair",
    "dp_accounting",
    "narwhals",
    "numba",
    "pandas",
    "sklearn",
    "sqlalchemy",
    "starlette",
    "vl_convert",
}
SCRIPT = """
import json, sys
from celosia.cli import main
sys.argv = ["celosia", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]), file=sys.stderr)
"""
SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("age,sex\n" + "34,F\n71,M\n" * 50, encoding="utf-8")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[str, int, set[str]]:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    aside = folder / "aside"
    aside.mkdir()
    environment = os.environ | {"TMPDIR": str(aside)}
    answer = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    assert not list(aside.iterdir())  # what is left to the end is tidied up nevertheless
    code, modules = json.loads(answer.stderr.splitlines()[-1])
    return answer.stdout, code, set(modules)


@pytest.mark.parametrize("more", [(), ("--preview",)])
def test_a_question_loads_only_what_it_needs(folder: Path, more: tuple[str, ...]) -> None:
    pytest.importorskip("pandas")
    sql = "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex"
    printed, code, modules = run(folder, "query", "people.csv", sql, "--schema", "schema.toml", "--epsilon", "1", *more)
    assert code == 0
    assert printed
    assert not modules & UNNEEDED
    assert "ibis.backends.sql.compilers.bigquery" not in modules
    assert not {name for name in modules if name.startswith("scipy.")} & {
        "scipy.special",
        "scipy.stats",
        "scipy.linalg",
    }
    assert not modules & {
        "celosia.divergences",
        "celosia.cli.account.plot",
        "celosia.cli.guard.commands",
        "celosia.cli.learn.commands",
    }


def test_names_of_a_package_on_demand_are_all_there() -> None:
    script = """
import sys
from celosia.cli.startup import start_quickly
assert start_quickly(["query"])
import ibis.backends.sql.compilers as compilers
assert "ibis.backends.sql.compilers.trino" not in sys.modules
assert compilers.duckdb.DuckDBCompiler is compilers.DuckDBCompiler
assert all(hasattr(compilers, name) for name in compilers.__all__)
assert not hasattr(compilers, "nothing_of_the_kind")
try:
    import pandas
except ModuleNotFoundError:
    pass
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_pandas_is_there_for_commands_that_are_not_short() -> None:
    assert not start_quickly(["learn", "models"])
    assert not start_quickly([])


@pytest.mark.parametrize(
    "arguments", [("user", "list"), ("dataset", "list"), ("budget", "show"), ("log",), ("approval", "list")]
)
def test_a_command_of_the_guard_loads_only_what_it_needs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path, keys = set_up(tmp_path, budget=ApproxDP(epsilon=1, delta="1e-6"))
    with Guard.open(Config.read(path)) as guard:
        guard.ask(guard.authenticate(keys["analyst"]), QueryRequest.model_validate(question(1)), "first")
    printed, code, modules = run(tmp_path, "guard", *arguments, "--config", str(path))
    assert code == 0
    assert printed
    assert not modules & (UNNEEDED - {"sqlalchemy"})
    assert not modules & {
        "celosia.query",
        "duckdb",
        "fastapi",
        "ibis",
        "pyarrow",
        "scipy.special",
        "sqlglot",
        "uvicorn",
    }


def test_a_server_collects_garbage_as_often_as_python_does() -> None:
    script = """
import gc
from celosia.cli.startup import collect_often, start_quickly
before = gc.get_threshold()
start_quickly(["guard", "serve"])
assert gc.get_threshold() != before
collect_often()
assert gc.get_threshold() == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)
