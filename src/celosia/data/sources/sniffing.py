"""Guess the content of a CSV file, with DuckDB's sniffer and its bytes, as suggestions to its owner.

This reads the first rows, so it must not decide how a query reads a file. The owner sees the suggestions in a draft or
among the questions of ``celosia schema``, and declares the right ones.
"""

import codecs
import gzip
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from celosia.core.errors import ParameterError
from celosia.data.sources.files import Files
from celosia.data.sources.text_format import TextFormat
from celosia.data.sources.text_values import FALSE, ISO_DATE, TRUE, date_rewrites, number

_SAMPLE_BYTES: Final = 2**20
_MIN_SHARE = 0.9  # of the cells of a column, to be taken for its kind
_NULL_WORDS: Final = (
    *("NA", "N/A", "n/a", "na", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", "?", "."),
    *("ND", "N/D", "nd", "n/d", "S/D", "s/d", "NC", "N/C", "NS/NC", "No consta", "no consta", "Sin dato", "sin dato"),
)
_DATE_FORMATS: Final = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y"),
    *("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M"),
)
_KINDS: Final = {
    "BIGINT": "integer",
    "HUGEINT": "integer",
    "DOUBLE": "real",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "VARCHAR": "text",
}
_ISO: Final = ("%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A suggested format, and a suggested kind for each column."""

    text: TextFormat = field(default_factory=TextFormat)
    kinds: Mapping[str, str] = field(default_factory=dict)


def sniff_file(files: Files, *, delimiter: str | None = None, encoding: str | None = None) -> Suggestion:
    """Suggest a format and kinds from the first CSV file of a table; other files get no suggestions.

    ``delimiter`` and ``encoding`` are the owner's. Words such as ``NA`` are suggested as nulls where they stand among
    numbers, dates or booleans.
    """
    if files.format != "csv":
        return Suggestion()
    sample = _read_sample(files.paths[0])
    encoding = _guess_encoding(sample) if encoding is None else encoding
    text = codecs.decode(sample, encoding, "replace").removeprefix("\ufeff")
    if len(sample) == _SAMPLE_BYTES:
        text = text[: text.rfind("\n") + 1]
    with tempfile.TemporaryDirectory(prefix="celosia-") as folder:
        copy = Path(folder) / "sample.csv"
        copy.write_text(text, encoding="utf-8", newline="")
        found = _sniff(str(copy), delimiter)
    given = {"encoding": encoding, "delimiter": delimiter, **found.pop("text")}
    try:
        return Suggestion(text=TextFormat(**given), **found)
    except ParameterError:  # a format that DuckDB knows and we do not
        return Suggestion(text=TextFormat(encoding=encoding, delimiter=delimiter), **found)


def _read_sample(path: str) -> bytes:
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:  # noqa: PTH123 - as gzip.open
            return file.read(_SAMPLE_BYTES)
    except (OSError, EOFError):
        return b""


def _guess_encoding(sample: bytes) -> str:
    """Return the encoding that fits the bytes: UTF-16 by its mark, UTF-8 if valid, else a Western one."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character may be cut
    except UnicodeDecodeError:
        return "windows-1252" if any(0x80 <= byte < 0xA0 for byte in sample) else "latin-1"
    return "utf-8"


def _sniff(path: str, delimiter: str | None) -> dict[str, Any]:
    import duckdb

    given = {"nullstr": [*_NULL_WORDS, ""], **({} if delimiter is None else {"delim": delimiter})}
    options = "".join(f", {name} = ${name}" for name in given)
    with duckdb.connect(config={"threads": 1}) as connection:
        try:
            query = (
                f"SELECT Delimiter, Columns, DateFormat, TimestampFormat FROM sniff_csv($path, header = true{options})"  # noqa: S608 - names of ours
            )
            [(sign, columns, *formats)] = connection.execute(query, {"path": path, **given}).fetchall()
            seen = {column["name"]: _KINDS.get(column["type"], "text") for column in columns}
            connection.read_csv(path, all_varchar=True, header=True, delimiter=sign).create("cells")
            found = {name: _read_cells(connection, name, kind) for name, kind in seen.items()}
        except Exception:  # noqa: BLE001 - DuckDB's errors quote rows, and only a suggestion is lost
            return {"text": {}}
    dates = [one for one in formats if one] + [one.date_format for one in found.values() if one.date_format]
    if set(dates) <= set(_ISO):  # which is read without a declaration; beside another format it needs one
        dates = []
    commas = any(one.commas for one in found.values())
    words = [word for word in _NULL_WORDS if any(word in one.nulls for one in found.values())]
    text = {"delimiter": sign, "decimal": "," if commas else ".", "date_format": list(dict.fromkeys(dates))}
    kinds = {name: one.kind for name, one in found.items() if one.kind is not None}
    return {"text": {**text, "null_values": words}, "kinds": kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """The suggested kind of a column, and the declarations that it needs."""

    kind: str | None
    commas: bool = False
    date_format: str | None = None
    nulls: tuple[str, ...] = ()


def _read_cells(connection: Any, name: str, kind: str) -> _Cells:
    """Suggest the kind of a column that DuckDB takes for ``kind``; strings follow our own grammar."""
    quoted = '"' + name.replace('"', '""') + '"'
    words = ", ".join(f"'{word}'" for word in _NULL_WORDS)
    tests = {
        "whole": f"regexp_matches({quoted}, '^[ ]*[+-]?[0-9]+[ ]*$')",
        "number": f"regexp_matches({quoted}, '{number('.')}')",
        "comma": f"regexp_matches({quoted}, '{number(',')}')",
        "yes": f"regexp_matches({quoted}, '{TRUE}')",
        "no": f"regexp_matches({quoted}, '{FALSE}')",
        "iso": f"regexp_matches({quoted}, '{ISO_DATE}')",
        **{form: f"regexp_matches({quoted}, '{date_rewrites((form,))[0][0]}')" for form in _DATE_FORMATS},
    }
    shares = ", ".join(f"avg(({test})::INT) FILTER ({quoted} NOT IN ({words}))" for test in tests.values())
    present = f"list(DISTINCT {quoted}) FILTER ({quoted} IN ({words}))"
    [(nulls, *row)] = connection.execute(f"SELECT {present}, {shares} FROM cells").fetchall()  # noqa: S608 - quoted
    if row[0] is None:  # the column is empty
        return _Cells(kind=None)
    found = _Cells(kind=kind) if kind not in ("text", "boolean") else _guess_kind(dict(zip(tests, row, strict=True)))
    return found if found.kind == "text" else replace(found, nulls=tuple(nulls or ()))


def _guess_kind(shares: Mapping[str, float]) -> _Cells:
    """Return the kind of a column of strings, from the share of its cells that each pattern matches."""
    if shares["whole"] >= _MIN_SHARE:
        return _Cells(kind="integer")
    if max(shares["number"], shares["comma"]) >= _MIN_SHARE:
        return _Cells(kind="real", commas=shares["comma"] > shares["number"])
    if min(shares["yes"], shares["no"]) > 0 and math.isclose(shares["yes"] + shares["no"], 1):
        return _Cells(kind="boolean")
    if shares["iso"] >= _MIN_SHARE:
        return _Cells(kind="date", date_format=_ISO[0])
    form = max(_DATE_FORMATS, key=lambda form: shares[form])  # of equals the first: the day before the month
    if shares[form] >= _MIN_SHARE:
        return _Cells(kind="timestamp" if "%H" in form else "date", date_format=form)
    return _Cells(kind="text")
