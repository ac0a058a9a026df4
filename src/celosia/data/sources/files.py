"""Files of a table: which ones a path or glob names, their format, and the first line of a CSV file.

The rows are not used: the format is the file's ending, and the delimiter of a CSV file is the declared one, or the one
that splits its first line, the header, into most names.
"""

import csv
import glob
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.text_format import TextFormat

_PARQUET: Final = (".parquet", ".pq")
_CSV: Final = (".csv.gz", ".tsv.gz", ".csv", ".tsv")

ENDINGS: Final = (*_PARQUET, *_CSV)
"""The supported endings of file names."""

_DELIMITERS: Final = ",;\t|"
_MAX_LINE_LENGTH = 1_000_000
_PLAIN: Final = TextFormat()


@dataclass(frozen=True, slots=True, repr=False)
class Files:
    """Files of one format: Parquet, or CSV with a header."""

    paths: tuple[str, ...]
    format: Literal["parquet", "csv"]
    delimiter: str = ","
    encoding: str = "utf-8"

    def __repr__(self) -> str:
        delimiter = "" if self.delimiter == "," else f", {self.delimiter!r}"
        encoding = "" if self.encoding == "utf-8" else f", encoding={self.encoding!r}"
        return f"Files({self.paths!r}, {self.format!r}{delimiter}{encoding})"


def find_files(pattern: str, text: TextFormat = _PLAIN) -> Files:
    """Return the files that a path or a glob names now; files that appear later are not included.

    ``text`` may declare the delimiter and the encoding of CSV files.
    """
    place = str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern
    found = [place] if Path(place).is_file() else sorted(glob.glob(place, recursive=True))  # noqa: PTH207 - any path
    paths = tuple(str(Path(path).absolute()) for path in found if Path(path).is_file())
    if not paths:
        code = "data.source_is_folder" if Path(place).is_dir() else "data.no_source_file"
        raise ParameterError(code, pattern=safe_repr(pattern))
    if all(path.lower().endswith(_PARQUET) for path in paths):
        return Files(paths, "parquet")
    if all(path.lower().endswith(_CSV) for path in paths):
        return Files(paths, "csv", _find_common_delimiter(pattern, paths, text), text.encoding)
    raise ParameterError("data.mixed_file_formats", pattern=safe_repr(pattern))


def _find_common_delimiter(pattern: str, paths: tuple[str, ...], text: TextFormat) -> str:
    headers = {read_csv_header(path, text) for path in paths}
    if len(headers) > 1:  # columns are found by their place
        raise SchemaError("data.headers_differ", pattern=safe_repr(pattern))
    [(delimiter, _)] = headers
    return delimiter


def read_csv_header(path: str, text: TextFormat = _PLAIN) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter and the column names of a CSV file, from its first line alone."""
    line = _read_first_line(path, "utf-8-sig" if text.encoding == "utf-8" else text.encoding)
    if text.delimiter is not None:
        return text.delimiter, tuple(next(csv.reader([line], delimiter=text.delimiter)))
    cuts = {delimiter: tuple(next(csv.reader([line], delimiter=delimiter))) for delimiter in _DELIMITERS}
    if path.lower().endswith((".tsv", ".tsv.gz")):
        return "\t", cuts["\t"]
    best = max(_DELIMITERS, key=lambda delimiter: len(cuts[delimiter]))  # of equals the first, a comma
    return best, cuts[best]


def _read_first_line(path: str, encoding: str) -> str:
    try:
        with (
            gzip.open(path, "rt", encoding=encoding, errors="replace")
            if path.lower().endswith(".gz")
            else open(path, encoding=encoding, errors="replace", newline="")  # noqa: PTH123 - as gzip.open
        ) as lines:
            line = lines.readline(_MAX_LINE_LENGTH).removeprefix("\ufeff")
    except (OSError, EOFError, UnicodeError) as error:
        raise ParameterError("data.unreadable_source_file", name=safe_repr(Path(path).name)) from error
    if not line.strip() or len(line) == _MAX_LINE_LENGTH:
        raise SchemaError("data.missing_header", name=safe_repr(Path(path).name))
    return line
