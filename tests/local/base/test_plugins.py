"""Protocols of other packages are found through their entry points."""

import subprocess
import sys
from fractions import Fraction
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from celosia.local.base.plugins import ENTRY_POINTS, load_plugins
from celosia.local.catalogue import build, load_catalogue
from tests.testing.third_party import ENTRY, Warner

READ = """
from celosia.local import Protocol
print(Protocol.from_json('{"epsilon": "1", "kind": "Warner", "question": "Do you?", "version": 1}'))
"""


def test_the_catalogue_lists_the_protocols_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="warner", value="tests.testing.third_party:ENTRY", group=ENTRY_POINTS)
    monkeypatch.setattr("celosia.local.base.plugins.entry_points", lambda group: [point] * (group == ENTRY_POINTS))
    load_plugins.cache_clear()
    try:
        assert load_catalogue()["warner"] is ENTRY
        assert build("warner", epsilon=1, question="Do you?") == Warner(question="Do you?", epsilon=Fraction(1))
    finally:
        monkeypatch.undo()
        load_plugins.cache_clear()
    assert "warner" not in load_catalogue()


def test_a_new_process_reads_their_json(tmp_path: Path) -> None:
    folder = tmp_path / "other-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nwarner = tests.testing.third_party:ENTRY\n")
    root = Path(__file__).parents[3]
    paths = [str(tmp_path), str(root), str(root / "src")]
    code = f"import sys; sys.path[:0] = {paths!r}\n{READ}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Warner(epsilon=1, question='Do you?')"
