"""What a CSV file seems to hold: DuckDB's sniffer and a look at the bytes, as suggestions to its owner.

The first rows are looked at, so nothing of this may decide how a query reads a file. The owner sees the suggestions in
a draft, as comments, and declares what is right.
"""

import codecs
import gzip
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from celosia.core.errors import ParameterError
from celosia.data.files import Files
from celosia.data.text_format import TextFormat

__all__ = ["Suggestion", "sniff_file"]

_SAMPLE: Final = 2**20
_MOST_COMMAS = 0.9  # of the cells of a column with decimal commas
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
    """A format that seems to fit, and the kind that each column seems to have.

    >>> Suggestion().text.declared()
    {}
    """

    text: TextFormat = field(default_factory=TextFormat)
    kinds: Mapping[str, str] = field(default_factory=dict)


def sniff_file(files: Files) -> Suggestion:
    r"""Return what the first file of a table in CSV seems to hold; nothing is suggested of other files.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "visits.csv"
    ...     _ = file.write_bytes("edad;peso;día\n34;60,5;31/12/2021\n71;80,1;1/2/2021\n".encode("latin-1"))
    ...     sniff_file(Files((str(file),), "csv"))
    Suggestion(text=TextFormat(delimiter=';', encoding='latin-1', decimal=',', date_format=('%d/%m/%Y',), ...
    """
    if files.format != "csv":
        return Suggestion()
    sample = _sample(files.paths[0])
    encoding = _guess_encoding(sample)
    text = codecs.decode(sample, encoding, "replace").removeprefix("\ufeff")
    if len(sample) == _SAMPLE:
        text = text[: text.rfind("\n") + 1]
    with tempfile.TemporaryDirectory(prefix="celosia-") as folder:
        copy = Path(folder) / "sample.csv"
        copy.write_text(text, encoding="utf-8", newline="")
        found = _sniff(str(copy))
    given = {"encoding": encoding, **found.pop("text")}
    try:
        return Suggestion(text=TextFormat(**given), **found)
    except ParameterError:  # a format that DuckDB knows and we do not
        return Suggestion(text=TextFormat(encoding=encoding), **found)


def _sample(path: str) -> bytes:
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:  # noqa: PTH123 - as gzip.open
            return file.read(_SAMPLE)
    except (OSError, EOFError):
        return b""


def _guess_encoding(sample: bytes) -> str:
    """The encoding that the bytes fit: UTF-16 by its mark, UTF-8 if they are, else one of the West."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character may be cut
    except UnicodeDecodeError:
        return "windows-1252" if any(0x80 <= byte < 0xA0 for byte in sample) else "latin-1"
    return "utf-8"


def _sniff(path: str) -> dict[str, Any]:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        try:
            query = "SELECT Delimiter, Columns, DateFormat, TimestampFormat FROM sniff_csv($1)"
            [(delimiter, columns, *formats)] = connection.execute(query, [path]).fetchall()
            kinds = {column["name"]: _KINDS.get(column["type"], "text") for column in columns}
            texts = [name for name, kind in kinds.items() if kind == "text"]
            commas = [name for name in texts if _has_commas(connection, path, delimiter, name)]
        except Exception:  # noqa: BLE001 - whatever DuckDB says quotes rows, and is only a suggestion less
            return {"text": {}}
    dates = [one for one in formats if one and one not in _ISO]
    text = {"delimiter": delimiter, "decimal": "," if commas else ".", "date_format": dates}
    return {"text": text, "kinds": {**kinds, **dict.fromkeys(commas, "real")}}


def _has_commas(connection: Any, path: str, delimiter: str, name: str) -> bool:  # noqa: ANN401 - of DuckDB
    """Whether nearly all cells are numbers, and some of them have a decimal comma."""
    quoted = '"' + name.replace('"', '""') + '"'
    query = (
        f"SELECT avg(regexp_full_match({quoted}, '[+-]?[0-9]+(,[0-9]+)?')::INT), "  # noqa: S608 - quoted
        f"max({quoted} LIKE '%,%') FROM read_csv($1, all_varchar = true, header = true, delim = $2)"
    )
    [(share, some)] = connection.execute(query, [path, delimiter]).fetchall()
    return bool(some) and share is not None and share >= _MOST_COMMAS
