"""Whose rows, and which columns: from schemas alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Base, Join, PerPerson, Projection, Relation
from celosia.query.plan.relations import Unit, columns_of, counts_all_rows, tables_of, unit_of
from tests.query.samples import code_book, persons_table, rows_table

if TYPE_CHECKING:
    from celosia.data.table import Table

DEATHS = Base("deaths")
PUBLIC = Join(left=DEATHS, right=Base("towns"), on=(("town", "town"),))
TWICE = Join(left=DEATHS, right=Base("visits"), by="person")
EACH = PerPerson(relation=DEATHS, columns=(("visits", "count", None), ("oldest", "max", Column("age"))))


def tables(*, persons: bool = True, rows: int = 3) -> dict[str, Table]:
    deaths = persons_table(groups=2, rows=rows) if persons else rows_table()
    visits = persons_table("visits", groups=5, rows=7) if persons else rows_table("visits")
    return {"deaths": deaths, "visits": visits, "towns": code_book()}


def test_tables_are_named_from_left_to_right() -> None:
    assert list(tables_of(Join(left=TWICE, right=Base("towns"), on=(("town", "town"),)))) == [
        "deaths",
        "visits",
        "towns",
    ]
    assert list(tables_of(Projection(relation=EACH, columns=(("v", Column("visits")),)))) == ["deaths"]


def test_a_table_has_the_columns_of_its_schema_and_not_the_person() -> None:
    found = columns_of(DEATHS, tables())
    assert "who" not in found
    assert found["age"] == cl.Integer(0, 120)


def test_columns_that_both_sides_have_go_by_their_table() -> None:
    found = columns_of(PUBLIC, tables())
    assert {"deaths.town", "towns.town", "beds", "age"} <= found.keys()
    assert "town" not in found


def test_derived_columns_have_bounds() -> None:
    derived = Projection(relation=DEATHS, columns=(("months", Call("*", (Column("age"), Literal(12)))),))
    assert columns_of(derived, tables()) == {"months": cl.Integer(0, 1440)}


def test_what_is_computed_per_person_has_bounds_where_its_column_has() -> None:
    found = columns_of(EACH, tables())
    assert found["oldest"] == cl.Integer(0, 120)
    assert found["visits"] == cl.Integer(0, 2**62)
    total = PerPerson(relation=DEATHS, columns=(("a", "sum", Column("age")), ("w", "sum", Column("weight"))))
    assert columns_of(total, tables()) == {"a": cl.Integer(0, 2**62), "w": cl.Real(0, 300 * 2**14)}
    large = {"deaths": persons_table(schema=cl.Schema(weight=cl.Real(-1, 10**29)))}
    of_weight = PerPerson(relation=DEATHS, columns=(("w", "sum", Column("weight")),))
    kind = columns_of(of_weight, large)["w"]
    assert isinstance(kind, cl.Real)
    assert kind.low <= -(2**14)
    assert kind.high == 10**30
    below = {"deaths": persons_table(schema=cl.Schema(age=cl.Integer(-1, 120)))}
    of_age = PerPerson(relation=DEATHS, columns=(("a", "sum", Column("age")),))
    assert columns_of(of_age, below) == {"a": cl.Integer(-(2**62), 2**62)}


def test_a_person_has_one_row_only_where_a_subquery_made_it_so() -> None:
    cases: list[tuple[Relation, int, int]] = [
        (DEATHS, 2, 3),
        (PUBLIC, 2, 3),
        (TWICE, 10, 21),  # every row of one table meets every row of the other
        (Projection(relation=DEATHS, columns=(("age", Column("age")),)), 2, 3),
        (EACH, 1, 1),
        (Projection(relation=EACH, columns=(("v", Column("visits")),)), 1, 1),
        (Join(left=EACH, right=Base("visits"), by="person"), 5, 7),  # many rows again
        (Join(left=EACH, right=EACH, by="person"), 1, 1),
    ]
    for relation, groups, rows in cases:
        unit = unit_of(relation, tables())
        assert (unit.groups, unit.rows) == (groups, rows)


def test_rows_are_one_each() -> None:
    known = tables(persons=False)
    assert unit_of(PUBLIC, known) == Unit(table=known["deaths"], groups=1, rows=1)


def both(left: Relation, right: Relation) -> Join:
    return Join(left=left, right=right, by="person")


def test_joins_and_subqueries_that_would_not_keep_the_person_are_refused() -> None:
    cases: list[tuple[Relation, str]] = [
        (Base("nothing"), "no table 'nothing'"),
        (Join(left=DEATHS, right=Base("visits"), on=(("town", "town"),)), "Only a public table"),
        (Join(left=DEATHS, right=EACH, on=(("town", "town"),)), "Only a public table"),
        (Join(left=DEATHS, right=Base("towns"), on=(("town", "beds"),)), "whole key"),
        (Join(left=DEATHS, right=Base("towns"), on=(("nowhere", "town"),)), "not there"),
        (PerPerson(relation=DEATHS, columns=(("s", "sum", Column("sex")),)), "numeric"),
    ]
    for relation, words in cases:
        with pytest.raises(QueryError, match=words):
            columns_of(relation, tables())


def test_what_goes_by_person_needs_persons() -> None:
    cases: list[Relation] = [EACH, both(DEATHS, Base("visits")), both(DEATHS, Base("towns"))]
    for relation in cases:
        with pytest.raises(QueryError, match="person"):
            columns_of(relation, tables(persons=False))


def test_two_private_tables_are_never_beside_each_other_but_by_the_person() -> None:
    with pytest.raises(QueryError, match="person"):
        columns_of(both(DEATHS, Base("towns")), tables())
    with pytest.raises(QueryError, match="person"):
        columns_of(both(Base("towns"), DEATHS), tables())


def test_a_join_compares_only_what_cannot_be_equal_to_two_keys() -> None:
    keys = pa.table({"number": pa.array([2**53, 2**53 + 1]), "beds": [1, 2]})
    schema = cl.Schema(size=cl.Real(0, 10**20), number=cl.Integer(0, 2**60), sex=cl.Category("F", "M"))
    source = pa.table({"size": [2.0**53], "number": [2**53], "sex": ["F"]})
    known = {
        "deaths": cl.table(source, schema=schema, name="deaths"),
        "books": cl.table(keys, name="books", public=True, key="number"),
    }
    for column in ("size", "sex"):
        with pytest.raises(QueryError, match="The join compares"):
            columns_of(Join(left=DEATHS, right=Base("books"), on=((column, "number"),)), known)
    assert "beds" in columns_of(Join(left=DEATHS, right=Base("books"), on=(("number", "number"),)), known)


def test_public_tables_alone_are_refused() -> None:
    with pytest.raises(QueryError, match="public tables only"):
        unit_of(Base("towns"), tables())


def test_units_do_not_mix() -> None:
    mixed = {"deaths": persons_table(), "visits": rows_table("visits")}
    with pytest.raises(QueryError, match="person"):
        unit_of(TWICE, mixed)


def test_limits_cut_nothing_of_persons_with_one_row() -> None:
    for relation, whole in (
        (DEATHS, False),
        (PUBLIC, False),
        (TWICE, False),
        (EACH, True),
        (Projection(relation=EACH, columns=(("visits", Column("visits")),)), True),
        (Join(left=EACH, right=Base("towns"), on=(("oldest", "beds"),)), True),
        (Join(left=EACH, right=DEATHS, by="person"), False),
        (PerPerson(relation=TWICE, columns=(("visits", "count", None),)), False),  # a join keeps only so many rows
        (PerPerson(relation=PUBLIC, columns=(("visits", "count", None),)), True),
    ):
        assert counts_all_rows(relation) is whole
