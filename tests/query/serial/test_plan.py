"""Plans come back equal from JSON; canonical texts are equal exactly for equal questions; harm is refused."""

from __future__ import annotations

import copy
import functools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import CelosiaError, FormatError, QueryError
from celosia.core.strict_json import read_json
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, PerPerson, Plan, Projection
from celosia.query.serial.plan import canonical, plan_from_json, plan_to_json
from celosia.query.sql.expressions import parse_expression
from celosia.query.sql.parser import parse_sql
from tests.query import asking
from tests.query.samples import code_book, persons_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from celosia.data.table import Table

COUNT = Aggregate(kind="count", name="count")


@functools.cache
def tables() -> dict[str, Table]:
    limits: dict[str, Any] = {"person": "p", "max_groups_per_person": 2, "max_rows_per_group": 3}
    kinds = {letter: asking._KINDS[letter][0] for letter in "irbcontds"}
    rows = pa.table({"p": [1], **{letter: pa.nulls(1, asking._RAW[letter][0][0]) for letter in kinds}})
    second = pa.table({"p": [1], "y": [0], "h": ["m"]})
    other = cl.Schema(y=asking._KINDS["y"][0], h=asking._KINDS["h"][0])
    return {
        "t": cl.table(rows, schema=cl.Schema(kinds), name="t", **limits),
        "u": cl.table(second, schema=other, name="u", **limits),
        **asking.public_tables(),
    }


@st.composite
def plans(draw: st.DrawFn, *, private: bool | None = None) -> Plan:
    """Random questions, with something done to the noisy answer."""
    plan = draw(asking.plans(tables(), private_keys=draw(st.booleans()) if private is None else private))
    names = [name for name, _ in plan.outputs]
    column = st.sampled_from(names).map(Column)
    if draw(st.booleans()):
        plan = replace(
            plan, having=Call(draw(st.sampled_from(["<", "="])), (draw(column), Literal(draw(st.integers(0, 9)))))
        )
    order = draw(st.lists(st.builds(Order, expression=column, descending=st.booleans()), max_size=2))
    return replace(plan, order=tuple(order), limit=draw(st.none() | st.integers(0, 9)))  # fmt: skip


def sent(value: object) -> Any:
    return read_json(json.dumps(value, allow_nan=False))


many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(plan=plans())
def test_plans_come_back_equal(plan: Plan) -> None:
    assert plan_from_json(sent(plan_to_json(plan))) == plan


def test_what_sql_says_comes_back_equal() -> None:
    cases: list[str] = [
        "SELECT sex, COUNT(*) FROM deaths WHERE age < 18 AND town IN ('A', 'B') GROUP BY sex HAVING count > 3",
        "SELECT region, SUM(beds) AS b FROM deaths JOIN towns USING (town) GROUP BY region ORDER BY b DESC LIMIT 2",
        "SELECT AVG(t) FROM (SELECT who, CLIP(SUM(weight), 0, 500) AS t FROM deaths GROUP BY who)",
        "SELECT QUANTILE(age, 0.9), TOP_K(risk, 2), CORR(age, weight), COUNT(*) / 2 AS half FROM deaths",
        "SELECT BUCKET(age, 0, 18.5, 65), COUNT(DISTINCT who) FROM deaths GROUP BY 1",
    ]
    for text in cases:
        known = {table.name: table for table in (persons_table(), code_book())}
        plan = parse_sql(text, known)
        assert plan_from_json(sent(plan_to_json(plan))) == plan


def test_listed_keys_come_back_with_their_types() -> None:
    key = Key(name="k", expression=Column("k"), values=(1, Fraction(1, 3), "1", True, 0.5))  # type: ignore[arg-type]
    plan = Plan(relation=Base("t"), keys=(key,), aggregates=(COUNT,), cells=((1,), ("1",)))
    again = plan_from_json(sent(plan_to_json(plan)))
    assert again == plan
    assert list(map(type, again.keys[0].values or ())) == [int, Fraction, str, bool, float]


def test_what_has_a_default_may_be_left_out() -> None:
    short = {
        "version": 1,
        "relation": {"kind": "base", "table": "t"},
        "aggregates": [{"kind": "count", "name": "count"}],
    }
    assert plan_from_json(short) == Plan(relation=Base("t"), aggregates=(COUNT,))


