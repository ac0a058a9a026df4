"""Checks whether an engine treats different strings as equal, without reading a row.

Columns are read under a binary collation (``Dialect.remove_collation``). Two collations cannot be overridden and raise
an error: a default collation of the connection, which also applies to literals; and one of person ids, because then the
database and the bytes disagree about which ids are one person.
"""

from typing import TYPE_CHECKING, Final

from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_PAIRS: Final = (("x", "X"), ("e", "\u00e9"), ("\u00e9", "e\u0301"), ("x", "x\u0001"), ("x", "x "))
"""Strings that collations merge by case, accents, normal form, control characters or trailing blanks."""


def check_collations(table: "Table", raw: "ir.Table", run: "Callable[[ir.Table], Iterable[pa.RecordBatch]]") -> None:
    """Raise if the connection's default collation, or that of the person column, merges different strings."""
    import ibis

    if _merges(ibis.literal, run):
        raise SchemaError("query.collation_merges_texts")
    if table.person is None or not raw[table.person].type().is_string():
        return
    # A text of a fixed length loses its trailing blanks; that is not a collation.
    empty = raw.select(x=raw[table.person].cast("string")).limit(0).as_scalar()
    if _merges(lambda text: ibis.coalesce(empty, ibis.literal(text)), run):
        raise SchemaError("query.person_with_collation", column=safe_repr(table.person), table=safe_repr(table.name))


def _merges(typed: "Callable[[str], ir.Value]", run: "Callable[[ir.Table], Iterable[pa.RecordBatch]]") -> bool:
    """Return whether two different strings are equal under the type and collation that ``typed`` gives them."""
    import ibis

    query = ibis.or_(*(typed(one) == ibis.literal(other) for one, other in _PAIRS)).name("merges").as_table()
    return any(any(batch.column(0).to_pylist()) for batch in run(query))
