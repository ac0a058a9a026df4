"""Small files that are whole, and on the disk, before anything else happens; and locks that end with their process."""

import json
import os
import tempfile
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two processes apart there
    fcntl = None  # type: ignore[assignment]


def write_durably(path: Path, value: Any) -> None:
    """Replace a file by a JSON text. After a power cut the file is the old one or the new one, and it is whole."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".celosia-", delete=False) as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
    _sync_folder(path.parent)  # the new name must reach the disk too


def make_folder(path: Path) -> None:
    """Make a folder if there is none, and bring its name to the disk."""
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def lock_file(path: Path, *, wait: bool) -> IO[bytes]:
    """Return an open file that no other process has locked, until it is closed; ``OSError`` if one has."""
    file = path.open("ab")
    if fcntl is None:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        file.close()
        raise
    return file