# ---------------------------------------------------------------------------------------------------------- canonical


def meaning(value: object) -> object:  # noqa: PLR0911 - one for each kind of value
    """An oracle of its own: what a plan says, with sets where order does not matter."""
    match value:
        case Call(name="and" | "or" as name, arguments=arguments):
            return name, frozenset(map(meaning, arguments))
        case Call(name="in", arguments=(first, *rest)):
            return "in", meaning(first), frozenset(map(meaning, rest))
        case Call(name=name, arguments=arguments):
            return name, tuple(map(meaning, arguments))
        case Column() | None:
            return value
        case Literal(value=inner):
            return type(inner), inner
        case tuple() | list():
            return tuple(map(meaning, value))
        case Plan() | Base() | Join() | Projection() | PerPerson() | Key() | Aggregate() | Order():
            fields = type(value).__dataclass_fields__
            return type(value), tuple(meaning(getattr(value, field)) for field in fields)
    return type(value), value


def shuffled(expression: Expression, draw: st.DrawFn) -> Expression:
    if not isinstance(expression, Call):
        return expression
    inner = [shuffled(argument, draw) for argument in expression.arguments]
    if expression.name in ("and", "or"):
        inner = draw(st.permutations(inner))
    if expression.name == "in":
        inner = [inner[0], *draw(st.permutations(inner[1:]))]
    return Call(expression.name, tuple(inner))


ATOMS = ["a < 3", "b", "c IN (1, 2, 3)", "c IN ('1', '2')", "NOT d", "e = 1", "e = 1.0", "a BETWEEN 1 AND 2"]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS).map(parse_expression),
    lambda inner: st.builds(Call, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    max_leaves=8,
)


@given(condition=CONDITIONS, data=st.data())
def test_the_order_of_and_or_and_in_is_not_seen(condition: Expression, data: st.DataObject) -> None:
    def plan(of: Expression) -> Plan:
        inner = Projection(relation=Base("t"), columns=(("x", of),), filter=of)
        return Plan(relation=inner, filter=of, aggregates=(COUNT,))

    other = data.draw(st.composite(lambda draw: shuffled(condition, draw))())
    assert canonical(plan(other)) == canonical(plan(condition))
    assert meaning(plan(other)) == meaning(plan(condition))


@many
@given(one=plans(), two=plans())
def test_canonical_texts_are_equal_exactly_for_equal_meanings(one: Plan, two: Plan) -> None:
    assert (canonical(one) == canonical(two)) == (meaning(one) == meaning(two))
    assert canonical(one) == canonical(plan_from_json(sent(plan_to_json(one))))


@given(one=CONDITIONS, two=CONDITIONS)
def test_different_conditions_are_told_apart(one: Expression, two: Expression) -> None:
    same = canonical(Plan(relation=Base("t"), filter=one, aggregates=(COUNT,))) == canonical(
        Plan(relation=Base("t"), filter=two, aggregates=(COUNT,))
    )
    assert same == (meaning(one) == meaning(two))


BASE = Plan(
    relation=Join(left=Base("t"), right=Base("k"), on=(("c", "code"),)),
    filter=parse_expression("i < 3 AND b"),
    keys=(Key(name="c", expression=Column("c"), values=("a", "b")), Key(name="b", expression=Column("b"))),
    aggregates=(COUNT, Aggregate(kind="quantile", columns=(Column("i"),), name="q", parameters=(Fraction(1, 2),))),
    cells=(("a", True), ("b", False)),
    having=parse_expression("count > 3 OR q < 1"),
    order=(Order(expression=Column("count")),),
    limit=3,
)


