"""Texts are parsed into expressions, or raise with a list of what is allowed."""

from __future__ import annotations

import datetime as dt
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.sql.expressions import parse_expression

A, B, C = Column("a"), Column("b"), Column("c")
ONE, TWO, NULL = Literal(1), Literal(2), Literal(None)
YES, NO = Literal(True), Literal(False)  # noqa: FBT003


def test_texts() -> None:
    cases: list[tuple[str, Expression]] = [
        ("a", A),
        ("((a))", A),
        ('"a"', A),
        ('"a b"', Column("a b")),
        ('"say ""a"""', Column('say "a"')),
        ("t.a", Column("t.a")),
        ("a -- comment", A),
        ("a /* comment */", A),
        ("a;", A),
        ("1", ONE),
        ("-1", Literal(-1)),
        ("-(1)", Call("neg", (ONE,))),
        ("+1", ONE),
        ("1.0", Literal(1.0)),
        ("'it''s'", Literal("it's")),
        ("TRUE", YES),
        ("NULL", NULL),
        ("DATE '2021-12-31'", Literal(dt.date(2021, 12, 31))),
        ("TIMESTAMP '2021-12-31 10:00:00'", Literal(dt.datetime(2021, 12, 31, 10, tzinfo=dt.UTC))),
        ("a + b * c", Call("+", (A, Call("*", (B, C))))),
        ("(a + b) * c", Call("*", (Call("+", (A, B)), C))),
        ("a - b - c", Call("-", (Call("-", (A, B)), C))),
        ("a / b % 2", Call("%", (Call("/", (A, B)), TWO))),
        ("MOD(a, 2)", Call("%", (A, TWO))),
        ("-a * b", Call("*", (Call("neg", (A,)), B))),
        ("a <> b", Call("<>", (A, B))),
        ("a != b", Call("<>", (A, B))),
        ("a == b", Call("=", (A, B))),
        ("b > a", Call(">", (B, A))),
        ("NOT a = b", Call("not", (Call("=", (A, B)),))),
        ("a AND b OR c", Call("or", (Call("and", (A, B)), C))),
        ("a AND (b AND c)", Call("and", (A, B, C))),
        ("a BETWEEN 1 AND 2", Call("between", (A, ONE, TWO))),
        ("a NOT BETWEEN 1 AND 2", Call("not", (Call("between", (A, ONE, TWO)),))),
        ("a IN (1, 2)", Call("in", (A, ONE, TWO))),
        ("a NOT IN (1)", Call("not", (Call("in", (A, ONE)),))),
        ("a IS NULL", Call("is_null", (A,))),
        ("a IS NOT NULL", Call("not", (Call("is_null", (A,)),))),
        ("a ISNULL", Call("is_null", (A,))),
        ("a IS TRUE", Call("coalesce", (Call("=", (A, YES)), NO))),
        ("a IS NOT FALSE", Call("not", (Call("coalesce", (Call("=", (A, NO)), NO)),))),
        ("CASE WHEN a THEN 1 ELSE 2 END", Call("case", (A, ONE, TWO))),
        ("CASE WHEN a THEN 1 END", Call("case", (A, ONE, NULL))),
        (
            "CASE a WHEN 1 THEN b WHEN 2 THEN c END",
            Call("case", (Call("=", (A, ONE)), B, Call("=", (A, TWO)), C, NULL)),
        ),
        ("IF(a, 1, 2)", Call("case", (A, ONE, TWO))),
        ("IFNULL(a, 1)", Call("coalesce", (A, ONE))),
        ("COALESCE(a, b, 1)", Call("coalesce", (A, B, ONE))),
        ("NULLIF(a, 1)", Call("case", (Call("=", (A, ONE)), NULL, A))),
        ("LEAST(a, b, c)", Call("least", (A, B, C))),
        ("clip(a, 1, 2)", Call("clip", (A, ONE, TWO))),
        ("BUCKET(a, 1, 2)", Call("bucket", (A, ONE, TWO))),
        ("CEILING(a)", Call("ceil", (A,))),
        ("a::INT", Call("integer", (A,))),
        ("CAST(a AS DOUBLE PRECISION)", Call("real", (A,))),
        ("CAST('2021-12-31' AS DATE)", Literal(dt.date(2021, 12, 31))),
        ("EXTRACT(ISODOW FROM a)", Call("isodow", (A,))),
        ("DATE_PART('Year', a)", Call("year", (A,))),
        ("DATE_DIFF('day', a, b)", Call("-", (B, A))),
        ("a + INTERVAL 3 DAY", Call("+", (A, Literal(3)))),
        ("INTERVAL 3 DAY + a", Call("+", (A, Literal(3)))),
        ("a - INTERVAL 1 YEAR", Call("add_months", (A, Literal(-12)))),
        ("INTERVAL '2' HOUR + a", Call("add_seconds", (A, Literal(7200)))),
        ("DATE_TRUNC('MONTH', a)", Call("date_trunc", (A, Literal("month")))),
        ("a LIKE 'x%'", Call("like", (A, Literal("x%")))),
        ("a NOT LIKE 'x!_' ESCAPE '!'", Call("not", (Call("like", (A, Literal("x!_"), Literal("!"))),))),
        ("a ILIKE 'Ñ%'", Call("like", (Call("lower", (A,)), Literal("ñ%")))),
        ("TRIM(BOTH ' .' FROM a)", Call("trim", (A, Literal(" .")))),
        ("TRIM(LEADING FROM a)", Call("ltrim", (A,))),
        ("RTRIM(a)", Call("rtrim", (A,))),
        ("SUBSTR(a, 1, 2)", Call("substring", (A, ONE, TWO))),
        ("LEFT(a, 2)", Call("substring", (A, ONE, TWO))),
        ("RIGHT(a, 2)", Call("right", (A, TWO))),
        ("CHAR_LENGTH(a)", Call("length", (A,))),
        ("UCASE(a)", Call("upper", (A,))),
        ("REPLACE(a, '.', '')", Call("replace", (A, Literal("."), Literal("")))),
        ("ROUND(a, 1)", Call("round", (A, ONE))),
        ("date = 1", Call("=", (Column("date"), ONE))),
        ("year < year(year)", Call("<", (Column("year"), Call("year", (Column("year"),))))),
    ]
    for text, expression in cases:
        assert parse_expression(text) == expression


