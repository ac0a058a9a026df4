"""Files that a command writes: checked before anything is computed, and written atomically.

A file is written beside its place and renamed. An existing file stays, unless the caller allows replacing it.
"""

import tempfile
from pathlib import Path

from celosia.core.errors import ParameterError
from celosia.core.messages.system_errors import describe_os_error

_CHARTS = (".html", ".png", ".svg")


def check_place(path: Path, *, name: str, force: bool = True) -> None:
    """Refuse a file that cannot be written, or (without ``force``) that exists."""
    if not path.parent.is_dir():
        raise ParameterError("cli.no_such_directory", name=name, directory=repr(str(path.parent)))
    if path.is_dir():
        raise ParameterError("cli.path_is_directory", name=name, path=repr(str(path)))
    if path.exists() and not force:
        raise ParameterError("cli.file_exists", name=name, path=repr(str(path)))


def check_chart(path: Path, *, name: str) -> None:
    """Refuse a file that a chart cannot be saved to."""
    if path.suffix.lower() not in _CHARTS:
        raise ParameterError("cli.unknown_chart_format", name=name, file=repr(path.name))
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
        raise ParameterError("cli.file_exists", name=name, path=repr(str(path))) from None
    except OSError as error:
        raise ParameterError(
            "cli.file_not_writable", name=name, path=repr(str(path)), reason=describe_os_error(error)
        ) from error
