"""``tests/`` mirrors ``src/``, file by file, so that whoever opens one knows where the other is."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

# Distribution tests cut across files; architecture tests are about the whole.
WITHOUT_SOURCE = {"architecture", "reliability", "statistical"}
WITHOUT_TEST = {"__init__.py", "__main__.py"}


def sources(root: Path) -> set[PurePosixPath]:
    """Modules with code of their own, relative to the package."""
    package = root / "src" / "celosia"
    files = (file for file in package.rglob("*.py") if file.name not in WITHOUT_TEST)
    return {PurePosixPath(file.relative_to(package).as_posix()) for file in files}


def mirroring(root: Path) -> set[PurePosixPath]:
    """Test files that must have a source, relative to ``tests/``."""
    folder = root / "tests"
    files = {PurePosixPath(file.relative_to(folder).as_posix()) for file in folder.rglob("test_*.py")}
    return {file for file in files if file.parts[0] not in WITHOUT_SOURCE}


def expected_test(source: PurePosixPath) -> PurePosixPath:
    return source.with_name(f"test_{source.name.lstrip('_')}")


def test_every_source_has_its_test(root: Path) -> None:
    missing = {str(expected_test(source)) for source in sources(root)} - {str(test) for test in mirroring(root)}
    assert not missing, f"no tests/{sorted(missing)}"


def test_every_test_has_its_source(root: Path) -> None:
    orphans = {str(test) for test in mirroring(root)} - {str(expected_test(source)) for source in sources(root)}
    assert not orphans, f"tests/{sorted(orphans)} test no file of src/celosia"


def test_private_modules_are_mirrored_without_their_underscore() -> None:
    assert expected_test(PurePosixPath("noise/_bits.py")) == PurePosixPath("noise/test_bits.py")
