"""DuckDB table functions for files, with options under which no row affects how others are read.

CSV files are read as texts by one thread from the first byte to the last. With several threads, DuckDB splits a file
every eight megabytes and guesses where a line begins; a quoted cell with line breaks there becomes rows, and other rows
are lost. Its buffers hold the longest record. The statistics of Parquet files may omit NaN. The name of a folder
(``year=2021``) is not a column.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.files import read_csv_header
from celosia.data.sources.text_format import TextFormat
from celosia.query.plan.to_sql import quote_text

if TYPE_CHECKING:
    from celosia.query.engines.sanitize.preparation import CheckedFiles

_BUFFER = 2**25
_SLACK = 2**16
_GLOB: Final = re.compile(r"[\[*?]")


def reader_sql(source: "CheckedFiles") -> str:
    """Return the SQL of the table function that reads files."""
    patterns = [path for path in source.paths if _GLOB.search(path)]
    if patterns:
        raise SchemaError("query.path_has_wildcard", path=safe_repr(patterns[0]))
    paths = f"[{', '.join(map(quote_text, source.paths))}]"
    if source.format == "parquet":
        # The statistics of Parquet omit NaN. If DuckDB trusted them, the treatment of a NaN, even an error, would
        # depend on the smallest and the largest of the other rows.
        return f"read_parquet({paths}, union_by_name = true, can_have_nan = true, hive_partitioning = false)"
    _, header = read_csv_header(source.paths[0], TextFormat(delimiter=source.delimiter))
    columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header)
    longest = source.max_record_bytes + _SLACK
    return (
        f"read_csv({paths}, columns = {{{columns}}}, delim = {quote_text(source.delimiter)}, header = true, "
        "auto_detect = false, quote = '\"', escape = '\"', strict_mode = false, ignore_errors = true, "
        f"hive_partitioning = false, parallel = false, max_line_size = {longest}, "
        f"buffer_size = {max(longest, _BUFFER)})"
    )


def check_parquet(paths: tuple[str, ...], wanted: Iterable[str], found: Iterable[str]) -> None:
    """Raise if a column has different types in the files, or a name that DuckDB changes.

    ``found`` are DuckDB's names: if two differ in case only, it renames one.
    """
    import pyarrow.parquet as pq

    first, *others = (pq.read_schema(path) for path in paths)
    types = dict(zip(first.names, first.types, strict=True))
    if any(types != dict(zip(other.names, other.types, strict=True)) for other in others):
        raise SchemaError("query.parquet_columns_differ")
    renamed = [name for name in wanted if name in set(found) and name not in types]
    if renamed:
        raise SchemaError("query.parquet_names_differ_by_case", column=safe_repr(renamed[0]))


def check_stored(expression: Any, wanted: Iterable[str], connection: Any) -> None:
    """Raise if fragile columns of an Ibis table may come from a file that was not checked."""
    from ibis.expr import operations as ops

    types = expression.schema()
    touchy = [name for name in wanted if name in types and _is_touchy(types[name])]
    leaves = expression.op().find(ops.PhysicalTable)
    if touchy and not all(isinstance(leaf, ops.InMemoryTable) or _is_stored(leaf, connection) for leaf in leaves):
        raise SchemaError("query.ibis_view_not_checked", column=safe_repr(touchy[0]))


def _is_touchy(type_: Any) -> bool:
    return bool(type_.is_floating() or type_.is_string() or type_.is_timestamp())


def _is_stored(leaf: Any, connection: Any) -> bool:
    """Return whether a table is stored in DuckDB, whose statistics count NaN as the largest number."""
    from ibis.expr import operations as ops

    if not isinstance(leaf, ops.DatabaseTable):
        return False
    found = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = ? AND schema_name = coalesce(?, schema_name) AND "
        "database_name = coalesce(?, database_name) AND NOT EXISTS (FROM duckdb_views() WHERE view_name = ?)",
        [leaf.name, leaf.namespace.database, leaf.namespace.catalog, leaf.name],
    )
    return bool(found.fetchall()[0][0])
