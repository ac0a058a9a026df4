"""What DuckDB is told to read: files with options under which no row changes how the others are read.

CSV files are read as texts by one thread from the first byte to the last: with several, DuckDB cuts a file every eight
megabytes and guesses where a line begins, and a quoted cell with line breaks at such a place turns into rows, while
others are lost. Its buffers hold the longest record. Parquet files may be mistaken about NaN in their statistics. What
a folder is called (``year=2021``) is no column of the files in it.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr
from celosia.data.sources.files import read_csv_header
from celosia.data.sources.text_format import TextFormat

if TYPE_CHECKING:
    from celosia.query.engines.sanitize.preparation import CheckedFiles

_BUFFER = 2**25
_SLACK = 2**16
_PATTERN: Final = re.compile(r"[\[*?]")


def reader(source: "CheckedFiles") -> str:
    """Return the table function that reads files."""
    patterns = [path for path in source.paths if _PATTERN.search(path)]
    if patterns:
        raise SchemaError(
            f"The file {safe_repr(patterns[0])} has one of * ? [ in its path, a pattern to DuckDB: rename it."
        )
    paths = f"[{', '.join(map(quoted_text, source.paths))}]"
    if source.format == "parquet":
        # The statistics of Parquet leave NaN out. DuckDB would believe them, and then what becomes of a NaN, an error
        # even, would depend on the smallest and the largest of the other rows.
        return f"read_parquet({paths}, union_by_name = true, can_have_nan = true, hive_partitioning = false)"
    _, header = read_csv_header(source.paths[0], TextFormat(delimiter=source.delimiter))
    columns = ", ".join(f"{quoted_text(name)}: 'VARCHAR'" for name in header)
    longest = source.longest + _SLACK
    return (
        f"read_csv({paths}, columns = {{{columns}}}, delim = {quoted_text(source.delimiter)}, header = true, "
        "auto_detect = false, quote = '\"', escape = '\"', strict_mode = false, ignore_errors = true, "
        f"hive_partitioning = false, parallel = false, max_line_size = {longest}, "
        f"buffer_size = {max(longest, _BUFFER)})"
    )


def check_parquet(paths: tuple[str, ...], wanted: Iterable[str], found: Iterable[str]) -> None:
    """Refuse files in which a column has different types, or one that DuckDB calls otherwise than the file does.

    ``found`` are DuckDB's names: of two that differ in capitals only, it renames one.
    """
    import pyarrow.parquet as pq

    first, *others = (pq.read_schema(path) for path in paths)
    types = dict(zip(first.names, first.types, strict=True))
    if any(types != dict(zip(other.names, other.types, strict=True)) for other in others):
        raise SchemaError("The Parquet files must all have the same columns with the same types.")
    renamed = [name for name in wanted if name in set(found) and name not in types]
    if renamed:
        raise SchemaError(
            f"The Parquet files have no column {safe_repr(renamed[0])}: names must differ in more than capitals."
        )


def check_stored(expression: Any, wanted: Iterable[str], connection: Any) -> None:
    """Refuse columns of an Ibis table that may come from a file by another way than ours."""
    from ibis.expr import operations as ops

    types = expression.schema()
    touchy = [name for name in wanted if name in types and _is_touchy(types[name])]
    leaves = expression.op().find(ops.PhysicalTable)
    if touchy and not all(isinstance(leaf, ops.InMemoryTable) or _is_stored(leaf, connection) for leaf in leaves):
        raise SchemaError(
            f"The column {safe_repr(touchy[0])} has doubles, texts or times, and the Ibis table is a view or a query "
            "whose "
            "rows may be in a Parquet file, about whose NaN DuckDB is mistaken, and on some of whose texts and times "
            "it fails: pass the path of the file to celosia.table, or store the rows in a table of the database."
        )


def _is_touchy(type_: Any) -> bool:
    return bool(type_.is_floating() or type_.is_string() or type_.is_timestamp())


def _is_stored(leaf: Any, connection: Any) -> bool:
    """Whether a table is one of DuckDB's own, whose statistics count NaN as the largest number."""
    from ibis.expr import operations as ops

    if not isinstance(leaf, ops.DatabaseTable):
        return False
    found = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = ? AND schema_name = coalesce(?, schema_name) AND "
        "database_name = coalesce(?, database_name) AND NOT EXISTS (FROM duckdb_views() WHERE view_name = ?)",
        [leaf.name, leaf.namespace.database, leaf.namespace.catalog, leaf.name],
    )
    return bool(found.fetchall()[0][0])


def quoted_text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted_name(value: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + value.replace('"', '""') + '"'
