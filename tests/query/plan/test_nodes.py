from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import (
    AGGREGATES,
    PER_PERSON,
    Aggregate,
    Base,
    Join,
    Key,
    Order,
    PerPerson,
    Plan,
    Projection,
    Relation,
    default_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

AGE, SEX = Column("age"), Column("sex")
COUNT = Aggregate(kind="count", name="count")
MEAN = Aggregate(kind="mean", columns=(AGE,), name="mean_age")
KEY = Key(name="sex", expression=SEX)


def plan(**changes: Any) -> Plan:
    return Plan(**{"relation": Base("deaths"), "keys": (KEY,), "aggregates": (COUNT, MEAN), **changes})


# ---------------------------------------------------------------------------------------------------------- a question


def test_without_outputs_the_answer_has_the_keys_and_then_the_aggregates() -> None:
    assert plan().outputs == (("sex", SEX), ("count", Column("count")), ("mean_age", Column("mean_age")))


def test_equal_questions_make_equal_plans() -> None:
    lists = plan(keys=[KEY], aggregates=[COUNT, MEAN], order=[Order(expression=SEX)], cells=[["F"], ["M"]])
    tuples = plan(order=(Order(expression=SEX),), cells=(("F",), ("M",)))
    assert lists == tuples
    assert hash(lists) == hash(tuples)
    assert pickle.loads(pickle.dumps(lists)) == lists
    assert plan(outputs=plan().outputs) == plan()
    assert plan(limit=3) != plan()
    assert replace(plan(), limit=3) == plan(limit=3)
    assert Key(name="sex", expression=SEX, values=["F", "M"]) == Key(name="sex", expression=SEX, values=("F", "M"))  # type: ignore[arg-type]
    assert eval(repr(plan())) == plan()
    with pytest.raises(FrozenInstanceError):
        plan().limit = 3  # type: ignore[misc] # the point of the test


def test_what_is_done_with_the_answer_may_use_its_columns_and_outputs() -> None:
    share = (("share", Call("/", (Column("count"), Literal(10)))),)
    made = plan(
        outputs=share,
        having=Call("and", (Call(">", (Column("share"), Literal(1))), Call("=", (SEX, Literal("F"))))),
        order=(Order(expression=Column("mean_age"), descending=True), Order(expression=Column("share"))),
        limit=0,
    )
    assert made.outputs == share


def test_what_is_wrong_with_a_plan_is_found_before_it_costs() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"aggregates": ()}, "at least one aggregate"),
        ({"aggregates": (COUNT, COUNT)}, "called 'count'"),
        ({"aggregates": (Aggregate(kind="count", name="sex"),)}, "called 'sex'"),
        ({"keys": (KEY, KEY)}, "called 'sex'"),
        ({"outputs": (("x", SEX), ("x", SEX))}, "called 'x'"),
        ({"outputs": (("", SEX),)}, "name"),
        ({"outputs": (("x", AGE),)}, "no column 'age'; it has sex, count, mean_age"),
        ({"outputs": (("x", "sex"),)}, "expressions"),
        ({"outputs": (("n", Column("count")), ("m", Column("n")))}, "no column 'n'"),
        ({"having": Call(">", (AGE, Literal(1)))}, "no column 'age'"),
        ({"having": "count > 1"}, "expressions"),
        ({"order": (Order(expression=AGE),)}, "no column 'age'"),
        ({"limit": -1}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": "3"}, "limit"),
        ({"limit": 2**70}, "limit"),
        ({"cells": (("F", 1),)}, "needs 1 values"),
        ({"cells": ((),)}, "needs 1 values"),
        ({"keys": (), "cells": ((),)}, "needs 0 values"),
        ({"relation": "deaths"}, "table, a join or a subquery"),
        ({"relation": None}, "table, a join or a subquery"),
    ]
    for changes, word in cases:
        with pytest.raises(QueryError, match=word):
            plan(**changes)


# ---------------------------------------------------------------------------------------------------------- aggregates

PARAMETERS: dict[str, tuple[Any, ...]] = {"quantile": (Fraction(1, 2),), "top_k": (3,)}


def test_every_aggregate_takes_its_columns_and_no_others() -> None:
    for kind in AGGREGATES:
        for many in range(4):
            columns = tuple(Column(f"c{place}") for place in range(many))
            if many in AGGREGATES[kind]:
                made = Aggregate(kind=kind, columns=columns, name="x", parameters=PARAMETERS.get(kind, ()))
                assert made.columns == columns
            else:
                with pytest.raises(QueryError, match=f"{kind} takes"):
                    Aggregate(kind=kind, columns=columns, name="x", parameters=PARAMETERS.get(kind, ()))


def test_parameters_are_those_of_the_aggregate() -> None:
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("quantile", ()),
        ("quantile", (Fraction(3, 2),)),
        ("quantile", (Fraction(-1, 2),)),
        ("quantile", (0.5,)),
        ("quantile", (float("nan"),)),
        ("quantile", ("0.5",)),
        ("quantile", (Fraction(1, 2), Fraction(1, 4))),
        ("top_k", ()),
        ("top_k", (0,)),
        ("top_k", (-1,)),
        ("top_k", (1.0,)),
        ("top_k", (True,)),
        ("mean", ("other",)),
        ("mean", (1,)),
        ("mean", ("half-half", "half-half")),
        ("sum", ("half-half",)),
        ("median", (Fraction(1, 2),)),
        ("count", (1,)),
    ]
    for kind, parameters in cases:
        with pytest.raises(QueryError, match=f"{kind} takes .*parameter"):
            Aggregate(kind=kind, columns=(AGE,), name="x", parameters=parameters)


