"""FROM and JOIN: public tables by their key, private ones on the person, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from celosia.core.errors import QueryError
from celosia.query.plan.nodes import Base, Join, Relation
from celosia.query.sql.from_clause import Catalogue, find_part, read_from
from celosia.query.sql.subqueries import read_subquery
from celosia.query.sql.syntax import query_tree

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.sql.from_clause import Scope

Tables = dict[str, "Table"]
DEATHS, VISITS, ICD = Base("deaths"), Base("visits"), Base("icd")


def scope_of(origin: str, tables: Tables) -> Scope:
    return read_from(query_tree(f"SELECT COUNT(*) FROM {origin}"), Catalogue(tables=tables), read_subquery)


def test_relations(hospital: Tables) -> None:
    cases: list[tuple[str, Relation]] = [
        ("deaths", DEATHS),
        ("Deaths", DEATHS),
        ('"deaths" AS d', DEATHS),
        ("deaths JOIN icd ON cause = code", Join(left=DEATHS, right=ICD, on=(("cause", "code"),))),
        ("deaths d JOIN icd i ON i.code = d.cause", Join(left=DEATHS, right=ICD, on=(("cause", "code"),))),
        ("deaths INNER JOIN icd ON (cause = code)", Join(left=DEATHS, right=ICD, on=(("cause", "code"),))),
        ("deaths LEFT JOIN icd ON cause = code", Join(left=DEATHS, right=ICD, on=(("cause", "code"),), how="left")),
        (
            "deaths LEFT OUTER JOIN icd ON cause = code",
            Join(left=DEATHS, right=ICD, on=(("cause", "code"),), how="left"),
        ),
        ("deaths JOIN visits ON person_id = pid", Join(left=DEATHS, right=VISITS, by="person")),
        ("deaths JOIN visits ON visits.pid = deaths.person_id", Join(left=DEATHS, right=VISITS, by="person")),
        ("deaths LEFT JOIN visits USING (PERSON)", Join(left=DEATHS, right=VISITS, by="person", how="left")),
        (
            "deaths JOIN visits USING (PERSON) JOIN icd ON cause = code",
            Join(left=Join(left=DEATHS, right=VISITS, by="person"), right=ICD, on=(("cause", "code"),)),
        ),
    ]
    for origin, relation in cases:
        assert scope_of(origin, hospital).relation == relation


def test_columns_that_both_sides_have_go_by_their_table(hospital: Tables) -> None:
    scope = scope_of("deaths d JOIN icd i ON d.cause = i.code JOIN visits v USING (PERSON)", hospital)
    assert scope.find("d", "sex", quoted=False).column == "deaths.sex"
    assert scope.find("i", "sex", quoted=False).column == "icd.sex"
    assert scope.find("v", "sex", quoted=False).column == "sex"
    assert scope.find(None, "chapter", quoted=False).column == "chapter"
    with pytest.raises(QueryError, match=r"d\.sex or i\.sex or v\.sex"):
        scope.find(None, "sex", quoted=False)
    assert {one.table for one in scope.persons} == {"d", "v"}


def test_refusals(hospital: Tables) -> None:
    cases: list[tuple[str, str]] = [
        ("death", r"no table 'death'. Did you mean deaths\?"),
        ("main.deaths", "without a schema"),
        ("a.b.deaths", "without a schema"),
        ("'deaths.csv'", "no table 'deaths.csv'"),
        ('"DEATHS"', "Did you mean deaths"),
        ("read_csv('x.csv')", "READ_CSV is not a table"),
        ("pg_sleep(10)", "PG_SLEEP is not a table"),
        ("generate_series(1, 10)", "not a table"),
        ("deaths d(a, b)", "COLUMNS is not supported"),
        ("deaths, icd", "needs a condition"),
        ("deaths JOIN icd", "needs a condition"),
        ("deaths CROSS JOIN icd", "CROSS is not supported"),
        ("deaths NATURAL JOIN icd", "NATURAL is not supported"),
        ("deaths RIGHT JOIN icd ON cause = code", "RIGHT is not supported"),
        ("deaths FULL OUTER JOIN icd ON cause = code", "FULL is not supported"),
        ("deaths SEMI JOIN icd ON cause = code", "SEMI is not supported"),
        ("deaths ASOF JOIN icd ON cause = code", "ASOF is not supported"),
        ("deaths POSITIONAL JOIN icd", "POSITIONAL is not supported"),
        ("deaths, LATERAL (SELECT 1)", "LATERAL is not supported"),
        ("deaths TABLESAMPLE 10", "TABLESAMPLE is not supported"),
        ("deaths JOIN icd ON cause < code", "by = and AND only"),
        ("deaths JOIN icd ON TRUE", "by = and AND only"),
        ("deaths JOIN icd ON cause = 'E10'", "by = and AND only"),
        ("deaths JOIN icd ON cause = code OR sex = 'F'", "by = and AND only"),
        ("deaths JOIN icd ON cause = sex", "stands for two columns"),
        ("deaths JOIN icd ON cause = note", "column of the one table"),
        ("deaths JOIN icd ON deaths.sex = icd.sex", "whole key: code"),
        ("deaths JOIN icd ON cause = code AND deaths.sex = icd.sex", "whole key: code"),
        ("deaths JOIN icd USING (code)", "no column 'code'"),
        ("deaths JOIN visits USING (sex)", "on the person"),
        ("deaths JOIN visits ON person_id = pid AND deaths.sex = visits.sex", "on the person"),
        ("deaths JOIN visits ON person_id = cost", "on the person"),
        ("icd JOIN deaths ON code = cause", "private table comes first"),
        ("deaths JOIN deaths USING (person_id)", "same name"),
        ("deaths a JOIN deaths b USING (person_id)", "joined with itself"),
        ("deaths JOIN measurements ON age = x", "Only a public table"),
        ("deaths JOIN (SELECT code, chapter FROM icd) i ON cause = i.code", "Only a public table"),
        ("(deaths JOIN icd ON cause = code)", "cannot stand in FROM"),
        ("(VALUES (1))", "VALUES is not supported"),
        ("deaths FOR UPDATE", "FOR is not supported"),
        (" JOIN ".join(["deaths", *(f"icd i{i} ON cause = i{i}.code" for i in range(11))]), "at most 10 joins"),
    ]
    for origin, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            scope_of(origin, hospital)


def test_a_select_without_from_is_refused(hospital: Tables) -> None:
    select = query_tree("SELECT COUNT(*)")
    assert find_part(select, "from") is None
    with pytest.raises(QueryError, match="needs a FROM"):
        read_from(select, Catalogue(tables=hospital), read_subquery)
