"""Sources of rows: files, a frame in memory, a database, an Ibis or a Spark table.

Classifying a source reads only the first line of a CSV file, and starts no Spark. The result is a small frozen value
whose ``repr`` shows neither rows nor passwords. A session reads files and frames when it is opened.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.data.sources.files import ENDINGS, Files, find_files
from celosia.data.sources.text_format import TextFormat

SPARK: Final = "spark:"
"""The prefix of sources that Spark reads."""

_SCHEMES: Final = ("postgresql", "postgres")
_MAX_NAME_LENGTH = 63  # of PostgreSQL's identifiers
_SPARK_TABLE: Final = re.compile(r"\w{1,255}(\.\w{1,255}){0,2}")  # other characters can name files
_PLAIN: Final = TextFormat()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """A frame in memory, of any library; two are equal only if they are the same object."""

    frame: Any

    def __repr__(self) -> str:
        return f"<Frame: {_describe_type(self.frame)}>"


@dataclass(frozen=True, slots=True, repr=False)
class Database:
    """A table of a PostgreSQL database; the password is part of ``url`` and never shown."""

    url: str
    table: str
    schema: str | None = None

    def __repr__(self) -> str:
        schema = "" if self.schema is None else f", {self.schema!r}"
        return f"Database({_hide_password(self.url)!r}, {self.table!r}{schema})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IbisSource:
    """An Ibis table, on whatever backend it has."""

    expression: Any

    def __repr__(self) -> str:
        return "<IbisSource>"  # in interactive mode the expression's repr would run it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkSource:
    """A Spark DataFrame, in its own Spark session."""

    frame: Any

    def __repr__(self) -> str:
        return "<SparkSource>"  # the repr of a Spark frame can run it


@dataclass(frozen=True, slots=True, repr=False)
class SparkFiles(Files):
    """Parquet files of this machine that Spark reads."""

    def __repr__(self) -> str:
        return f"SparkFiles({self.paths!r})"


@dataclass(frozen=True, slots=True, repr=False)
class SparkPath:
    """A path or glob of Parquet files elsewhere, such as ``hdfs://host/visits``; its secrets are never shown."""

    path: str

    def __repr__(self) -> str:
        return f"SparkPath({_hide_password(self.path)!r})"


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table of Spark's catalogue: its name, after that of its database and of its catalogue."""

    names: tuple[str, ...]


DataSource: TypeAlias = Files | Frame | Database | IbisSource | SparkSource | SparkPath | SparkTable
"""A source of rows."""


def classify(source: object, *, name: str | None = None, text: TextFormat = _PLAIN) -> DataSource:
    """Return the source that the caller passed as one of the classes above.

    ``name`` is the table of a database or of Spark's catalogue.

    ``text`` may declare the delimiter and the encoding of CSV files.
    """
    if isinstance(source, DataSource):
        return source
    if isinstance(source, str) and (source.startswith(SPARK) or "://" in source):
        return _parse_address(source, name)
    if isinstance(source, str | os.PathLike):
        return find_files(os.fsdecode(source), text)
    kind = type(source)
    if kind.__module__.startswith("ibis.expr.types") and hasattr(source, "schema"):
        return IbisSource(source)
    if any(base.__module__ == "pyspark.sql.dataframe" for base in kind.__mro__):
        return SparkSource(source)
    _check_frame(source)
    return Frame(source)


def has_tables(source: str) -> bool:
    """Return whether a source is a database or Spark's catalogue, of which one table must be named."""
    return "://" in source if not source.startswith(SPARK) else source == SPARK


def suggest_name(source: object) -> str:
    """Return the default name of a table: the file's stem made an identifier, or ``data``."""
    if isinstance(source, Database):
        return _make_identifier(source.table)
    if isinstance(source, SparkTable):
        return _make_identifier(source.names[-1])
    if isinstance(source, Files):
        return suggest_name(source.paths[0]) if len(source.paths) == 1 else "data"
    if not isinstance(source, str | os.PathLike):
        return "data"
    stem = Path(os.fsdecode(source).removeprefix(SPARK)).name
    ending = next((ending for ending in ENDINGS if stem.lower().endswith(ending)), "")
    return _make_identifier(stem[: len(stem) - len(ending)])


def _make_identifier(text: str) -> str:
    word = re.sub(r"\W+", "_", text).strip("_")[:_MAX_NAME_LENGTH]
    return (word if word.isidentifier() else f"_{word}") if word else "data"


def _describe_type(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}"


def _check_frame(source: object) -> None:
    """Refuse an object that is not a frame, or can be read only once; the error never shows its content."""
    if hasattr(source, "__next__"):
        raise ParameterError("data.source_read_only_once", type=_describe_type(source))
    if not _is_frame(source):
        raise ParameterError("data.unsupported_source", type=_describe_type(source))


def _is_frame(source: Any) -> bool:
    if type(source).__module__ == "builtins":
        return False  # without loading the library below
    from narwhals.dependencies import is_into_dataframe, is_into_series, is_polars_lazyframe

    if is_into_series(source):
        return False
    if is_into_dataframe(source) or is_polars_lazyframe(source):
        return True
    # Arrow's own protocol, on an object with columns: a bare array has it as well.
    has_protocol = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
    return has_protocol and any(hasattr(source, name) for name in ("columns", "column_names", "schema"))


def _parse_address(source: str, name: str | None) -> DataSource:
    if source.startswith(SPARK):
        return _parse_spark(source.removeprefix(SPARK), name)
    return _parse_database(source, name)


def _parse_database(url: str, name: str | None) -> Database:
    scheme = _parse_scheme(url)
    if scheme not in _SCHEMES:
        raise ParameterError("data.unsupported_source_address", scheme=safe_repr(scheme))
    if name is None:
        raise ParameterError("data.missing_table_name")
    *schema, table = _split_table_name(name)
    return Database(url, table, schema[0] if schema else None)


def _parse_spark(place: str, name: object) -> SparkFiles | SparkPath | SparkTable:
    if not place:
        if name is None:
            raise ParameterError("data.missing_table_name")
        if not isinstance(name, str) or not _SPARK_TABLE.fullmatch(name):
            raise ParameterError("data.invalid_spark_table", name=safe_repr(name))
        return SparkTable(tuple(name.split(".")))
    if "://" in place:
        if _parse_scheme(place) in ("", "file", *_SCHEMES):  # a path of this machine has no scheme
            raise ParameterError("data.invalid_spark_source")
        return SparkPath(place)
    found = find_files(place)
    if found.format != "parquet":
        raise ParameterError("data.invalid_spark_source")
    return SparkFiles(found.paths, "parquet")


def _parse_scheme(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading it checks it
    except ValueError:
        return ""  # the parser's message may show the password
    return parts.scheme


def _split_table_name(name: object) -> list[str]:
    parts = name.split(".") if isinstance(name, str) else []
    if not 1 <= len(parts) <= 2 or not all(part.isprintable() and 0 < len(part) <= _MAX_NAME_LENGTH for part in parts):
        raise ParameterError("data.invalid_table_name", name=safe_repr(name))
    return parts


def _hide_password(url: str) -> str:
    """Return a URL without its password, neither before the host nor among the parameters."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    query = re.sub(r"(?i)([^&=]*(?:pass|secret|key|token)[^&=]*)=[^&]*", r"\1=***", parts.query)
    return f"{parts.scheme}://{name}{':***' if colon else ''}{at}{host}{parts.path}{'?' if query else ''}{query}"
