"""Subqueries keep the person: row by row, or one row of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Base, PerPerson, Projection, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.sql.from_clause import Catalogue, split_alias
from celosia.query.sql.subqueries import read_subquery, read_where, read_with
from celosia.query.sql.syntax import query_tree

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.sql.from_clause import Scope

Tables = dict[str, "Table"]
AGE, COST = Column("age"), Column("cost")
DEATHS, VISITS = Base("deaths"), Base("visits")
ADULT = Call(">=", (AGE, Literal(18)))


def scope_of(text: str, tables: Tables) -> Scope:
    return read_subquery(query_tree(text), Catalogue(tables=tables))


def test_relations(hospital: Tables) -> None:
    cases: list[tuple[str, Relation]] = [
        (
            "SELECT person_id, age, 2 * age AS twice FROM deaths WHERE age >= 18",
            Projection(relation=DEATHS, columns=(("age", AGE), ("twice", Call("*", (Literal(2), AGE)))), filter=ADULT),
        ),
        ("SELECT AGE FROM deaths", Projection(relation=DEATHS, columns=(("age", AGE),))),
        ("SELECT age AS a, age AS b FROM deaths", Projection(relation=DEATHS, columns=(("a", AGE), ("b", AGE)))),
        (
            "SELECT pid, SUM(cost) AS total, COUNT(*) FROM visits GROUP BY pid",
            PerPerson(relation=VISITS, columns=(("total", "sum", COST), ("count", "count", None))),
        ),
        (
            "SELECT MAX(age) AS oldest, COUNT(age) AS n FROM deaths WHERE age >= 18 GROUP BY person_id",
            PerPerson(relation=DEATHS, columns=(("oldest", "max", AGE), ("n", "count", AGE)), filter=ADULT),
        ),
        (
            "SELECT PERSON, SUM(cost) AS total FROM visits GROUP BY PERSON HAVING COUNT(*) > 2",
            Projection(
                relation=PerPerson(relation=VISITS, columns=(("total", "sum", COST), ("count", "count", None))),
                columns=(("total", Column("total")),),
                filter=Call(">", (Column("count"), Literal(2))),
            ),
        ),
        (
            "SELECT MAX(cost) - MIN(cost) AS spread FROM visits GROUP BY pid",
            Projection(
                relation=PerPerson(relation=VISITS, columns=(("max_cost", "max", COST), ("min_cost", "min", COST))),
                columns=(("spread", Call("-", (Column("max_cost"), Column("min_cost")))),),
            ),
        ),
    ]
    for text, relation in cases:
        assert scope_of(text, hospital).relation == relation


def test_a_mean_per_person_has_the_bounds_of_its_column(hospital: Tables) -> None:
    relation = scope_of("SELECT pid, AVG(cost) AS mean FROM visits GROUP BY pid", hospital).relation
    kind = columns_of(relation, hospital)["mean"]
    assert kind.axis is not None
    assert [kind.axis.low, kind.axis.high] == [0, 1000]


def test_a_star_stands_for_all_columns(hospital: Tables) -> None:
    scope = scope_of("SELECT * FROM visits", hospital)
    assert [(one.name, one.column) for one in scope.visible] == [("cost", "cost"), ("sex", "sex"), ("pid", None)]
    joined = scope_of("SELECT * FROM deaths JOIN icd ON cause = code", hospital)
    names = [one.name for one in joined.visible]
    assert {"age", "chapter", "deaths.sex", "icd.sex", "person_id"} <= set(names)
    assert len(set(names)) == len(names)
    one = scope_of("SELECT i.* FROM deaths d JOIN icd i ON cause = code", hospital)
    assert [(each.name, each.column) for each in one.visible] == [
        ("code", "code"),
        ("chapter", "chapter"),
        ("icd.sex", "icd.sex"),
        ("", None),
    ]


def test_the_person_stays_even_if_it_is_not_selected(hospital: Tables) -> None:
    scope = scope_of("SELECT cost FROM visits", hospital)
    assert scope.find(None, "PERSON", quoted=False).column is None
    with pytest.raises(QueryError, match="no column 'pid'"):
        scope.find(None, "pid", quoted=False)
    renamed = scope_of("SELECT pid AS who, cost FROM visits", hospital)
    assert renamed.find(None, "who", quoted=False).column is None


def test_with_names_subqueries_one_after_the_other(hospital: Tables) -> None:
    text = "WITH a AS (SELECT pid, cost FROM visits), b AS (SELECT pid, cost + 1 AS c FROM a) SELECT COUNT(*) FROM b"
    catalogue = read_with(query_tree(text), Catalogue(tables=hospital))
    assert list(catalogue.named) == ["a", "b"]
    # A name of WITH goes before that of a table.
    shadowed = read_with(
        query_tree("WITH deaths AS (SELECT cost FROM visits) SELECT COUNT(*) FROM deaths"), Catalogue(tables=hospital)
    )
    assert isinstance(shadowed.find("DEATHS", quoted=False).relation, Projection)


def test_refusals(hospital: Tables) -> None:
    cases: list[tuple[str, str]] = [
        ("SELECT DISTINCT age FROM deaths", "DISTINCT would show"),
        ("SELECT age FROM deaths ORDER BY age", "ORDER BY belongs"),
        ("SELECT age FROM deaths LIMIT 3", "LIMIT belongs"),
        ("SELECT age FROM deaths HAVING age > 3", "HAVING goes with GROUP BY"),
        ("SELECT age + 1 FROM deaths", "needs a name"),
        ("SELECT age, age FROM deaths", "Two columns of a subquery are called 'age'"),
        ("SELECT person_id FROM deaths", "beside the person"),
        ("SELECT person_id + 1 AS p FROM deaths", "is the person column"),
        ("SELECT COUNT(*) AS n FROM deaths", "groups by the person"),
        ("SELECT age, COUNT(*) AS n FROM deaths GROUP BY age", "grouped by the person only"),
        ("SELECT COUNT(*) AS n FROM deaths GROUP BY person_id, sex", "grouped by the person only"),
        ("SELECT COUNT(*) AS n FROM deaths GROUP BY 1", "grouped by the person only"),
        ("SELECT age FROM deaths GROUP BY person_id", "many values for one person"),
        ("SELECT person_id FROM deaths GROUP BY person_id", "beside the person"),
        ("SELECT MEDIAN(age) AS m FROM deaths GROUP BY person_id", "MEDIAN cannot be taken"),
        ("SELECT COUNT(DISTINCT age) AS m FROM deaths GROUP BY person_id", "COUNT cannot be taken"),
        ("SELECT AVG(sex) AS m FROM deaths GROUP BY person_id", "needs numbers"),
        ("SELECT SUM(age) AS m, COUNT(*) AS m FROM deaths GROUP BY person_id", "called 'm'"),
        ("SELECT 1 + SUM(age) FROM deaths GROUP BY person_id", "name of its own"),
        ("SELECT COUNT(*) AS n FROM measurements GROUP BY x", "grouped by the person only"),
        ("SELECT age FROM deaths WHERE age", "needs a condition"),
        ("SELECT age FROM deaths WHERE COUNT(*) > 3", "before they are aggregated"),
        ("SELECT age FROM deaths WHERE person_id = 3", "is the person column"),
        ("SELECT visits.* FROM deaths", "beside the person"),
        ("SELECT * EXCLUDE (age) FROM deaths", "not supported"),
        ("SELECT age FROM deaths QUALIFY age > 3", "QUALIFY is not supported"),
        ("SELECT age AS a FROM deaths WHERE age / 0 > 1", "division by zero"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            scope_of(text, hospital)


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT cost FROM visits), a AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a",
        "WITH a(x) AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a",
        "WITH a AS MATERIALIZED (SELECT cost FROM visits) SELECT COUNT(*) FROM a",
        "WITH RECURSIVE a AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a",
        "WITH a AS (SELECT cost FROM a) SELECT COUNT(*) FROM a",
        "WITH a AS (SELECT cost FROM b), b AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a",
    ],
)
def test_refusals_of_with(text: str, hospital: Tables) -> None:
    with pytest.raises(QueryError):
        read_with(query_tree(text), Catalogue(tables=hospital))


def test_conditions_and_items(hospital: Tables) -> None:
    select = query_tree("SELECT (age) AS a, sex FROM deaths WHERE age >= 18")
    scope = Catalogue(tables=hospital).find("deaths", quoted=False)
    assert read_where(select, scope, Catalogue(tables=hospital)) == ADULT
    items = [split_alias(node) for node in select.expressions]
    assert [(node.key, name) for node, name in items] == [("column", "a"), ("column", None)]
