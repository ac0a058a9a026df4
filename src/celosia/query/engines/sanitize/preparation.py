"""Prepares the owner's tables when a session or an engine is opened, never during a query.

DuckDB fails on some rows. Frames become Arrow tables, and the columns that may hold such rows are checked. A file with
one is copied and sanitized (``sanitized_copy``). A CSV file in another encoding is converted to UTF-8 (``utf_8_copy``),
and its longest record is measured. What Spark reads becomes a DataFrame. Duration and failure of these steps depend on
the data, so the owner who opens the tables runs them, not the analyst who queries first.
"""

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from celosia.data.sources.classify import DataSource, Frame, SparkFiles, SparkPath, SparkSource, SparkTable
from celosia.data.sources.files import Files
from celosia.data.sources.frames import to_arrow
from celosia.data.sources.spark import open_frame
from celosia.query.engines.sanitize.csv_buffer import measure_longest_record
from celosia.query.engines.sanitize.sanitized_copy import has_readable_rows, sanitize, write_sanitized_copy
from celosia.query.engines.sanitize.utf_8_copy import write_utf_8_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.data.table import Table


@dataclass(frozen=True, slots=True, repr=False)
class CheckedFiles(Files):
    """Files in which every row was checked, or that are a sanitized copy.

    No record of a CSV file has more than ``max_record_bytes`` bytes.
    """

    max_record_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckedFrame(Frame):
    """A frame that was converted to an Arrow table and sanitized."""


class PreparedTables:
    """Tables that an engine can read with any content; the copies last as long as this object."""

    def __init__(self, tables: "Mapping[str, Table]") -> None:
        self._folder: str | None = None
        self._remove: Callable[[], object] = lambda: None
        self.tables = {name: replace(table, source=self._check(table)) for name, table in tables.items()}

    def _check(self, table: "Table") -> DataSource:
        columns = columns_to_read(table)
        match table.source:
            case CheckedFrame() | CheckedFiles() as checked:
                return checked
            case Frame(frame=frame):
                rows = to_arrow(frame, columns, kinds=table.schema, person=table.person, text=table.text)
                return CheckedFrame(sanitize(rows, table.person))
            case SparkFiles() | SparkPath() | SparkTable() as there:
                return SparkSource(open_frame(there))
            case Files(format="parquet") as files:
                if not has_readable_rows(files, columns):
                    files = write_sanitized_copy(files, columns, table.person, self._own_folder())
                return CheckedFiles(files.paths, "parquet")
            case Files(paths=paths, delimiter=delimiter, encoding=encoding):
                if encoding != "utf-8":
                    paths = write_utf_8_copies(paths, encoding, self._own_folder())
                return CheckedFiles(paths, "csv", delimiter, max_record_bytes=max(map(measure_longest_record, paths)))
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


def columns_to_read(table: "Table") -> list[str]:
    """Return the columns of a table that a query may need."""
    return [*table.schema, *(() if table.person is None or table.person in table.schema else (table.person,))]


def remove_folder(folder: str, process: int) -> None:
    """Remove a folder, unless this process is a fork of the one that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
