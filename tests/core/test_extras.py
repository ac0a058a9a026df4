"""Optional dependencies: what is missing is named, with the extra that brings it; what is broken is not hidden."""

import json
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
