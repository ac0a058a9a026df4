"""Queries begin in the same two ways, whoever answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from celosia.core.errors import ParameterError, QueryError
from celosia.query.backend import begin
from celosia.query.sql.parser import parse_sql
from tests.query.samples import asking, code_book, rows_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.table import Table
    from celosia.query.plan.nodes import Plan


class Elsewhere:
    """A backend that has tables and never answers."""

    def __init__(self, *tables: Table) -> None:
        self.tables: Mapping[str, Table] = {table.name: table for table in tables}
        self.asked: list[tuple[Plan, dict[str, Any]]] = []

    def preview(self, plan: Plan, **target: Any) -> NoReturn:
        self.asked.append((plan, target))
        raise NotImplementedError

    release = preview


def test_a_query_needs_tables_and_somebody_to_ask() -> None:
    other, session = Elsewhere(rows_table(), code_book()), asking(rows_table(), code_book())
    text = "SELECT sex, COUNT(*) FROM deaths WHERE age < 18 GROUP BY sex"
    assert parse_sql(text, other.tables) == parse_sql(text, session.tables) == session.sql(text).plan
    built = begin(other).where("age < 18").group_by("sex").count()
    assert built.plan == session.query().where("age < 18").group_by("sex").count().plan
    with pytest.raises(NotImplementedError):
        built.release(epsilon="0.1")
    with pytest.raises(NotImplementedError):
        built.preview(rho="0.1", rows=5)
    [(plan, target), (_, previewed)] = other.asked
    assert plan == built.plan
    assert target["epsilon"] == "0.1"
    assert (previewed["rho"], previewed["rows"]) == ("0.1", 5)


def test_a_table_is_named_where_there_are_several() -> None:
    several = Elsewhere(rows_table(), rows_table("visits"), code_book())
    with pytest.raises(ParameterError, match="several tables"):
        begin(several)
    for wrong in ("nothing", 7, ["deaths"]):
        with pytest.raises(QueryError, match="no table"):
            begin(several, wrong)  # type: ignore[arg-type]
    assert begin(several, "visits").count().plan.relation.table == "visits"  # type: ignore[union-attr]
