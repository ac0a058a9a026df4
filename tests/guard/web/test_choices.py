from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.data import Schema, Table
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Real, Text, Timestamp
from celosia.data.sources.classify import Frame
from celosia.guard.datasets.cards import make_table_card
from celosia.guard.web.choices import AGGREGATES, OPERATORS, Choices
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from celosia.query.plan.nodes import Plan

COLUMNS = {
    "age": Integer(0, 120),
    "weight": Real(0, 200),
    "sex": Category("F", "M"),
    "code": Category(1, 2),
    "born": Date("1900-01-01", "2026-12-31"),
    "seen": Timestamp("2020-01-01", "2026-12-31"),
    "alive": Boolean(),
    "note": Text(),
    "group": Integer(0, 9),
    'odd "name"': Integer(0, 9),
    "Größe": Integer(0, 9),
}
TABLE = Table(name="people", source=Frame(None), schema=Schema(COLUMNS))
CARD = make_table_card(TABLE)


def plan(**choices: str) -> Plan:
    return parse_sql(Choices.of(choices).sql(CARD), {"people": TABLE})


def test_every_aggregate_is_understood() -> None:
    for aggregate in AGGREGATES:
        column = "sex" if aggregate == "mode" else "age"
        [found] = plan(aggregate=aggregate, column=column).aggregates
        names = {"distinct": "count_distinct"}
        assert found.kind == names.get(aggregate, aggregate)
        assert found.columns == (() if aggregate == "count" else (Column(column),))


def test_every_name_can_be_a_group() -> None:
    for column in COLUMNS:
        [key] = plan(aggregate="count", group=column).keys
        assert key.expression == Column(column)


def test_two_groups_and_the_same_twice() -> None:
    assert len(plan(group="sex", group2="code").keys) == 2
    assert len(plan(group="sex", group2="sex").keys) == 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_comparison_is_understood(operator: str) -> None:
    found = plan(where="age", operator=operator, value="18").filter
    assert found == Call(operator, (Column("age"), Literal(18)))


def test_every_kind_has_its_literal() -> None:
    cases: list[tuple[str, str]] = [
        ("weight", "70.5"),
        ("weight", "70,5"),
        ("weight", "-1e3"),
        ("sex", "F"),
        ("code", "2"),
        ("born", "2001-02-03"),
        ("seen", "2021-02-03 04:05:06"),
        ("alive", "True"),
        ("note", "it's"),
    ]
    for column, value in cases:
        assert isinstance(plan(where=column, operator="=", value=value).filter, Call)


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_a_text_can_only_be_a_text(text: str) -> None:
    sql = Choices(where="note", operator="=", value=text).sql(CARD)
    try:
        found = parse_sql(sql, {"people": TABLE}).filter
    except QueryError as error:  # a character that no question may have
        assert "character" in str(error)  # noqa: PT017 - anything else must be understood
        return
    assert found == Call("=", (Column("note"), Literal(text)))


@given(text=st.text(max_size=30))
def test_a_number_is_a_number_or_refused(text: str) -> None:
    try:
        sql = Choices(where="weight", operator="<", value=text).sql(CARD)
        found = parse_sql(sql, {"people": TABLE}).filter
    except QueryError:
        return
    assert isinstance(found, Call)
    assert found.name == "<"


def test_what_is_no_choice_is_refused() -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"aggregate": "DROP"}, "aggregate"),
        ({"aggregate": "sum"}, "column"),
        ({"aggregate": "sum", "column": "x) FROM people; --"}, "column"),
        ({"group": "nobody"}, "column"),
        ({"where": "nobody"}, "column"),
        ({"where": "age", "operator": "OR", "value": "1"}, "comparison"),
        ({"where": "age", "operator": "=", "value": "1 OR 1=1"}, "number"),
        ({"where": "age", "operator": "=", "value": "nan"}, "number"),
        ({"where": "age", "operator": "=", "value": "1e999"}, "number"),
        ({"where": "alive", "operator": "=", "value": "maybe"}, "true or false"),
    ]
    for choices, word in cases:
        with pytest.raises(QueryError, match=word):
            Choices.of(choices).sql(CARD)
