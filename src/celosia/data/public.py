"""Public tables: code books, populations, key lists. They are not about people, so their rows may be read.

A private table is joined with one by its key, so every key must be unique: otherwise a join would multiply rows. Their
bounds and categories may be read from the rows; for a private table that would reveal people.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import DROP, MAX_KEYS, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import Schema
from celosia.data.sources.classify import Database, DataSource, Frame, IbisSource, SparkPath, SparkSource, SparkTable
from celosia.data.sources.column_types import column_types, query_database
from celosia.data.sources.files import Files
from celosia.data.sources.frames import to_arrow
from celosia.data.sources.spark import open_frame
from celosia.data.sources.strings import sanitize_strings
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN: Final = TextFormat()
_KEYS: Final = (Boolean, Category, Date, Integer, Text)


def read_public(source: DataSource, schema: Mapping[str, Kind] | None = None, text: TextFormat = _PLAIN) -> "pa.Table":
    """Return the rows of a public table; strings that look like numbers stay strings where the schema declares it.

    Strings that are not UTF-8 are replaced, and dates are in days, so that every engine has the same keys.
    """
    return _dates_to_days(sanitize_strings(_read(source, schema, text)))


def _dates_to_days(table: "pa.Table") -> "pa.Table":
    """Cast Arrow's dates in milliseconds to days: engines drop the time of day, or cannot read them."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_date64(field.type):
            days = table.column(place).cast(pa.date32(), safe=False)
            table = table.set_column(place, field.name, days)
    return table


def _read(source: DataSource, schema: Mapping[str, Kind] | None, text: TextFormat) -> "pa.Table":
    match source:
        case Files(paths=paths, format="parquet"):
            import pyarrow as pa
            import pyarrow.parquet as pq

            _ = column_types(source)  # raises for files that cannot be read
            return pa.concat_tables([pq.ParquetFile(path).read() for path in paths], promote_options="permissive")
        case Files():
            return _read_csv(source, schema or {}, text)
        case Frame(frame=frame):
            return to_arrow(frame, kinds=schema, text=text)
        case IbisSource(expression=expression):
            return expression.to_pyarrow()
        case SparkSource() | SparkPath() | SparkTable():
            frame = open_frame(source)
            return (
                frame.toArrow() if hasattr(frame, "toArrow") else to_arrow(frame.toPandas(), kinds=schema, text=text)
            )  # before Spark 4
        case Database():
            return query_database(source, lambda table: table.to_pyarrow())


def _read_csv(source: Files, schema: Mapping[str, Kind], text: TextFormat) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv

    texts = {name: pa.string() for name, kind in schema.items() if _is_text(kind)}
    read, parse = csv.ReadOptions(encoding=source.encoding), csv.ParseOptions(delimiter=source.delimiter)
    convert = csv.ConvertOptions(column_types=texts, decimal_point=text.decimal)
    if text.null_values:
        convert.null_values, convert.strings_can_be_null = ["", *text.null_values], True
    if text.date_format:
        convert.timestamp_parsers = list(text.date_format)
    try:
        tables = [
            csv.read_csv(path, read_options=read, parse_options=parse, convert_options=convert) for path in source.paths
        ]
        return pa.concat_tables(tables, promote_options="permissive")
    except (OSError, UnicodeError, pa.ArrowException):
        raise SchemaError("data.ragged_public_csv") from None


def _is_text(kind: Kind) -> bool:
    return isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str))


def infer_public_schema(table: "pa.Table") -> Schema:
    """Return the schema of a public table, with bounds and categories read from its rows.

    Columns of unsupported types, or without a single value, are left out.
    """
    kinds: dict[str, Kind] = {}
    for found in column_types(Frame(table)):
        try:
            kind = None if found.kind is None else _infer_kind(found.kind, table.column(found.name))
        except CelosiaError as error:
            raise SchemaError("data.public_column_without_kind", name=safe_repr(found.name), error=error) from error
        if kind is not None:
            kinds[found.name] = kind
    return Schema(kinds)


def _infer_kind(word: str, column: "pa.ChunkedArray") -> Kind | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    values = values.drop_null()
    if word == "real" and pa.types.is_floating(values.type):
        values = values.filter(pc.is_finite(values))
    if word == "timestamp":
        values = pc.floor_temporal(values, unit="second").cast(pa.timestamp("s", tz=values.type.tz))
    if len(values) == 0:
        return None
    if word == "boolean":
        return Boolean()
    if word == "text":
        return _infer_text_kind(values)
    return _make_bounded(word, *(end.as_py() for end in pc.min_max(values).values()))


def _make_bounded(word: str, low: Any, high: Any) -> Kind:
    match word:
        case "integer":
            return Integer(low, high)
        case "date":
            return Date(low, high)
        case "timestamp":
            return Timestamp(low, high)
        case _:
            return _make_real(Fraction(low), Fraction(high))


def _make_real(low: Fraction, high: Fraction) -> Real:
    """Return a ``Real`` between two values, widened to numbers with few digits."""
    largest = max(abs(low), abs(high), Fraction(1, 2**20))
    step = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length() - 40)
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    return Real(first, last if last > first else first + max(step, Fraction(1)))


def _infer_text_kind(values: "pa.ChunkedArray") -> Kind:
    words = values.unique().to_pylist()
    return Category(sorted(words)) if len(words) <= MAX_KEYS and DROP not in words else Text()


def check_key(table: "pa.Table", key: tuple[str, ...], schema: Mapping[str, Kind]) -> None:
    """Refuse a key that is not unique, or would not be after its column is cleaned."""
    for name in key:
        _check_key_kind(name, schema[name], table.column(name))
    known = table.select(list(key)).drop_null()
    if known.group_by(list(key)).aggregate([]).num_rows < known.num_rows:
        raise SchemaError("data.public_key_repeated", key=safe_repr(", ".join(key)))


def _check_key_kind(name: str, kind: Kind, column: "pa.ChunkedArray") -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(kind, _KEYS):
        raise SchemaError("data.unsupported_key_kind", name=safe_repr(name), kind=safe_repr(kind))
    if kind.null != DROP:
        raise SchemaError("data.key_needs_drop_rule", name=safe_repr(name))
    if isinstance(kind, Integer | Date):
        plain = column.drop_null()
        if len(plain) and not (pa.types.is_integer(plain.type) or pa.types.is_date(plain.type)):
            raise SchemaError("data.key_type_mismatch", name=safe_repr(name), type=column.type, kind=safe_repr(kind))
        low, high = (end.as_py() for end in pc.min_max(plain).values())
        if len(plain) and not kind.low <= low <= high <= kind.high:
            raise SchemaError("data.key_outside_bounds", name=safe_repr(name), kind=safe_repr(kind))
