"""The examples in docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def find_folders() -> dict[str, list[Path]]:
    """Files with examples, by the folder that holds them; nothing is imported yet."""
    files = sorted(file for file in SOURCE.rglob("*.py") if ">>> " in file.read_text(encoding="utf-8"))
    folders: dict[str, list[Path]] = {}
    for file in files:
        folders.setdefault(file.parent.relative_to(SOURCE).as_posix(), []).append(file)
    return folders


FOLDERS = find_folders()


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_do_what_they_show(folder: str) -> None:
    for file in FOLDERS[folder]:
        name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        outcome = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
        assert outcome.attempted or "+SKIP" in file.read_text(encoding="utf-8"), f"no example of {name} was found"
        assert not outcome.failed, f"examples of {name} fail; see the output"


def test_most_packages_show_examples() -> None:
    assert len(FOLDERS) > 50
