"""Optional dependencies: what is missing is named, with the extra that brings it; what is broken is not hidden."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from celosia.core import MissingExtraError
from celosia.core.extras import require


def test_a_module_that_is_there_is_returned() -> None:
    assert require("json", extra="none") is json
    assert require("importlib.metadata", extra="none").__name__ == "importlib.metadata"


def test_a_missing_module_names_itself_and_its_extra() -> None:
    cases: list[str] = ["no_such_module", "no_such_module.inner", "json.no_such_module"]
    for module in cases:
        with pytest.raises(MissingExtraError) as caught:
            require(module, extra="spark")
        assert str(caught.value) == f"This needs {module}, which is not installed: pip install 'celosia[spark]'."
        assert isinstance(caught.value, ImportError)
        assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("celosia_test_broken", "celosia_test_sibling", "celosia_test_raises"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_module_whose_own_dependency_is_missing_is_not_called_missing(folder: Path) -> None:
    (folder / "celosia_test_broken.py").write_text("import no_such_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("celosia_test_broken", extra="spark")
    assert not isinstance(caught.value, MissingExtraError)


def test_a_longer_name_with_the_same_beginning_is_not_the_module(folder: Path) -> None:
    (folder / "celosia_test_sibling.py").write_text("import celosia_test_sib\n")
    with pytest.raises(ModuleNotFoundError) as caught:
        require("celosia_test_sibling", extra="spark")
    assert not isinstance(caught.value, MissingExtraError)


def test_other_errors_of_a_module_pass_through(folder: Path) -> None:
    (folder / "celosia_test_raises.py").write_text("raise ImportError('a shared library is missing')\n")
    with pytest.raises(ImportError, match="shared library") as caught:
        require("celosia_test_raises", extra="spark")
    assert not isinstance(caught.value, MissingExtraError)


# ------------------------------------------------------------- loading less, each in a process of its own


def run_script(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True)


def test_names_of_a_package_on_demand_are_all_there() -> None:
    run_script("""
import sys
from celosia.core.extras import load_on_demand
load_on_demand("ibis.backends.sql.compilers")
import ibis.backends.sql.compilers as compilers
assert "ibis.backends.sql.compilers.trino" not in sys.modules
assert compilers.duckdb.DuckDBCompiler is compilers.DuckDBCompiler
assert all(hasattr(compilers, name) for name in compilers.__all__)
assert not hasattr(compilers, "nothing_of_the_kind")
""")


def test_a_loaded_package_stays_as_it_is() -> None:
    run_script("""
import sys
import json
from celosia.core.extras import load_on_demand
before = list(sys.meta_path)
load_on_demand("json")
assert sys.meta_path == before
""")


def test_a_module_is_hidden_in_the_block_and_there_after_it() -> None:
    run_script("""
import sys
from celosia.core.extras import hide_module
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