def test_parameters_that_are() -> None:
    assert Aggregate(kind="quantile", columns=(AGE,), name="x", parameters=(Fraction(0),)).parameters == (0,)
    assert Aggregate(kind="quantile", columns=(AGE,), name="x", parameters=[Fraction(1)]).parameters == (1,)  # type: ignore[arg-type]
    assert Aggregate(kind="mean", columns=[AGE], name="x", parameters=("half-half",)).columns == (AGE,)  # type: ignore[arg-type]


def test_other_aggregates_are_refused() -> None:
    cases: list[Any] = ["average", "COUNT", "", None, 3]
    for kind in cases:
        with pytest.raises(QueryError, match=r"no aggregate .*; there are count,"):
            Aggregate(kind=kind, name="x")


def check_names_are_texts_that_can_be_shown(name: Any) -> None:
    makers: list[Callable[[], object]] = [
        lambda: Aggregate(kind="count", name=name),
        lambda: Key(name=name, expression=SEX),
        lambda: Projection(relation=Base("deaths"), columns=((name, AGE),)),
        lambda: PerPerson(relation=Base("deaths"), columns=((name, "count", None),)),
    ]
    for make in makers:
        with pytest.raises(QueryError, match="name of a column"):
            make()


def test_names_are_texts_that_can_be_shown() -> None:
    cases: list[Any] = ["", "a\nb", None, 3, "x" * 501]
    for name in cases:
        check_names_are_texts_that_can_be_shown(name)


# ----------------------------------------------------------------------------------------------------------- relations


def test_tables_go_by_name() -> None:
    cases: list[Any] = ["", None, 3, ["deaths"]]
    for name in cases:
        with pytest.raises(QueryError, match="table name must be"):
            Base(name)


def test_joins_are_by_key_or_by_person() -> None:
    cases: list[dict[str, Any]] = [
        {"on": ()},
        {"on": (("a", "b"),), "by": "person"},
        {"on": (("a", "b"),), "by": "row"},
        {"on": (("a", "b"),), "how": "outer"},
        {"on": (("a", "b"),), "how": None},
    ]
    for changes in cases:
        with pytest.raises(QueryError, match="A join is"):
            Join(left=Base("visits"), right=Base("icd"), **changes)


def test_joins() -> None:
    made = Join(left=Base("visits"), right=Base("icd"), on=[["cause", "code"]], how="left")  # type: ignore[arg-type]
    assert made.on == (("cause", "code"),)
    assert Join(left=Base("visits"), right=Base("deaths"), by="person").on == ()


def test_subqueries() -> None:
    made = Projection(relation=Base("deaths"), columns=[["years", AGE]])  # type: ignore[arg-type]
    assert made == Projection(relation=Base("deaths"), columns=(("years", AGE),))
    for function in PER_PERSON:
        PerPerson(relation=Base("visits"), columns=(("x", function, AGE),))
    wrong: list[tuple[Any, Any]] = [("sum", None), ("min", None), ("mean", AGE), ("", AGE), (None, AGE)]
    for function, argument in wrong:
        with pytest.raises(QueryError, match="per person computes count, sum, min, max"):
            PerPerson(relation=Base("visits"), columns=(("x", function, argument),))
    with pytest.raises(QueryError, match="called 'x'"):
        Projection(relation=Base("visits"), columns=(("x", AGE), ("x", SEX)))
    with pytest.raises(QueryError, match="called 'x'"):
        PerPerson(relation=Base("visits"), columns=(("x", "count", None), ("x", "sum", AGE)))


def test_subqueries_have_an_end() -> None:
    relation: Relation = Base("deaths")
    for _ in range(99):
        relation = Projection(relation=relation, columns=(("age", AGE),))
    assert plan(relation=relation, keys=()).relation == relation
    for _ in range(10_000):
        relation = Projection(relation=relation, columns=(("age", AGE),))
    with pytest.raises(QueryError, match="at most 100 tables"):
        plan(relation=relation, keys=())
    wide: Relation = Base("deaths")
    for _ in range(60):
        wide = Join(left=wide, right=Base("icd"), on=(("cause", "code"),))
    with pytest.raises(QueryError, match="at most 100 tables"):
        plan(relation=wide)


# --------------------------------------------------------------------------------------------------------------- names


def test_the_names_of_aggregates() -> None:
    cases: list[tuple[str, list[Any], list[Any], list[str], str]] = [
        ("count", [], [], [], "count"),
        ("count", [], [], ["count"], "count_2"),
        ("count", [], [], ["count", "count_2"], "count_3"),
        ("mean", [AGE], [], [], "mean_age"),
        ("mean", [AGE], ["half-half"], ["mean_age"], "mean_age_2"),
        ("covariance", [AGE, Column("t.weight")], [], [], "covariance_age_t_weight"),
        ("quantile", [AGE], [Fraction(1, 10)], [], "quantile_age_0.1"),
        ("quantile", [AGE], [Fraction(1, 2)], [], "quantile_age_0.5"),
        ("quantile", [AGE], [Fraction(1, 3)], [], "quantile_age_1/3"),
        ("top_k", [SEX], [3], [], "top_k_sex"),
        ("sum", [Call("neg", (AGE,))], [], [], "sum"),
    ]
    for kind, columns, parameters, taken, name in cases:
        assert default_name(kind, columns, parameters, taken) == name


@given(st.lists(st.sampled_from(["mean", "count", "sum"]), min_size=1, max_size=10))
def test_names_never_clash(kinds: list[str]) -> None:
    taken: list[str] = []
    for kind in kinds:
        taken.append(default_name(kind, [AGE], [], taken))
    aggregates = tuple(Aggregate(kind=kind, columns=(AGE,), name=name) for kind, name in zip(kinds, taken, strict=True))
    assert len(plan(aggregates=aggregates, keys=()).outputs) == len(kinds)
