"""Rows in memory, for models that are not learned from sums, and for predictions.

Rows for a fit go through the schema's rules inside the engine, as those of every question do: what is no value is
dropped or replaced, numbers are clipped. Rows to predict are the caller's own, and are read as they are.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from celosia.core.adjacency import AddRemove
from celosia.core.errors import EngineError, InputError, ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.data import Table
    from celosia.data.schema.columns import Kind


def check_in_memory(table: "Table", names: Sequence[str]) -> None:
    """Raise for a table whose guarantee a fit in memory, row by row, would not keep."""
    if table.person is not None:
        raise ParameterError("cli.model_needs_row_unit")
    dropped = [name for name in names if table.schema[name].nullable]
    if table.adjacency is not AddRemove and dropped:
        raise ParameterError("cli.dropped_rows_change_count", column=safe_repr(dropped[0]))


def clean_rows(table: "Table", names: Sequence[str]) -> "pa.Table":
    """Return some columns of all rows in which they have values, cleaned by the schema."""
    import pyarrow as pa

    from celosia.query.engines.ibis import IbisEngine, hide_driver_errors
    from celosia.query.engines.registry import open_engine
    from celosia.query.execution.rows import rows_of
    from celosia.query.plan.expressions import Column
    from celosia.query.plan.nodes import Base

    with open_engine({table.name: table}, progress=lambda _: None) as engine:
        if not isinstance(engine, IbisEngine):
            raise EngineError("cli.rows_not_readable")
        rows = rows_of(Base(table.name), engine)
        chosen = rows.table.select(**{f"v{place}": rows.value(Column(name)) for place, name in enumerate(names)})
        batches = hide_driver_errors(lambda: list(engine.run(chosen.drop_null())))()
    found = pa.Table.from_batches(batches) if batches else pa.table({f"v{place}": [] for place in range(len(names))})
    return found.rename_columns(list(names))


def new_rows(path: str, kinds: "Mapping[str, Kind | None]") -> "pa.Table":
    r"""Return columns of a CSV or Parquet file as they are: texts for categories of texts, else numbers."""
    import pyarrow as pa

    from celosia.data.sources.files import find_files

    files = find_files(path)
    types = {name: pa.string() if _is_text(kind) else pa.float64() for name, kind in kinds.items()}
    try:
        tables = [_read(file, files.format, files.delimiter, types) for file in files.paths]
    except (KeyError, pa.ArrowKeyError):
        raise SchemaError("cli.missing_model_columns", columns=", ".join(types)) from None
    except (pa.ArrowException, OSError, ValueError):
        raise InputError("cli.unreadable_model_columns", path=safe_repr(path), columns=", ".join(types)) from None
    return pa.concat_tables(tables)


def _read(path: str, format: str, delimiter: str, types: dict[str, Any]) -> "pa.Table":  # noqa: A002 - of a file
    import pyarrow as pa

    if format == "parquet":
        from pyarrow import parquet

        found = parquet.read_table(path)
        return pa.table({name: found.column(name).cast(type_) for name, type_ in types.items()})
    from pyarrow import csv

    wanted = csv.ConvertOptions(
        column_types={name: pa.string() for name in types}, include_columns=list(types), strings_can_be_null=True
    )
    found = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter), convert_options=wanted)
    return pa.table({name: _cast(found.column(name), type_) for name, type_ in types.items()})


def _cast(column: Any, type_: Any) -> Any:
    """A column of texts as numbers; true and false are 1 and 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if type_ == pa.string():
        return column
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    numbers = pc.if_else(pc.equal(lower, "true"), "1", pc.if_else(pc.equal(lower, "false"), "0", lower))
    return numbers.cast(type_)


def _is_text(kind: "Kind | None") -> bool:
    from celosia.data.schema.columns import Category

    return isinstance(kind, Category) and isinstance(kind.values[0], str)
