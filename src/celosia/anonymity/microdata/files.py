"""Files of records: CSV and Parquet, and those of SPSS, Stata and SAS with their labels.

A file is written beside its place and renamed, so that it is never incomplete. pyreadstat, of the extra ``microdata``,
reads and writes the formats of the statistical packages. SAS tables can be read, and written as transport files.
"""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celosia.anonymity.microdata.csv_files import read_csv
from celosia.anonymity.microdata.released import keep_used_labels
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.extras import require
from celosia.core.messages.system_errors import describe_os_error
from celosia.data.public import read_public
from celosia.data.sources.files import find_files

if TYPE_CHECKING:
    import pyarrow as pa

_READERS: Final = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_WRITERS: Final = {
    ".sav": "write_sav",
    ".zsav": "write_sav",
    ".por": "write_por",
    ".dta": "write_dta",
    ".xpt": "write_xport",
}
_VALUE_LABELS: Final = (".sav", ".zsav", ".dta")
_WRITABLE: Final = (".csv", ".parquet", ".pq", *_WRITERS)
_LONGEST_NAME: Final = {".por": 8, ".dta": 32, ".sav": 64, ".zsav": 64, ".xpt": 32}
_MAX_SAFE: Final = 2**53  # the whole numbers that a double holds


@dataclass(frozen=True, slots=True)
class FileLabels:
    """What a file of a statistical package says in words: about its columns, and about the values of a column."""

    column_labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


def read_file(path: str | Path) -> "tuple[pa.Table, FileLabels]":
    """Return the table in a file, and its labels."""
    place = Path(path)
    if place.suffix.lower() not in _READERS:
        source = find_files(str(path))
        return read_csv(source) if source.format == "csv" else read_public(source), FileLabels()
    readstat = require("pyreadstat", extra="microdata")
    if not place.is_file():
        raise ParameterError("anonymity.file_not_found", path=safe_repr(str(path)))
    try:
        columns, facts = getattr(readstat, _READERS[place.suffix.lower()])(str(place), output_format="dict")
    except (readstat.ReadstatError, OSError, UnicodeError, ValueError):
        raise ParameterError("anonymity.file_not_readable", path=safe_repr(str(path))) from None
    named = {name: text for name, text in facts.column_names_to_labels.items() if text}
    labels = FileLabels(column_labels=named, value_labels=dict(facts.variable_value_labels))
    return _make_table(columns), labels


def _make_table(columns: Mapping[str, Any]) -> "pa.Table":
    """Return an Arrow table; these formats have no integers, so that columns of whole numbers become integers."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = {}
    for name, values in columns.items():
        array = pa.array(values, from_pandas=True)
        if pa.types.is_floating(array.type):
            known = array.drop_null().to_numpy()
            if (known == np.floor(known)).all() and (np.abs(known) < _MAX_SAFE).all():
                array = array.cast(pa.int64())
        elif pa.types.is_string(array.type):
            array = pc.if_else(pc.equal(array, ""), None, array)  # how these formats write that there is no value
        arrays[name] = array
    return pa.table(arrays)


def check_file_name(path: str | Path) -> Path:
    """Return the path of a file to write, if its format and folder allow it."""
    place = Path(path)
    if not place.name.lower().endswith(_WRITABLE):
        raise ParameterError("anonymity.unknown_file_format", name=safe_repr(place.name), known=", ".join(_WRITABLE))
    if not place.parent.is_dir():
        raise ParameterError("anonymity.no_such_folder", path=safe_repr(str(place.parent)))
    if place.suffix.lower() in _WRITERS:
        require("pyreadstat", extra="microdata")
        require("pandas", extra="microdata")
    return place


def check_names_fit(names: Iterable[str], path: str | Path) -> None:
    """Refuse column names that a format does not allow; to be asked before the work of a plan is done.

    >>> check_names_fit(["postal code"], "release.csv")
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        return
    most = _LONGEST_NAME[suffix]
    for name in names:
        if len(name.encode()) > most:
            raise ParameterError("anonymity.column_name_too_long", suffix=suffix, name=safe_repr(name), most=most)
        if not name.isidentifier() or name.startswith("_"):
            raise ParameterError("anonymity.column_name_not_allowed", suffix=suffix, name=safe_repr(name))


def write_file(table: "pa.Table", path: str | Path, labels: FileLabels | None = None) -> Path:
    """Write a table in the format of the file's ending, and return the path."""
    place = check_file_name(path)
    check_names_fit(table.column_names, place)
    try:
        # In the file's own directory, because a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".celosia-") as folder:
            part = Path(folder) / place.name
            _write(table, part, labels or FileLabels())
            part.replace(place)
    except OSError as error:
        reason = describe_os_error(error)
        raise ParameterError("anonymity.file_not_writable", path=safe_repr(str(path)), reason=reason) from error
    return place


def _write(table: "pa.Table", place: Path, labels: FileLabels) -> None:
    import pyarrow.parquet as pq
    from pyarrow import csv

    match place.suffix.lower():
        case ".csv":
            csv.write_csv(table, place)
        case ".parquet" | ".pq":
            pq.write_table(table, place)
        case suffix:
            _write_labelled(table, place, suffix, labels)


def _write_labelled(table: "pa.Table", place: Path, suffix: str, labels: FileLabels) -> None:
    readstat = require("pyreadstat", extra="microdata")
    texts: dict[str, Any] = {
        "column_labels": {name: text for name, text in labels.column_labels.items() if name in table.column_names}
    }
    if suffix in _VALUE_LABELS:
        texts["variable_value_labels"] = {
            name: keep_used_labels(table.column(name), values)
            for name, values in labels.value_labels.items()
            if name in table.column_names
            and has_type_of(table.schema.field(name).type, values)
            and not (suffix == ".dta" and any(isinstance(value, str) for value in values))  # Stata labels numbers alone
        }
    try:
        getattr(readstat, _WRITERS[suffix])(table.to_pandas(), str(place), **texts)
    except (readstat.PyreadstatError, readstat.ReadstatError, UnicodeError, TypeError):
        raise ParameterError("anonymity.table_not_writable", suffix=suffix) from None


def has_type_of(kind: "pa.DataType", values: Mapping[Any, str]) -> bool:
    """Return whether a column still has the type of its value labels; a generalized one is text, and has none."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind)) == all(isinstance(value, str) for value in values)


def write_text(text: str, path: str | Path) -> Path:
    """Write a text file, such as a report, and return its path."""
    place = Path(path)
    if not place.parent.is_dir():
        raise ParameterError("anonymity.no_such_folder", path=safe_repr(str(place.parent)))
    try:
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".celosia-") as folder:
            part = Path(folder) / place.name
            part.write_text(text, encoding="utf-8")
            part.replace(place)
    except OSError as error:
        reason = describe_os_error(error)
        raise ParameterError("anonymity.file_not_writable", path=safe_repr(str(path)), reason=reason) from error
    return place
