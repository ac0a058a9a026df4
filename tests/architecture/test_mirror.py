"""``tests/`` mirrors ``src/`` by package and sub-package: the tests of a module are in the folder of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Tests of the whole: its structure, its running programs, its distributions.
WITHOUT_SOURCE = {"architecture", "reliability", "statistical"}
WITHOUT_TEST = {"__init__.py", "__main__.py"}


def find_packages(root: Path) -> set[str]:
    """Folders of the package that hold modules with code of their own."""
    package = root / "src" / "celosia"
    files = (file for file in package.rglob("*.py") if file.name not in WITHOUT_TEST)
    return {file.parent.relative_to(package).as_posix() for file in files} - {"."}


def find_test_folders(root: Path) -> set[str]:
    """Folders of tests that belong to a package."""
    folder = root / "tests"
    found = {file.parent.relative_to(folder) for file in folder.rglob("test_*.py")}
    return {path.as_posix() for path in found if path.parts and path.parts[0] not in WITHOUT_SOURCE}


def test_every_package_has_a_folder_of_tests(root: Path) -> None:
    missing = find_packages(root) - find_test_folders(root)
    assert not missing, f"no test_*.py in tests/{sorted(missing)}"


def test_every_folder_of_tests_has_its_package(root: Path) -> None:
    orphans = find_test_folders(root) - find_packages(root)
    assert not orphans, f"tests/{sorted(orphans)} test no package of src/celosia"
