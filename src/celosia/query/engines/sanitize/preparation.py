"""Reads what the owner's rows may spoil, once, when a session or an engine is opened: never inside a question.

Frames become Arrow tables, and every row of the columns on which DuckDB may stumble is checked. Files that have such a
row are copied, sanitized (``mended_copy``). CSV files in another encoding than UTF-8 are converted (``utf_8_copy``),
and the longest record of each is measured. How long that takes, and
whether it fails, depends on the data: so it is done by the owner who opens the tables, not by the analyst who asks
first.
"""

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from celosia.data.sources.classify import DataSource, Frame
from celosia.data.sources.files import Files
from celosia.data.sources.frames import to_arrow
from celosia.query.engines.sanitize.csv_buffer import longest_record
from celosia.query.engines.sanitize.sanitized_copy import has_readable_rows, mended_copy, sanitize
from celosia.query.engines.sanitize.utf_8_copy import utf_8_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.data.table import Table


@dataclass(frozen=True, slots=True, repr=False)
class CheckedFiles(Files):
    """Files in which every row was checked, or that are a sanitized copy.

    No record of a CSV file has more than ``longest`` bytes.
    """

    longest: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckedFrame(Frame):
    """A frame that was read as an Arrow table, and sanitized."""


class Prepared:
    """Tables that an engine can read whatever their rows hold; the copies last as long as this object."""

    def __init__(self, tables: "Mapping[str, Table]") -> None:
        self._folder: str | None = None
        self._remove: Callable[[], object] = lambda: None
        self.tables = {name: replace(table, source=self._check(table)) for name, table in tables.items()}

    def _check(self, table: "Table") -> DataSource:
        columns = columns_read(table)
        match table.source:
            case CheckedFrame() | CheckedFiles() as checked:
                return checked
            case Frame(frame=frame):
                rows = to_arrow(frame, columns, kinds=table.schema, person=table.person, text=table.text)
                return CheckedFrame(sanitize(rows, table.person))
            case Files(format="parquet") as files:
                if not has_readable_rows(files, columns):
                    files = mended_copy(files, columns, table.person, self._own_folder())
                return CheckedFiles(files.paths, "parquet")
            case Files(paths=paths, delimiter=delimiter, encoding=encoding):
                if encoding != "utf-8":
                    paths = utf_8_copies(paths, encoding, self._own_folder())
                return CheckedFiles(paths, "csv", delimiter, longest=max(map(longest_record, paths)))
            case other:
                return other

    def _own_folder(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="celosia-")
            self._remove = weakref.finalize(self, remove_folder, self._folder, os.getpid())
        return self._folder

    def close(self) -> None:
        """Remove the copies."""
        self._remove()


def columns_read(table: "Table") -> list[str]:
    """Return the columns of a table that a question may need."""
    return [*table.schema, *(() if table.person is None or table.person in table.schema else (table.person,))]


def remove_folder(folder: str, process: int) -> None:
    """Remove a folder, unless this process is a fork of the one that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