def test_whatever_is_changed_is_seen() -> None:
    cases: list[dict[str, Any]] = [
        {"relation": Base("t")},
        {"relation": Join(left=Base("t"), right=Base("k"), on=(("c", "code"),), how="left")},
        {"relation": Join(left=Base("t"), right=Base("k"), by="person")},
        {"relation": Join(left=Base("k"), right=Base("t"), on=(("c", "code"),))},
        {"relation": PerPerson(relation=Base("t"), columns=(("c", "count", None),))},
        {"filter": None},
        {"filter": parse_expression("i < 3 OR b")},
        {"filter": parse_expression("i < 3.0 AND b")},
        {"keys": tuple(reversed(BASE.keys))},
        {"keys": (replace(BASE.keys[0], values=("b", "a")), BASE.keys[1])},
        {"aggregates": (COUNT, replace(BASE.aggregates[1], parameters=(Fraction(1, 3),)))},
        {"cells": tuple(reversed(BASE.cells or ()))},
        {"cells": None},
        {"having": parse_expression("count > 3 AND q < 1")},
        {"order": (Order(expression=Column("count"), descending=True),)},
        {"limit": 4},
        {"limit": None},
        {"outputs": tuple(reversed(BASE.outputs))},
    ]
    for change in cases:
        changed = replace(BASE, **change)
        assert canonical(changed) != canonical(BASE)
        assert plan_from_json(sent(plan_to_json(changed))) == changed


# ------------------------------------------------------------------------------------------------------------ hostile


def paths(value: object, *before: Any) -> Iterator[tuple[Any, ...]]:
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from paths(inner, *before, name)


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    place = functools.reduce(lambda at, step: at[step], path[:-1], changed)
    place[path[-1]] = new
    return changed


WRITTEN = plan_to_json(BASE)
WRONG: list[Any] = [
    None, True, 0, -1, 2**70, 10**500, 0.5, math.nan, math.inf, "", "x" * 5_000, "\0", "\ud800", "__class__", [], {},
    [[]], [None], {"kind": "base"}, {"column": "c"}, {"version": 1}, b"bytes", object(), (1,), {1: 2},
]  # fmt: skip


def test_no_field_can_be_replaced_by_something_that_does_harm() -> None:
    for path in paths(WRITTEN):
        for wrong in WRONG:
            try:
                plan = plan_from_json(put(WRITTEN, path, wrong))
            except CelosiaError:
                continue
            else:  # null for what may be left out, another word for a name: still a plan that can be written
                assert plan_from_json(sent(plan_to_json(plan))) == plan


def test_a_field_that_nobody_knows_is_refused() -> None:
    for path in paths(WRITTEN):
        place = functools.reduce(lambda at, step: at[step], path, WRITTEN)
        if isinstance(place, dict):
            with pytest.raises(FormatError):
                plan_from_json(put(WRITTEN, path, {**place, "surprise": 1}))


@given(
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=3)
        | st.sampled_from(["base", "call"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "relation", "aggregates", "kind", "table", "name", "column", "literal", "type"]
                ),
                inner,
            )
        ),
        max_leaves=15,
    )
)
def test_random_json_is_refused_by_name(value: Any) -> None:
    with pytest.raises(CelosiaError):
        plan_from_json(value)


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"column": "b"}
    for _ in range(depth):
        inner = {"call": "not", "arguments": [inner]}
    return {**WRITTEN, "filter": inner}


def stacked(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"kind": "base", "table": "t"}
    for _ in range(depth):
        columns = [{"name": "c", "expression": {"column": "c"}}]
        inner = {"kind": "projected", "relation": inner, "columns": columns}
    return {**WRITTEN, "relation": inner}


@pytest.mark.parametrize("make", [nested, stacked])
def test_depth_is_refused_before_anything_walks_it(make: Any) -> None:
    assert isinstance(plan_from_json(make(90)), Plan)
    for depth in (101, 300, 100_000):
        with pytest.raises((FormatError, QueryError)):
            plan_from_json(make(depth))


def test_a_plan_that_is_as_deep_as_can_be_is_written_and_known() -> None:
    plan = plan_from_json(nested(100))
    assert plan_from_json(sent(plan_to_json(plan))) == plan
    assert canonical(plan) == canonical(plan_from_json(nested(100)))


def test_size_is_refused_before_anything_walks_it() -> None:
    wide = {**WRITTEN, "cells": [[{"literal": 1, "type": "integer"}]] * 2_000_000}
    with pytest.raises(FormatError, match="parts"):
        plan_from_json(wide)
