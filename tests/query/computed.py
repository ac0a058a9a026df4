"""What DuckDB makes of an Ibis expression over a few rows: for tests of what expressions are built of."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from celosia.query.engines.duckdb import open_relation

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from ibis.expr import types as ir

_NUMBERS = itertools.count()


@functools.cache
def _backend() -> Any:
    import ibis

    return ibis.duckdb.connect(threads=1)  # for a few rows


def computed(rows: pa.Table, make: Callable[[ir.Table], ir.Value]) -> pa.ChunkedArray:
    """The values of an expression in each row, in the order of the rows."""
    return all_computed(rows, lambda table: {"value": make(table)})["value"]


def all_computed(rows: pa.Table, make: Callable[[ir.Table], dict[str, ir.Value]]) -> pa.Table:
    """The same of several expressions at once."""
    backend, name = _backend(), f"rows_{next(_NUMBERS)}"
    backend.con.register(name, rows)
    try:
        table = open_relation(backend, name)
        return backend.con.sql(backend.compile(table.select(**make(table)))).to_arrow_table()
    finally:
        backend.con.unregister(name)
