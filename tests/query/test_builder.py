"""Queries in Python: every step gives a new one, and equal questions are equal plans, also to those in SQL."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import CelosiaError, ParameterError, QueryError
from celosia.query.builder import Query
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, Projection
from tests.query.samples import Pretending, asking, code_book, persons_table, rows_table

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def session() -> cl.Session:
    return asking(persons_table(), persons_table("visits"), code_book())


def test_each_step_leaves_the_query_before_as_it_was(session: cl.Session) -> None:
    first = session.query("deaths")
    second = first.where("age < 18")
    third = second.group_by("sex").count()
    assert first.draft.filter is None
    assert second.draft.keys == ()
    assert second.draft.aggregates == ()
    assert third.plan.keys == (Key(name="sex", expression=Column("sex")),)


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("SELECT COUNT(*) FROM deaths", lambda q: q.count()),
        ("SELECT COUNT(age), SUM(age), AVG(age) FROM deaths", lambda q: q.count("age").sum("age").mean("age")),
        (
            "SELECT sex, COUNT(*) FROM deaths WHERE age < 18 AND sex = 'F' GROUP BY sex",
            lambda q: q.where("age < 18").where("sex = 'F'").group_by("sex").count(),
        ),
        ("SELECT MEDIAN(age), MIN(age), MAX(age) FROM deaths", lambda q: q.median("age").min("age").max("age")),
        ("SELECT COUNT(DISTINCT age) FROM deaths", lambda q: q.count_distinct("age")),
        ("SELECT AVG(age / 2) FROM deaths", lambda q: q.mean("age / 2")),
        (
            "SELECT sex, AVG(age) AS m FROM deaths GROUP BY sex HAVING m > 3 ORDER BY m DESC LIMIT 1",
            lambda q: q.group_by("sex").mean("age", name="m").having("m > 3").order_by("m", descending=True).limit(1),
        ),
        (
            "SELECT AVG(beds) FROM deaths JOIN towns USING (town)",
            lambda q: q.join("towns", on="town").mean("beds"),
        ),
        (
            "SELECT COUNT(*) FROM deaths LEFT JOIN towns ON deaths.town = towns.town WHERE beds > 5",
            lambda q: q.join("towns", on={"town": "town"}, how="left").where("beds > 5").count(),
        ),
        ("SELECT COUNT(*) FROM deaths JOIN visits USING (who)", lambda q: q.join("visits").count()),
        ("SELECT VAR_POP(age), STDDEV_POP(age) FROM deaths", lambda q: q.variance("age").std("age")),
        (
            "SELECT CORR(age, weight), COVAR_POP(age, weight) FROM deaths",
            lambda q: q.correlation("age", "weight").covariance("age", "weight"),
        ),
        ("SELECT MODE(sex) FROM deaths", lambda q: q.mode("sex")),
    ],
)
def test_the_same_question_in_sql_is_the_same_plan(
    session: cl.Session, text: str, built: Callable[[Query], Query]
) -> None:
    assert session.sql(text).plan == built(session.query("deaths")).plan


def test_a_query_from_a_plan_has_that_plan(session: cl.Session) -> None:
    plan = session.query("deaths").where("age < 18").group_by("sex").count().having("count > 3").limit(2).plan
    assert Query(session=session, draft=plan).plan is plan


def test_names_are_made_and_can_be_given(session: cl.Session) -> None:
    query = session.query("deaths").mean("age").mean("age").mean("2 * age").count(name="n").quantile("age", "0.9")
    assert [a.name for a in query.draft.aggregates] == ["mean_age", "mean_age_2", "mean", "n", "quantile_age_0.9"]


def test_quantiles_are_exact(session: cl.Session) -> None:
    query = session.query("deaths").quantiles("age", ["0.1", Fraction(1, 3), 0.5])
    assert [a.parameters for a in query.draft.aggregates] == [(Fraction(1, 10),), (Fraction(1, 3),), (Fraction(1, 2),)]


def test_a_histogram_is_a_group_by_of_intervals(session: cl.Session) -> None:
    query = session.query("deaths").histogram("age", [0, 60, 120])
    assert query.plan.keys[0].name == "age_bin"
    assert query.plan.keys[0].expression == Call("bucket", (Column("age"), Literal(0), Literal(60), Literal(120)))
    assert query.plan.aggregates == (Aggregate(kind="count", name="count"),)


def test_derived_columns_come_beside_the_others(session: cl.Session) -> None:
    query = session.query("deaths").derive(months="12 * age", old="age > 65")
    assert isinstance(query.draft.relation, Projection)
    names = [name for name, _ in query.draft.relation.columns]
    assert names[-2:] == ["months", "old"]
    assert "age" in names
    assert query.group_by("old").mean("months").preview(epsilon=1).cells == 2


def test_joins_are_by_key_or_by_person(session: cl.Session) -> None:
    by_key = session.query("deaths").join("towns", on="town").draft.relation
    by_person = session.query("deaths").join("visits").draft.relation
    assert by_key == Join(left=Base("deaths"), right=Base("towns"), on=(("town", "town"),), by="key")
    assert by_person == Join(left=Base("deaths"), right=Base("visits"), by="person")


def test_keys_can_be_named_and_listed(session: cl.Session) -> None:
    query = session.query("deaths").group_by("sex", old="age > 65")
    assert [key.name for key in query.draft.keys] == ["sex", "old"]
    listed = session.query("deaths").group_by("town", keys=["A", "Z"])
    assert listed.draft.keys[0].values == ("A", "Z")
    pairs = session.query("deaths").group_by("town", "sex", keys=[("A", "F"), ["B", "M"]])
    assert pairs.draft.cells == (("A", "F"), ("B", "M"))


def test_sorting_is_kept_in_order(session: cl.Session) -> None:
    query = session.query("deaths").group_by("sex").count().order_by("count", descending=True).order_by("sex")
    assert query.plan.order == (Order(expression=Column("count"), descending=True), Order(expression=Column("sex")))


WRONG: list[tuple[Callable[[Any], Any], type[CelosiaError], str]] = [
    (lambda q: q.plan, QueryError, "at least one aggregate"),
    (lambda q: q.where("age <"), QueryError, "."),
    (lambda q: q.where("age < 18").derive(x="age"), QueryError, "comes first"),
    (lambda q: q.count().join("towns", on="town"), QueryError, "comes first"),
    (lambda q: q.join("towns", on="town", how="cross"), QueryError, "'inner' or 'left'"),
    (lambda q: q.group_by(), QueryError, "at least one column"),
    (lambda q: q.group_by("sex").group_by("town", keys=["A"]), QueryError, "all the columns at once"),
    (lambda q: q.group_by("sex", "town", keys=["A"]), QueryError, "list of tuples"),
    (lambda q: q.mean("age", method="thirds"), QueryError, "half-half"),
    (lambda q: q.quantile("age", 2), ParameterError, "q"),
    (lambda q: q.quantile("age", "much"), ParameterError, "q"),
    (lambda q: q.top_k("sex", 0), ParameterError, "k"),
    (lambda q: q.top_k("sex", k=True), ParameterError, "k"),
    (lambda q: q.count().limit(-1), ParameterError, "rows"),
    (lambda q: q.count(name="n").sum("age", name="n").plan, QueryError, "called 'n'"),
    (lambda q: q.count().having("nothing > 1").plan, QueryError, "no column 'nothing'"),
    (lambda q: q.histogram("age", [0]), QueryError, "BUCKET"),
    (lambda q: q.histogram("age", ["a", object()]), QueryError, "."),
    (lambda q: q.group_by(7), QueryError, "."),
    (lambda q: q.where(7), QueryError, "."),
    (lambda q: q.where(None), QueryError, "."),
    (lambda q: q.sum(3.5), QueryError, "."),
    (lambda q: q.group_by("sex", keys=7), QueryError, "."),
    (lambda q: q.group_by("sex", keys="FM"), QueryError, "."),
    (lambda q: q.join(7), QueryError, "."),
    (lambda q: q.join("towns", on=7), QueryError, "."),
    (lambda q: q.derive(), QueryError, "."),
    (lambda q: q.quantiles("age", 7), QueryError, "."),
]


def test_what_makes_no_sense_is_refused(session: cl.Session) -> None:
    for wrong, error, words in WRONG:
        with pytest.raises(error, match=words):
            wrong(session.query("deaths"))


def test_a_query_is_shown_as_sql(session: cl.Session) -> None:
    assert repr(session.query("deaths")) == "<Query without aggregates yet>"
    assert (
        repr(session.query("deaths").where("age < 18").count()) == "<Query SELECT COUNT(*) FROM deaths WHERE age < 18>"
    )


def test_previews_and_releases_go_through_the_session() -> None:
    session = asking(rows_table(), budget=cl.PureDP(epsilon=1), engine=Pretending())
    query = session.query().count()
    assert query.preview(epsilon="0.5").affordable
    assert query.release(epsilon="0.5").value.column_names == ["count"]
    assert session.spent == cl.PureDP(epsilon="0.5")
