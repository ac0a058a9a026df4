"""Files that a command writes: checked before anything is computed, and written atomically.

A file is written beside its place and renamed. An existing file stays, unless the caller allows replacing it.
"""

import tempfile
from pathlib import Path

from celosia.core.errors import ParameterError

_CHARTS = (".html", ".png", ".svg")


def check_place(path: Path, *, name: str, force: bool = True) -> None:
    """Refuse a file that cannot be written, or (without ``force``) that exists."""
    if not path.parent.is_dir():
        raise ParameterError(f"{name}: there is no directory {str(path.parent)!r}; make it first.")
    if path.is_dir():
        raise ParameterError(f"{name}: {str(path)!r} is a directory; name a file.")
    if path.exists() and not force:
        raise ParameterError(_describe_existing(path, name))


def check_chart(path: Path, *, name: str) -> None:
    """Refuse a file that a chart cannot be saved to."""
    if path.suffix.lower() not in _CHARTS:
        raise ParameterError(f"{name} must end in .html, .png or .svg, not {path.name!r}.")
    check_place(path, name=name)


def write_whole(path: Path, text: str, *, name: str, force: bool = True) -> None:
    """Write a text into a file, atomically."""
    check_place(path, name=name, force=force)
    try:
        # In the file's own directory, because a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".celosia-") as folder:
            part = Path(folder) / path.name
            part.write_text(text, encoding="utf-8")
            if force:
                part.replace(path)
                return
            path.open("x").close()  # another process may have taken the name
            part.replace(path)
    except FileExistsError:
        raise ParameterError(_describe_existing(path, name)) from None
    except OSError as error:
        raise ParameterError(f"{name}: {str(path)!r} cannot be written: {error.strerror}.") from error


def _describe_existing(path: Path, name: str) -> str:
    return f"{name}: {str(path)!r} is there already; name another file, or add --force to replace it."
