"""Read the names and types of a source's columns, without reading its rows.

Types come from their declarations: the footer of a Parquet file, a frame's own types, a database's catalogue. A CSV
file declares none. Each type suggests a kind of column, and none suggests bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from celosia.core.errors import EngineError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.extras import require
from celosia.data.sources.classify import Database, DataSource, Frame, IbisSource, SparkPath, SparkSource, SparkTable
from celosia.data.sources.files import Files, read_csv_header
from celosia.data.sources.spark import open_frame
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_SPARK_KINDS: Final = {
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "real",
    "double": "real",
    "decimal": "real",
    "boolean": "boolean",
    "string": "text",
    "char": "text",
    "varchar": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's name, its type in its library's notation (None if unknown), and the suggested kind."""

    name: str
    type: str | None
    kind: str | None


def column_types(source: DataSource) -> tuple[ColumnType, ...]:
    """Return the columns of a source, in order; this opens databases, and what only Spark can read."""
    match source:
        case Files(paths=paths, format="parquet"):
            return _read_parquet_types(paths)
        case Files(paths=paths, delimiter=delimiter, encoding=encoding):
            header = read_csv_header(paths[0], TextFormat(delimiter=delimiter, encoding=encoding))[1]
            return tuple(ColumnType(name, None, None) for name in header)
        case Frame(frame=frame):
            return _read_frame_types(frame)
        case SparkSource() | SparkPath() | SparkTable():
            fields = [(str(field.name), field.dataType) for field in open_frame(source).schema.fields]
            return tuple(
                ColumnType(name, kind.simpleString(), _SPARK_KINDS.get(kind.typeName())) for name, kind in fields
            )
        case IbisSource(expression=expression):
            return _read_ibis_types(expression)
        case Database():
            return query_database(source, _read_ibis_types)


def _read_parquet_types(paths: tuple[str, ...]) -> tuple[ColumnType, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schemas = [pq.read_schema(path) for path in paths]
    except (OSError, pa.ArrowException):
        raise ParameterError("data.not_a_parquet_file") from None
    if any(set(schema.names) != set(schemas[0].names) for schema in schemas):
        raise ParameterError("data.parquet_columns_differ")
    return _read_arrow_types(schemas[0])


def _read_arrow_types(schema: "pa.Schema") -> tuple[ColumnType, ...]:
    return tuple(ColumnType(field.name, str(field.type), _arrow_kind(field.type)) for field in schema)


def _arrow_kind(kind: "pa.DataType") -> str | None:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _arrow_kind(kind.value_type)
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    tests: dict[str, bool] = {
        "integer": types.is_integer(kind),
        "real": types.is_floating(kind) or types.is_decimal(kind),
        "boolean": types.is_boolean(kind),
        "text": any(test(kind) for test in texts),
        "date": types.is_date(kind),
        "timestamp": types.is_timestamp(kind),
    }
    return next((word for word, fits in tests.items() if fits), None)


def _read_frame_types(frame: Any) -> tuple[ColumnType, ...]:
    import narwhals as nw
    import pyarrow as pa
    from narwhals.dependencies import is_pandas_dataframe

    if isinstance(frame, pa.Table | pa.RecordBatch):
        return _read_arrow_types(frame.schema)
    objects = is_pandas_dataframe(frame)  # pandas' objects become strings; Arrow has no others
    if objects and not frame.columns.is_unique:
        raise ParameterError("data.repeated_source_column")
    try:
        schema = nw.from_native(frame).collect_schema()
    except TypeError:  # not one of Narwhals', but it has Arrow's own protocol
        return _read_arrow_types(pa.table(frame).schema)
    return tuple(
        ColumnType(name, str(kind), "text" if objects and kind == nw.Object else _frame_kind(kind))
        for name, kind in schema.items()
        if isinstance(name, str)  # pandas allows others
    )


def _frame_kind(kind: Any) -> str | None:
    import narwhals as nw

    tests = {
        "integer": kind.is_integer(),
        "real": kind.is_float() or kind.is_decimal(),
        "boolean": kind == nw.Boolean,
        "text": kind in (nw.String, nw.Categorical, nw.Enum),
        "date": kind == nw.Date,
        "timestamp": kind == nw.Datetime,
    }
    return next((word for word, fits in tests.items() if fits), None)


def query_database(source: Database, query: Callable[[Any], T]) -> T:
    """Return ``query(table)`` for a table of a database, as an Ibis table, and disconnect.

    For public facts of a table, such as its types. The driver's error messages are withheld.
    """
    require("psycopg", extra="postgres")
    import ibis

    backend = None
    try:
        backend = ibis.connect(source.url)
        return query(backend.table(source.table, database=source.schema))
    except Exception:  # noqa: BLE001 - a driver's errors quote the address, and with it the password
        raise EngineError("data.database_not_opened", table=safe_repr(source.table)) from None
    finally:
        if backend is not None:
            backend.disconnect()


def _read_ibis_types(expression: Any) -> tuple[ColumnType, ...]:
    return tuple(ColumnType(name, str(kind), _ibis_kind(kind)) for name, kind in expression.schema().items())


def _ibis_kind(kind: Any) -> str | None:
    tests = {
        "integer": kind.is_integer(),
        "real": kind.is_floating() or kind.is_decimal(),
        "boolean": kind.is_boolean(),
        "text": kind.is_string(),
        "date": kind.is_date(),
        "timestamp": kind.is_timestamp(),
    }
    return next((word for word, fits in tests.items() if fits), None)