def test_refusals() -> None:
    cases: list[str] = [
        "a LIKE ANY ('x')",
        "a ESCAPE 'x'",
        "LIKE(a, 'x')",
        "a ~ 'x'",
        "REGEXP_MATCHES(a, 'x')",
        "a SIMILAR TO 'x'",
        "a || b",
        "CONCAT(a, b)",
        "'a' 'b'",
        "UPPER(a, b)",
        "SUBSTRING(a)",
        "LENGTH()",
        "RIGHT(a)",
        "REPLACE(a, 'b')",
        "INITCAP(a)",
        "a ** 2",
        "POWER(a, 2)",
        "SQRT(a)",
        "EXP(a)",
        "LN(a)",
        "ROUND()",
        "TRUNC(a)",
        "a // b",
        "a & b",
        "~a",
        "a << 1",
        "a[1]",
        "[1, 2]",
        "{'x': 1}",
        "a -> b",
        "a.b.c",
        "a.b.c.d",
        "a.*",
        "*",
        "COUNT(*)",
        "SUM(a)",
        "SUM(a) OVER ()",
        "a IN (SELECT 1)",
        "(SELECT 1)",
        "EXISTS (SELECT 1)",
        "a = ANY (SELECT 1)",
        "a IN b",
        "a IS b",
        "a IS DISTINCT FROM b",
        "a <=> b",
        "(a, b)",
        "(a, b) = (1, 2)",
        "CAST(a AS TEXT)",
        "CAST(a AS VARCHAR(3))",
        "CAST(a AS DECIMAL(3, 1))",
        "CAST(a AS UUID)",
        "CAST(a AS INT[])",
        "TRY_CAST(a AS INT)",
        "TIMESTAMPTZ '2021-01-01'",
        "TIME '10:00'",
        "a AT TIME ZONE 'UTC'",
        "CURRENT_DATE",
        "CURRENT_TIMESTAMP",
        "CURRENT_USER",
        "NOW()",
        "TODAY()",
        "RANDOM()",
        "pg_sleep(1)",
        "version()",
        "read_csv('x')",
        "getenv('x')",
        "DATE 'today'",
        "DATE '2021-02-30'",
        "INTERVAL 3 DAY",
        "a + INTERVAL 3 FORTNIGHT",
        "INTERVAL 3 DAY - a",
        "DATE_TRUNC('month')",
        "DATE_ADD(a, INTERVAL 1 MONTH)",
        "STARTS_WITH(a, 'x')",
        "EXTRACT(EPOCH FROM a)",
        "DAYOFWEEK(a)",
        "DATE_PART('dow', a)",
        "DATE_PART(a, b)",
        "DATE_DIFF('month', a, b)",
        "CASE END",
        "CASE WHEN a END",
        "COALESCE(a)",
        "LEAST(a)",
        "CLIP(a)",
        "CLIP(a, 1, 2, 3)",
        "ABS()",
        "ABS(a, b)",
        "FLOOR(a, 2)",
        "a BETWEEN SYMMETRIC 1 AND 2",
        "a COLLATE nocase",
        "?",
        "$1",
        ":a",
        "@a",
        "%s",
        "{{ a }}",
        "a := 1",
        "a => 1",
        "x -> x + 1",
        "LAMBDA x: x",
        "1e999",
        "1e-999",
        "99999999999999999999",
        "0x1F",
        "E'x'",
        "x'41'",
        "U&'x'",
        "$$x$$",
        "N'x'",
        "a b",
        "a AS b",
        "a, b",
        "a; b",
        "DROP TABLE a",
        "SELECT a",
        "a <",
        "< a",
        "a < < b",
        "()",
        "a (",
        "f()",
        "s.f(a)",
        "a.f(b)",
        "DISTINCT a",
        "GROUPING(a)",
        "UNNEST(a)",
        "STRUCT(a)",
        "MAP(a, b)",
        "a IN ()",
        "a NOT",
        "NOT",
        "AND",
        "a AND",
        "\0",
        "a\0b",
    ]
    for text in cases:
        with pytest.raises(QueryError) as caught:
            parse_expression(text)
        assert str(caught.value).endswith(".")


