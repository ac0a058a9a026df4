from __future__ import annotations

from pathlib import Path

import pytest

from celosia.cli.writing import check_chart, check_place, write_whole
from celosia.core import ParameterError


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "schema.toml", "edad = «años»\n", name="output")
    assert (tmp_path / "schema.toml").read_text(encoding="utf-8") == "edad = «años»\n"
    assert names(tmp_path) == ["schema.toml"]


def test_what_is_there_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text("mine")
    with pytest.raises(ParameterError, match=r"output: '.*schema\.toml' is there already; .* --force"):
        write_whole(file, "draft", name="output", force=False)
    assert file.read_text() == "mine"
    write_whole(file, "draft", name="output", force=True)
    assert file.read_text() == "draft"
    assert names(tmp_path) == ["schema.toml"]


def test_a_new_file_needs_no_force(tmp_path: Path) -> None:
    write_whole(tmp_path / "new.toml", "draft", name="output", force=False)
    assert (tmp_path / "new.toml").read_text() == "draft"


def test_whoever_was_quicker_keeps_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "schema.toml"
    monkeypatch.setattr("celosia.cli.writing.check_place", lambda *_, **__: file.write_text("theirs"))
    with pytest.raises(ParameterError, match="is there already"):
        write_whole(file, "mine", name="output", force=False)
    assert file.read_text() == "theirs"


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "\ud800", name="output")
    assert names(tmp_path) == []


def test_a_disk_that_refuses_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ParameterError, match=r"'.*schema\.toml' cannot be written: No space left on device\.$"):
        write_whole(tmp_path / "schema.toml", "draft", name="output")
    assert names(tmp_path) == []


def test_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is no directory"):
        check_place(tmp_path / "nowhere" / "a.toml", name="output")
    with pytest.raises(ParameterError, match="is a directory"):
        check_place(tmp_path, name="output")


def test_charts_have_three_endings(tmp_path: Path) -> None:
    cases: list[str] = ["chart", "chart.bmp", "chart.svg.gz", ".svg"]
    for name in cases:
        with pytest.raises(ParameterError, match=r"plot must end in \.html, \.png or \.svg"):
            check_chart(tmp_path / name, name="plot")
        check_chart(tmp_path / "chart.SVG", name="plot")
