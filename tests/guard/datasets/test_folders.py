from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.guard.datasets import folders
from celosia.guard.datasets.folders import find_file, list_files
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with files of all kinds, and a secret beside it."""
    folder = tmp_path / "data"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (tmp_path / "secret").mkdir()
    for path in ("secret/x.csv", "data/b.csv", "data/a.PARQUET", "data/deep/er/c.tsv.gz", "data/.h.csv",
                 "data/.hidden/d.csv", "data/e.txt", "data/f*.csv", "data/g[1].csv", "data/${HOME}.csv",
                 "data/n\nl.csv"):  # fmt: skip
        (tmp_path / path).write_text("age\n1\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret" / "x.csv")
    (folder / "links").symlink_to(tmp_path / "secret")
    (folder / "broken.csv").symlink_to(tmp_path / "nothing")
    os.mkfifo(folder / "pipe.csv")  # opening it would wait for ever
    return folder


def test_only_plain_files_below_the_folders_are_listed(data: Path) -> None:
    found = list_files([data])
    assert list(found) == ["data/a.PARQUET", "data/b.csv", "data/deep/er/c.tsv.gz"]
    assert all(path == path.resolve() and path.is_file() for path in found.values())
    assert list_files([]) == list_files([data / "nowhere"]) == list_files([data / "b.csv"]) == {}


def test_folders_of_one_name_are_told_apart_and_may_be_links(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "data"
    other.mkdir(parents=True)
    (other / "b.csv").write_text("age\n1\n")
    assert len(list_files([data, other])) == 4
    (tmp_path / "shelf").symlink_to(data)
    assert find_file([tmp_path / "shelf"], "shelf/b.csv") == (data / "b.csv").resolve()


def test_names_that_are_not_listed_reach_nothing(data: Path, tmp_path: Path) -> None:
    bad = ["", ".", "..", "/", "data", "data/", "data/..", "data/../secret/x.csv", "../secret/x.csv", "data//b.csv",
           "data/./b.csv", "data/deep/../b.csv", str(data / "b.csv"), str(tmp_path / "secret/x.csv"), "b.csv",
           "data/b.csv\0", "\0", "data/b.csv\0.csv", "data/*.csv", "data/?.csv", "data/[a-b].csv", "**",
           "data/**/c.tsv.gz",
           "data/link.csv", "data/links/x.csv", "data/broken.csv", "data/.h.csv", "data/.hidden/d.csv", "data/f*.csv",
           "data/${HOME}.csv", "~/b.csv", "data/B.csv", "data\\b.csv", "https://data/b.csv", "postgresql://h/d",
           "data/b.csv/", "data/%2e%2e/secret/x.csv", "data/\ud800.csv", "data/pipe.csv",
           "data/" + "x/" * 5000]  # fmt: skip
    for name in bad:
        with pytest.raises(NotFoundError):
            find_file([data], name)


@given(
    name=st.text() | st.lists(st.sampled_from(["..", ".", "/", "data", "secret", "x.csv", "b.csv", "*"])).map("/".join)
)
def test_whatever_is_found_is_below_a_folder(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "law" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "b.csv").touch()
    try:
        path = find_file([folder], name)
    except NotFoundError:
        return
    assert path.is_relative_to(folder.resolve())


def test_lists_are_bounded(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FILES", 1)
    assert list(list_files([data, data])) == [f"{data}/a.PARQUET"]
    monkeypatch.setattr(folders, "_MAX_ENTRIES", 0)
    assert list_files([data]) == {}
