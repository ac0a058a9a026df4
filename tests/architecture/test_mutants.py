"""The table of planted faults fits the code: every text stands once in its file, and every test exists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.mutants import Mutant, check_table, judge, load_mutants

if TYPE_CHECKING:
    from pathlib import Path

FEWEST = 55
# Charts, baselines that are unsound on purpose, and packages that hold no code yet.
WITHOUT_FAULT = {"collector", "experiments", "plots"}


def test_the_table_fits_the_code() -> None:
    mutants = load_mutants()
    assert not check_table(mutants)
    assert len(mutants) >= FEWEST


def test_every_package_has_a_fault(root: Path) -> None:
    packages = {folder.parent.name for folder in (root / "src" / "celosia").glob("*/__init__.py")}
    assert packages - {mutant.file.split("/")[2] for mutant in load_mutants()} <= WITHOUT_FAULT


def test_a_text_that_is_not_there_once_is_an_error() -> None:
    mutant = Mutant(name="n", file="f", find="a", replace="b", tests=("t",))
    assert mutant.apply("cat") == "cbt"
    for text in ("dog", "banana"):
        with pytest.raises(ValueError, match=re.escape("not once")):
            mutant.apply(text)


def test_only_failing_tests_catch() -> None:
    assert [judge(code) for code in (0, 1, 2, 5)] == ["SURVIVED", "caught", "NO VERDICT", "NO VERDICT"]
