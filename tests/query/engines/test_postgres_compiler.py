"""Every comparison of texts that a plan makes on PostgreSQL is under the collation "C"."""

from __future__ import annotations

import ibis

from celosia.query.engines.postgres import PostgresDialect
from celosia.query.engines.postgres_compiler import BinaryString, compile_query


def test_texts_are_cast_and_collated() -> None:
    table = ibis.table({"c": "string", "n": "int64"}, name="t")
    bound = table.select(c=PostgresDialect().remove_collation(table.c), n=table.n)
    query = bound.filter(bound.c.isin(["F", "M"])).group_by("c").aggregate(n=lambda rows: rows.count())
    text = compile_query(query)
    assert 'CAST("t0"."c" AS VARCHAR) COLLATE "C"' in text
    assert text.count('"t0"."c"') == text.count('CAST("t0"."c" AS VARCHAR) COLLATE "C"')


def test_the_operation_is_a_string() -> None:
    column = BinaryString(ibis.table({"c": "string"}, name="t").c).to_expr()
    assert column.type().is_string()
    assert column.get_name()
