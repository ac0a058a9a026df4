"""Errors of queries are in Spanish from the first word to the last: no part of them is an English text."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core.errors import CelosiaError, QueryError
from celosia.core.guarantees import ZCDP, PureDP
from celosia.query.plan.expressions import Call, Column, Literal, kind_of
from celosia.query.plan.nodes import Aggregate
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.strategy import read_target
from celosia.query.postprocessing.evaluate import evaluate
from celosia.query.serial.expressions import value_from_json
from celosia.query.serial.messages import message_from_json, message_to_json
from celosia.query.sql.expressions import parse_expression
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.data.table import Table
    from celosia.query.plan.expressions import Expression

    Tables = Mapping[str, Table]

CODE = re.compile(r"'[^']*'|\"[^\"]*\"|\b[A-Z_]+\([^()]*\)")
"""What is not prose: quoted texts and calls."""

ENGLISH = re.compile(
    r"\b(the|an|is|are|be|has|must|cannot|not|and|or|of|with|by|for|it|its|as|at|to|one|such|there|write|written"
    r"|numbers?|texts?\)|values|column|line|condition|result|date|time|arguments?|parameters?|subquery)\b"
)

EXPRESSIONS = [
    "note + 1",
    "alive + 1",
    "FLOOR(age) + alive",
    "day + 0.5",
    "(seen + 1) + 0.5",
    "(day + 1) * 2",
    "age % 2.0",
    "CAST(alive AS INTEGER) % age",
    "CAST(weight AS INTEGER)",
    "CAST(age AS DATE)",
    "CAST(age AS DECIMAL(10, 2))",
    "CAST(age AS TEXT)",
    "age = 'X'",
    "age = day",
    "age < sex",
    "age < note",
    "age < 'X'",
    "alive < TRUE",
    "grade < 3",
    "age BETWEEN 1 AND day",
    "LEAST(age, day)",
    "GREATEST(age, alive)",
    "CLIP(age, 10, 5)",
    "CLIP(age, 10)",
    "BUCKET(age, 1)",
    "ABS(age, 2)",
    "age AND alive",
    "(age < 3) + 1",
    "CASE WHEN age THEN 1 END",
    "CASE WHEN alive THEN 1 ELSE 'x' END",
    "COALESCE(age, day)",
    "CASE WHEN alive THEN 'drop' ELSE 'x' END",
    "sex = 'X'",
    "UPPER(TRIM(sex)) = 'X'",
    "LENGTH(UPPER(note)) = 'X'",
    "sex LIKE 'X%'",
    "sex IN (note)",
    "UPPER(age)",
    "UPPER(grade)",
    "TRIM(note, sex)",
    "SUBSTRING(note, 0)",
    "SUBSTRING(note, 1, 0.5)",
    "note LIKE 3",
    "note LIKE '%a%b%c%d%e%'",
    "REPLACE(note, '', 'a')",
    "YEAR(age)",
    "HOUR(day)",
    "YEAR(DATE(seen)) = 'X'",
    "DATE_TRUNC('hour', DATE_TRUNC('month', day))",
    "DATE_TRUNC('month', age)",
    "age + INTERVAL 1 MONTH",
    "day + INTERVAL 1 HOUR",
    "day + INTERVAL 9999 YEAR",
    "ROUND(age / 2)",
    "age / weight",
    "NULL",
    "age < 9223372036854775807",
    "weight < 1e200",
    "agge < 3",
    "SQRT(age)",
    "MEDIAM(age)",
    "age IN (SELECT 1)",
    "(age, sex) = 3",
    "age <",
    "age < 3; age < 4",
]

QUERIES = [
    "",
    "SELEC COUNT(*) FROM deaths",
    "SELECT COUNT(*) FROM",
    "SELECT COUNT(*) FROM deaths; SELECT COUNT(*) FROM deaths",
    "SELECT * FROM deaths",
    "SELECT age, COUNT(*) FROM deaths",
    'SELECT COUNT(*) FROM deaths WHERE sex = "F"',
    "SELECT COUNT(*) FROM deaths WHERE person_id = 3",
    "SELECT COUNT(*) FROM deaths JOIN icd",
    "SELECT COUNT(*) FROM deaths JOIN icd ON cause < code",
    "SELECT COUNT(*) FROM deaths JOIN icd ON cause = sex",
    "SELECT COUNT(*) FROM deaths d(a, b)",
    "SELECT COUNT(*) FROM (VALUES (1))",
    "SELECT COUNT(*) FROM deaths WHERE age IN (SELECT age FROM deaths)",
    "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM deaths)",
    "SELECT COUNT(*) FROM (SELECT age FROM deaths ORDER BY age)",
    "SELECT COUNT(*) FROM (SELECT age FROM deaths LIMIT 3)",
    "SELECT COUNT(*) FROM (SELECT 1 + age FROM deaths)",
    "SELECT APPROX_DISTINCT(age) FROM deaths",
    "SELECT COUNT_IF(alive) FROM deaths",
    "SELECT SUM(age) OVER () FROM deaths",
    "SELECT KURTOSIS(age) FROM deaths",
    "SELECT AVG(sex) FROM deaths",
    "SELECT MODE(note) FROM deaths",
    "SELECT MODE(weight) FROM deaths",
    "SELECT TOP_K(sex, 9) FROM deaths",
    "SELECT AVG(LENGTH(note)) FROM deaths",
    "SELECT COUNT(*) FROM deaths HAVING COUNT(*)",
]

ANSWERS: list[tuple[str, tuple[Any, ...]]] = [
    ("+", ("a", 1)),
    ("<", (True, 1)),
    ("<", (["a"], ["a"])),
    ("=", (dt.date(2021, 1, 1), "a")),
    ("+", (dt.date(2021, 1, 1), 0.5)),
    ("-", (1, dt.date(2021, 1, 1))),
    ("hour", (dt.date(2021, 1, 1),)),
    ("year", (2021,)),
    ("coalesce", (1, "a")),
    ("not", (dt.datetime(2021, 1, 1, tzinfo=dt.UTC),)),
]


def check_spanish(make: Callable[..., object], *given: Any, **named: Any) -> None:
    with pytest.raises(CelosiaError) as caught:
        make(*given, **named)
    message = caught.value.message
    assert message.has_language("es"), message
    sentence = message.render("es")
    assert ENGLISH.findall(CODE.sub("", sentence)) == [], sentence
    assert message_from_json(message_to_json(message)).render("es") == sentence


def test_errors_of_expressions(hospital: Tables) -> None:
    def infer(text: str) -> None:
        kind_of(parse_expression(text), hospital["deaths"].schema)

    for text in EXPRESSIONS:
        check_spanish(infer, text)


def test_errors_of_queries(hospital: Tables) -> None:
    def analyze(text: str) -> None:
        analyze_plan(parse_sql(text, hospital), hospital)

    for text in QUERIES:
        check_spanish(analyze, text)


def test_errors_of_answers() -> None:
    for name, values in ANSWERS:
        columns = {f"c{place}": [value] for place, value in enumerate(values)}
        check_spanish(evaluate, Call(name, tuple(map(Column, columns))), columns, 1)
    check_spanish(evaluate, Call("upper", (Column("x"),)), {"x": ["a", 1]}, 2)
    check_spanish(evaluate, Call("substring", (Column("x"), Literal(0))), {"x": ["a"]}, 1)


def test_errors_of_parameters() -> None:
    check_spanish(Aggregate, kind="count", columns=(Column("x"), Column("y")), name="n")
    for kind, parameters in (("quantile", (2,)), ("top_k", (0,)), ("mean", ("half",)), ("sum", (Fraction(1),))):
        check_spanish(Aggregate, kind=kind, columns=(Column("x"),), name="n", parameters=parameters)
    check_spanish(Literal, dt.datetime(2021, 1, 1, microsecond=1, tzinfo=dt.UTC))
    check_spanish(read_target, PureDP(epsilon=1), rho=1)
    check_spanish(read_target, ZCDP(rho=1), epsilon=1, delta="1e-6")
    for word in ("integer", "text", "boolean"):
        check_spanish(value_from_json, {"literal": 0.5, "type": word})


def test_functions_of_functions_are_one_message(hospital: Tables) -> None:
    nested: Expression = Column("sex")
    for _ in range(40):
        nested = Call("upper", (nested,))
    compared, kinds = Call("=", (nested, Literal("X"))), hospital["deaths"].schema
    with pytest.raises(QueryError, match=r"^UPPER of UPPER of .* of sex is never 'X'") as caught:
        kind_of(compared, kinds)
    assert caught.value.message.render("es").startswith("UPPER de UPPER de UPPER de ")
    check_spanish(kind_of, compared, kinds)