def test_refusals_say_what_is_allowed() -> None:
    with pytest.raises(QueryError, match=r"SQRT cannot be used here: allowed are \+ - "):
        parse_expression("SQRT(a)")
    with pytest.raises(QueryError, match=r"write d \+ INTERVAL 1 MONTH"):
        parse_expression("DATE_ADD(a, INTERVAL 1 MONTH)")
    with pytest.raises(QueryError, match=r"write x LIKE 'A%'"):
        parse_expression("STARTS_WITH(a, 'x')")


def test_long_chains_are_read_without_recursion() -> None:
    text = " OR ".join(f"a = {i}" for i in range(500))
    parsed = parse_expression(text)
    assert isinstance(parsed, Call)
    assert len(parsed.arguments) == 500


def test_deep_expressions_are_refused() -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_expression(" + ".join(["a"] * 150))
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_expression("(" * 45 + "a" + ")" * 45 + " + a" * 120)


def test_a_stack_that_is_nearly_full_gives_our_error() -> None:
    def descend(depth: int) -> None:
        if depth:
            descend(depth - 1)
        else:
            parse_expression("((((((((((a + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2)")

    used = 0
    frame = sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back  # type: ignore[assignment]
    with pytest.raises(QueryError, match="nested too deeply"):
        descend(sys.getrecursionlimit() - used - 60)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=30))
def test_texts_in_quotes_are_what_they_are(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    try:
        assert parse_expression(quoted) == Literal(text)
    except QueryError:
        assert any(not letter.isprintable() for letter in text)
