"""Checks in the engine that every key of a public table occurs once, after cleaning.

Keys that differ in the source may be equal in an engine: 0.0 and -0.0 as categories, two instants of one day as a date.
A private row would then meet several public rows, and count more often than was paid for.
"""

from typing import TYPE_CHECKING

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr
from celosia.query.execution.dialect import integer_literal
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.query.execution.rows import Tables


def check_public_key(name: str, engine: "Tables", run: "Callable[[ir.Table], Iterable[pa.RecordBatch]]") -> None:
    """Raise if a cleaned public table has a key twice."""
    rows, columns = rows_of(Base(name), engine), engine.tables[name].key
    keys = {f"k{place}": rows.value(Column(column)) for place, column in enumerate(columns)}
    known = rows.table.select(**keys).drop_null(list(keys))
    counted = known.group_by(list(keys)).aggregate(n=known.count())
    twice = counted.filter(counted.n > integer_literal(1)).limit(1)
    if any(batch.num_rows for batch in run(twice)):
        raise SchemaError("query.public_key_repeated", name=safe_repr(name), columns=safe_repr(", ".join(columns)))
