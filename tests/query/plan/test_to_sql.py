"""Rendered SQL parses back to the same plan, and DuckDB computes the same from it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, PerPerson, Plan, Projection
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.to_sql import DIALECT, quote_name, render
from celosia.query.sql.expressions import parse_expression

if TYPE_CHECKING:
    from celosia.query.plan.types import Scalar

KEYWORDS = sorted(word for word in Dialect.get_or_raise(DIALECT).tokenizer_class.KEYWORDS if word.isidentifier())
NAMES = st.one_of(
    st.sampled_from(
        ["a", "Age", "a b", 'q"q', "a.b", "a.b.c", ".", "1a", "é", "if", "count", "person", "x'y", "--", "/*"]
    ),
    st.sampled_from(KEYWORDS),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5),
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.just(dt.UTC))  # noqa: DTZ001
LITERALS = st.one_of(
    st.integers(-(2**62), 2**62),
    st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100),
    TEXTS,
    st.booleans(),
    st.none(),
    st.dates(),
    MOMENTS.map(lambda moment: moment.replace(microsecond=0)),
).map(Literal)


WRITTEN: dict[str, st.SearchStrategy[Any]] = {  # what SQL can only write out
    "like": TEXTS,
    "date_trunc": st.sampled_from(["month", "hour"]),
    "add_months": st.integers(-(10**5), 10**5),
    "add_seconds": st.integers(-(10**11), 10**11),
}


@st.composite
def calls(draw: st.DrawFn, inner: st.SearchStrategy[Expression]) -> Expression:
    name = draw(st.sampled_from(sorted(OPERATIONS)))
    operation = OPERATIONS[name]
    extra = 0 if operation.most is not None else 2 * draw(st.integers(0, 1))
    arguments = [draw(inner) for _ in range(operation.least + extra)]
    if name in WRITTEN:
        arguments[1] = Literal(draw(WRITTEN[name]))
    return Call(name, tuple(arguments))


EXPRESSIONS = st.recursive(st.one_of(NAMES.map(Column), LITERALS), calls, max_leaves=12)


def test_a_quote_in_a_name_is_doubled() -> None:
    assert quote_name('q"q') == '"q""q"'
    assert parse_expression(render(Column('q"q'))) == Column('q"q')


@settings(max_examples=300)
@given(EXPRESSIONS)
def test_expressions_come_back(expression: Expression) -> None:
    text = render(expression)
    try:
        back = parse_expression(text)
    except QueryError as error:  # a letter that no query may have, such as one that turns the writing
        assert "no place in one" in str(error)  # noqa: PT017
        return
    assert back == expression


def test_texts_are_as_short_as_they_can_be() -> None:
    cases: list[str] = [
        "age < 18 AND cause = 'E10'",
        "(a OR b) AND NOT c",
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a NOT IN (1, 2)",
        "a IS NOT NULL",
        "a NOT BETWEEN 1 AND 2",
        "NOT (a AND b)",
        "CASE WHEN a < 1 THEN 'x' ELSE 'y' END",
        "CAST(a AS INTEGER)",
        "-a",
        "-(a + b)",
        "(a = b) = c",
        "day >= DATE '2021-01-01'",
        '"select" = 1',
        "deaths.age < 18",
        "CLIP(a / b, 0.0, 10.0)",
    ]
    for text in cases:
        assert render(parse_expression(text)) == text


ROW: dict[str, Scalar] = {
    "a": 7,
    "b": -3,
    "c": 2,
    "x": 0.5,
    "y": -1.25,
    "p": True,
    "q": False,
    "s": "F",
    "d": dt.date(2021, 3, 31),
}


def test_an_engine_reads_it_as_we_mean_it() -> None:
    cases: list[tuple[str, object]] = [
        ("a - b - c * a", -4),
        ("a - (b - c)", 12),
        ("(a + b) * c % 5", 3),
        ("b % 2", -1),
        ("a / c / c", 1.75),
        ("-a * b", 21),
        ("-(a + b)", -4),
        ("ABS(b) + FLOOR(y) + CEIL(x)", 2),
        ("LEAST(a, b, c) + GREATEST(a, b)", 4),
        ("p OR q AND NOT p", True),
        ("NOT (p AND q) = p", True),
        ("a NOT BETWEEN b AND c", True),
        ("a IN (1, 7) AND s NOT IN ('M')", True),
        ("CASE WHEN a < 0 THEN 1 WHEN b < 0 THEN 2 END", 2),
        ("COALESCE(CASE WHEN q THEN 1 END, 9)", 9),
        ("CAST(p AS INTEGER) + 1", 2),
        ("d + 1 = DATE '2021-04-01'", True),
        ("d - DATE '2021-01-01'", 89),
        ("YEAR(d) * 10000 + QUARTER(d) * 1000 + MONTH(d) * 100 + DAY(d)", 20211331),
        ("ISODOW(d)", 3),
        ("(a = 7) = p", True),
        ("CASE WHEN s = 'F' THEN 'it''s' END", "it's"),
    ]
    for text, value in cases:
        rendered = render(parse_expression(text))
        columns = ", ".join(f"{render(Literal(v))} AS {name}" for name, v in ROW.items())
        (found,) = duckdb.connect().execute(f"SELECT {rendered} FROM (SELECT {columns})").fetchall()[0]
        assert found == value


def test_plans_are_written_as_sql() -> None:
    age, count = Column("age"), Column("count")
    plan = Plan(
        relation=Join(left=Base("deaths"), right=Base("icd"), on=(("cause", "code"),), by="key", how="left"),
        filter=Call("<", (age, Literal(18))),
        keys=(Key(name="sex", expression=Column("sex")), Key(name="decade", expression=Call("%", (age, Literal(10))))),
        aggregates=(
            Aggregate(kind="count", name="count"),
            Aggregate(kind="quantile", columns=(age,), name="q", parameters=(Fraction(9, 10),)),
        ),
        having=Call(">", (count, Literal(100))),
        order=(Order(expression=count, descending=True),),
        limit=3,
    )
    assert render(plan) == (
        "SELECT sex, age % 10 AS decade, COUNT(*), QUANTILE(age, 0.9) AS q FROM deaths "
        "LEFT JOIN icd ON cause = icd.code WHERE age < 18 GROUP BY sex, age % 10 "
        "HAVING count > 100 ORDER BY count DESC LIMIT 3"
    )


def test_plans_that_sql_cannot_say_are_written_with_comments() -> None:
    plan = Plan(
        relation=Base("deaths"),
        keys=(Key(name="note", expression=Column("note"), values=("a", "b")),),
        aggregates=(Aggregate(kind="mean", columns=(Column("age"),), name="mean_age", parameters=("half-half",)),),
    )
    expected = "SELECT note, AVG(age) /* half-half */ FROM deaths GROUP BY note /* 2 keys given */"
    assert render(plan) == expected
    cells = Plan(relation=plan.relation, keys=plan.keys, aggregates=plan.aggregates, cells=(("a",),))
    assert render(cells) == expected + " /* 1 combinations given */"


def test_subqueries_keep_the_person() -> None:
    inner = PerPerson(relation=Base("visits"), columns=(("n", "count", None), ("total", "sum", Column("cost"))))
    outer = Projection(relation=inner, columns=(("n", Column("n")),), filter=Call(">", (Column("total"), Literal(3))))
    plan = Plan(
        relation=Join(left=Base("deaths"), right=outer, by="person"),
        aggregates=(Aggregate(kind="count_persons", name="persons"),),
    )
    assert render(plan) == (
        "SELECT COUNT(DISTINCT PERSON) AS persons FROM deaths JOIN (SELECT n FROM (SELECT PERSON, COUNT(*) AS n, "
        "SUM(cost) AS total FROM visits GROUP BY PERSON) WHERE total > 3) USING (PERSON)"
    )
