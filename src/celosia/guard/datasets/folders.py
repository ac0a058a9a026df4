"""Files that can be added as data sets on the pages: those below the folders of the configuration.

A browser names a file as the list does, and the name is only compared with the list: no path from outside is opened.
Links are not followed, so that none leads out of a folder. Names that would later be read as a pattern or a variable
are left out.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from celosia.data.sources.files import ENDINGS
from celosia.serving.errors import NotFoundError

MAX_FILES: Final = 500
"""The most files of a list."""

_MAX_ENTRIES: Final = 20_000  # of the folders, also of other kinds
_SPECIAL: Final = frozenset("*?[]$\\")


def list_files(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the CSV and Parquet files below folders, by the name of their folder and their path in it."""
    alike = Counter(folder.name for folder in folders)
    found: dict[str, Path] = {}
    for folder in folders:
        label = folder.name if alike[folder.name] == 1 and folder.name else str(folder)
        # The configured folder itself may be a link.
        for path in islice(_walk(folder.resolve()), MAX_FILES - len(found)):
            found[f"{label}/{path.relative_to(folder.resolve()).as_posix()}"] = path
    return found


def find_file(folders: Sequence[Path], name: str) -> Path:
    """Return the file of a name in the list; raise ``NotFoundError`` if it is not there."""
    path = list_files(folders).get(name)
    if path is None:
        raise NotFoundError("guard.no_data_file", name=name)
    return path


def _walk(folder: Path) -> Iterator[Path]:
    """Return the files below a folder, those of a folder before those of its folders."""
    waiting, left = [folder], _MAX_ENTRIES
    while waiting and left > 0:
        entries = _read_folder(waiting.pop(0), left)
        left -= len(entries) + 1
        shown = [entry for entry in entries if entry.name.isprintable() and not entry.name.startswith(".")]
        yield from (
            Path(entry.path)
            for entry in shown
            if entry.name.lower().endswith(ENDINGS)
            and entry.is_file(follow_symlinks=False)
            and not _SPECIAL.intersection(entry.path)
        )
        waiting += [Path(entry.path) for entry in shown if entry.is_dir(follow_symlinks=False)]


def _read_folder(folder: Path, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, most), key=lambda entry: entry.name)
    except OSError:  # it is gone, or the server may not read it
        return []
