"""Ibis's compiler for PostgreSQL with one more operation: a string that is compared byte by byte.

A column's collation or type may treat different strings as equal: a nondeterministic collation, ``citext``. Joins,
groups and lists would then disagree with the keys that were checked. The collation ``"C"`` compares bytes.
"""

from typing import Any

import sqlglot as sg
from ibis.backends.sql.compilers.postgres import PostgresCompiler
from ibis.expr import datatypes
from ibis.expr import operations as ops
from ibis.expr import types as ir
from sqlglot import expressions as sge


class BinaryString(ops.Unary):  # type: ignore[misc] # Ibis has no types
    """A string under the collation ``"C"``."""

    dtype = datatypes.string


class _Compiler(PostgresCompiler):  # type: ignore[misc] # Ibis has no types
    __slots__ = ()

    def visit_BinaryString(self, _op: BinaryString, *, arg: Any) -> Any:  # noqa: N802 - Ibis calls it so
        return sge.Collate(this=self.cast(arg, datatypes.string), expression=sg.to_identifier("C", quoted=True))


def compile_query(query: ir.Table) -> str:
    """Return the SQL of a query."""
    compiler = _Compiler()
    text: str = compiler.to_sqlglot(query).sql(compiler.dialect, copy=False, unsupported_level=sg.ErrorLevel.RAISE)
    return text
