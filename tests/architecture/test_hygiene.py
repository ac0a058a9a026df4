"""What is committed speaks of the project alone: nothing unfinished, no machine's paths, no download addresses."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Spelt in pieces, so that this file passes its own tests.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
MACHINE = re.compile(
    "|".join(["/ho" + r"me/\w", "/ro" + r"ot/\w", "/Us" + r"ers/\w", "/op" + r"t/\w", "/wo" + r"rk/\w", "fi" + "le://"])
)
REGISTRY = re.compile(
    "|".join(
        [r"pypi\." + "org", r"pythonhosted\." + "org", r"npmjs\." + "org", r"debian\." + "org", r"anaconda\." + "org"]
    )
)
VENDORED = "src/celosia/guard/web/static/vendor/"  # as published, by their hashes
TORCH = re.compile(r"^(torch|nvidia-|triton|cuda)", re.MULTILINE)


def tracked(root: Path) -> list[Path]:
    """Files that are, or are about to be, committed."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [file for name in listing.split("\0") if name and (file := root / name).is_file()]


@pytest.fixture(scope="module")
def texts(root: Path) -> dict[str, str]:
    """Text of each tracked file, by its path."""
    if not (root / ".git").exists():
        pytest.skip("needs a git clone, to know which files are tracked")
    found = {}
    for file in tracked(root):
        content, name = file.read_bytes(), file.relative_to(root).as_posix()
        if b"\0" not in content and not name.startswith(VENDORED):
            found[name] = content.decode("utf-8")
    return found


@pytest.mark.parametrize("pattern", [UNFINISHED, MACHINE, REGISTRY], ids=["unfinished", "machine", "registry"])
def test_tracked_files_speak_of_the_project_alone(texts: dict[str, str], pattern: re.Pattern[str]) -> None:
    found = {name: match.group() for name, text in texts.items() if (match := pattern.search(text))}
    assert not found


def test_the_lock_names_no_address(root: Path) -> None:
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    assert not re.findall(r"://|^-|^\s+--(?!hash)| @ ", lock, re.MULTILINE)


def test_every_locked_package_has_a_version_and_hashes(root: Path) -> None:
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)[1:]
    bare = [block.splitlines()[0] for block in blocks if "==" not in block or "--hash=sha256:" not in block]
    assert len(blocks) > 50
    assert not bare


def test_the_lock_pulls_in_no_accelerator_libraries(root: Path) -> None:
    assert not TORCH.findall((root / "requirements.lock").read_text(encoding="utf-8"))
